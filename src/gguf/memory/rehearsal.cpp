#include "gguf/memory/rehearsal.h"

#include "gguf/memory/schedule.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace picchio::gguf {
namespace {

// Of a buffer's tensors, of the host and of the devices that were measured.
constexpr std::int64_t kAlignment = 64;

/// One buffer: free blocks in the order of their offsets, the last one without end.
class Buffer {
 public:
  Buffer() : free_{{0, std::numeric_limits<std::int64_t>::max() / 2}} {}

  /// The smallest free block that is large enough; the last only if no other is.
  std::int64_t take(std::int64_t bytes) {
    auto best = free_.end() - 1;
    for (auto block = free_.begin(); block != free_.end() - 1; ++block) {
      const bool better = best == free_.end() - 1 || block->bytes <= best->bytes;
      if (block->bytes >= bytes && better) best = block;
    }
    const std::int64_t at = best->at;
    best->at += bytes;
    best->bytes -= bytes;
    if (best->bytes == 0) free_.erase(best);
    high_water_ = std::max(high_water_, at + bytes);
    return at;
  }

  void give_back(std::int64_t at, std::int64_t bytes) {
    if (bytes == 0) return;
    auto next = std::ranges::find_if(free_, [&](const Block& block) { return block.at > at; });
    auto mine = free_.insert(next, {at, bytes});
    if (mine + 1 != free_.end() && mine->at + mine->bytes == (mine + 1)->at) {
      mine->bytes += (mine + 1)->bytes;
      mine = free_.erase(mine + 1) - 1;
    }
    if (mine != free_.begin() && (mine - 1)->at + (mine - 1)->bytes == mine->at) {
      (mine - 1)->bytes += mine->bytes;
      free_.erase(mine);
    }
  }

  [[nodiscard]] std::int64_t high_water() const { return high_water_; }

 private:
  struct Block {
    std::int64_t at;
    std::int64_t bytes;
  };
  std::vector<Block> free_;
  std::int64_t high_water_ = 0;
};

class Allocator {
 public:
  Allocator(const Schedule& schedule, std::size_t backends)
      : schedule_(schedule), buffers_(backends), places_(schedule.tensors.size()) {}

  std::vector<std::int64_t> run() {
    for (const TensorId id : schedule_.leaves) allocate(id);
    count();
    for (const TensorId id : schedule_.order) {
      for (const TensorId source : tensor(id).sources) allocate(source);
      allocate(id);
      for (const TensorId source : tensor(id).sources) release(source);
    }
    std::vector<std::int64_t> out;
    out.reserve(buffers_.size());
    for (const Buffer& buffer : buffers_) out.push_back(buffer.high_water());
    return out;
  }

 private:
  struct Place {
    std::int64_t readers = 0;
    std::int64_t views = 0;
    std::int64_t at = 0;
    std::size_t buffer = 0;
    bool held = false;
  };

  [[nodiscard]] const GraphTensor& tensor(TensorId id) const {
    return schedule_.tensors[static_cast<std::size_t>(id)];
  }
  Place& place(TensorId id) { return places_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] static std::int64_t padded(std::int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  void count() {
    for (const TensorId id : schedule_.order) {
      const GraphTensor& here = tensor(id);
      if (here.root != kNone && !here.dependency) ++place(here.root).views;
      if (here.input) allocate(id);
      for (const TensorId source : here.sources) {
        ++place(source).readers;
        if (tensor(source).input) allocate(source);
      }
    }
  }

  [[nodiscard]] static bool same_layout(const GraphTensor& a, const GraphTensor& b) {
    const auto same = [](Size x, Size y) { return x.value_or_zero() == y.value_or_zero(); };
    return a.strided == b.strided && a.bytes == b.bytes && same(a.shape.width, b.shape.width) &&
           same(a.shape.middle, b.shape.middle);
  }

  /// The memory of a source that nobody else reads, for an operation that may overwrite it. The
  /// engine does not see through views here.
  [[nodiscard]] TensorId replaceable(const GraphTensor& here) {
    for (const TensorId source : here.sources) {
      const GraphTensor& read = tensor(source);
      const Place& mine = place(source);
      if (mine.held && !read.output && same_layout(here, read) && mine.readers == 1 &&
          mine.views == 0) {
        return source;
      }
    }
    return kNone;
  }

  void allocate(TensorId id) {
    const GraphTensor& here = tensor(id);
    Place& mine = place(id);
    if (here.external || here.root != kNone || mine.held) return;
    mine.buffer = static_cast<std::size_t>(schedule_.backends[static_cast<std::size_t>(id)]);
    mine.held = true;
    if (here.may_overwrite) {
      const TensorId old = replaceable(here);
      if (old != kNone) {
        mine.at = place(old).at;
        mine.buffer = place(old).buffer;
        place(old).held = false;
        const std::int64_t rest = padded(tensor(old).bytes) - padded(here.bytes);
        if (rest > 0) buffers_[mine.buffer].give_back(mine.at + padded(here.bytes), rest);
        return;
      }
    }
    mine.at = buffers_[mine.buffer].take(padded(here.bytes));
  }

  void release(TensorId id) {
    Place& mine = place(id);
    --mine.readers;
    if (mine.readers != 0 || mine.views != 0) return;
    const GraphTensor& here = tensor(id);
    if (here.root != kNone) {
      Place& owner = place(here.root);
      --owner.views;
      if (owner.views == 0 && owner.readers == 0 && owner.held) free(here.root);
    } else if (mine.held) {
      free(id);
    }
  }

  void free(TensorId id) {
    if (tensor(id).output) return;
    Place& mine = place(id);
    buffers_[mine.buffer].give_back(mine.at, padded(tensor(id).bytes));
    mine.held = false;
  }

  const Schedule& schedule_;
  std::vector<Buffer> buffers_;
  std::vector<Place> places_;
};

}  // namespace

std::vector<std::int64_t> rehearse(const Graph& graph, std::int64_t copies,
                                   const std::vector<BackendTraits>& traits) {
  const Schedule schedule = scheduled(graph, copies, traits);
  return Allocator(schedule, static_cast<std::size_t>(graph.host()) + 1).run();
}

}  // namespace picchio::gguf
