#include "gguf/memory/weights.h"

#include "gguf/memory/size.h"
#include "gguf/token_use.h"

namespace picchio::gguf {
namespace {

class Sums {
 public:
  explicit Sums(const Placement& placement)
      : placement_(placement), devices_(placement.devices.size()) {}

  void add(const HeaderTensor& tensor, std::size_t device, bool repackable) {
    const Size bytes = tensor.bytes.value_or(0);
    if (device != kHost) {
      devices_[device] += bytes;
    } else if (repackable && is_repacked(tensor, placement_)) {
      repacked_ += bytes;
    } else {
      host_ += bytes;
    }
  }

  [[nodiscard]] Result<Weights> sums() const {
    Weights out{host_.value_or_zero(), repacked_.value_or_zero(), {}};
    out.devices.reserve(devices_.size());
    bool fit = host_.fits() && repacked_.fits();
    for (const Size& device : devices_) {
      fit = fit && device.fits();
      out.devices.push_back(device.value_or_zero());
    }
    if (!fit) return fail(ErrorKind::malformed, "the weights pass 2^63 bytes");
    return out;
  }

 private:
  const Placement& placement_;
  Size host_;
  Size repacked_;
  std::vector<Size> devices_;
};

}  // namespace

Result<Weights> weights_of(const ModelLayers& model, const Placed& where,
                           const Placement& placement) {
  Sums sums(placement);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    for (const auto& [role, tensor] : model.layers[i].tensors) {
      sums.add(*tensor, device_of(*tensor, i, role, where, placement), true);
    }
  }
  for (const auto& [name, tensor] : model.others) {
    // Tables that are looked up stay as they are.
    sums.add(*tensor, device_of(*tensor, where, placement), !always_on_host(name));
    if (!model.tied_output || name != "token_embd.weight") continue;
    const std::size_t head = device_of_head(*tensor, where, placement);
    if (head != kHost || is_repacked(*tensor, placement)) sums.add(*tensor, head, true);
  }
  return sums.sums();
}

}  // namespace picchio::gguf
