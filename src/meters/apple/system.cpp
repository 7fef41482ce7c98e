#include "meters/apple/system.h"

namespace picchio::meters::apple {

std::optional<std::int64_t> memory_bytes(const Functions& functions) {
  std::int64_t bytes = 0;
  std::size_t size = sizeof bytes;
  if (functions.sysctl == nullptr) return std::nullopt;
  if (functions.sysctl("hw.memsize", &bytes, &size, nullptr, 0) != 0) return std::nullopt;
  if (size != sizeof bytes || bytes <= 0) return std::nullopt;
  return bytes;
}

std::optional<std::int64_t> start_of(const Functions& functions, int pid) {
  abi::BsdInfo info{};
  constexpr int kSize = sizeof info;
  if (functions.process_info == nullptr) return std::nullopt;
  if (functions.process_info(pid, abi::kBsdInfo, 0, &info, kSize) != kSize) return std::nullopt;
  return static_cast<std::int64_t>(info.start_seconds * 1'000'000 + info.start_micros);
}

ThermalPressure::ThermalPressure(const Functions& functions) : f_(&functions) {
  int token = 0;
  if (f_->notify_register == nullptr || f_->notify_state == nullptr ||
      f_->notify_cancel == nullptr) {
    return;
  }
  if (f_->notify_register(abi::kThermalPressure, &token) == 0) token_ = token;
}

ThermalPressure::~ThermalPressure() {
  if (token_) (void)f_->notify_cancel(*token_);
}

std::optional<Throttling> ThermalPressure::look() const {
  std::uint64_t level = 0;
  if (!token_ || f_->notify_state(*token_, &level) != 0) return std::nullopt;
  return Throttling{.thermal = level >= abi::kPressureHeavy};
}

}  // namespace picchio::meters::apple
