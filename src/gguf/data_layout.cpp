#include "gguf/data_layout.h"

#include "gguf/checked.h"
#include "gguf/header_bytes.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace picchio::gguf {
namespace {

/// What a tensor takes at least: one without a price is more than nothing.
std::int64_t least_bytes(const HeaderTensor& tensor) {
  return tensor.bytes.value_or(tensor.elements > 0 ? 1 : 0);
}

/// Moves `end`, where the next tensor is due, behind this one. False past 2^63.
bool pass(std::int64_t& end, const HeaderTensor& tensor, std::int64_t alignment) {
  return add_to(end, least_bytes(tensor)) && round_up(end, alignment);
}

class Audit {
 public:
  Audit(const TensorTable& table, const DataSection& section, Accept accept)
      : table_(table), section_(section), faults_(accept), order_(table.tensors.size()) {}

  Result<OffsetAudit> run() {
    auto ok = check_alignment();
    if (ok) {
      sort();
      ok = lay_out();
    }
    if (ok) ok = check_order();
    if (ok) ok = check_gaps();
    if (ok) ok = check_end();
    if (!ok) return std::unexpected(std::move(ok).error());
    audit_.faults = faults_.sentences();
    return std::move(audit_);
  }

 private:
  [[nodiscard]] const HeaderTensor& tensor(std::size_t index) const {
    return table_.tensors[index];
  }
  [[nodiscard]] std::string where(std::size_t index) const {
    return fmt::format("tensor '{}' has offset {} at byte {}", shown(tensor(index).name),
                       tensor(index).offset, table_.offset_fields[index]);
  }
  [[nodiscard]] bool before(std::size_t a, std::size_t b) const {
    // Empty tensors lie at the offset of the one that follows them.
    return std::tuple(tensor(a).offset, least_bytes(tensor(a)), a) <
           std::tuple(tensor(b).offset, least_bytes(tensor(b)), b);
  }

  Result<> check_alignment() const;
  void sort();
  Result<> lay_out();
  Result<> check_order();
  Result<> check_gaps();
  Result<> check_end();

  const TensorTable& table_;
  const DataSection& section_;
  Objections faults_;
  OffsetAudit audit_;
  std::vector<std::size_t> order_;  // of the data: indices into the table
  std::vector<std::int64_t> due_;   // where each tensor of `order_` is due
};

Result<> Audit::check_alignment() const {
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (tensor(i).offset % section_.alignment == 0) continue;
    return fail(ErrorKind::malformed, "{}, not a multiple of the alignment {}", where(i),
                section_.alignment);
  }
  return {};
}

void Audit::sort() {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  const auto earlier = [&](std::size_t a, std::size_t b) { return before(a, b); };
  if (!std::ranges::is_sorted(order_, earlier)) std::ranges::sort(order_, earlier);
}

Result<> Audit::lay_out() {
  std::int64_t due = 0;
  for (const std::size_t i : order_) {
    if (tensor(i).offset < due) {
      return fail(ErrorKind::malformed, "{} where {} is due: it overlaps the tensors before it",
                  where(i), due);
    }
    due_.push_back(due);
    due = tensor(i).offset;
    if (!pass(due, tensor(i), section_.alignment)) {
      return fail(ErrorKind::malformed, "the data up to tensor '{}' (byte {}) passes 2^63 bytes",
                  shown(tensor(i).name), table_.offset_fields[i]);
    }
    // What follows is below `due`, so it cannot overflow.
    const bool last = i == order_.back();
    audit_.typed_bytes += tensor(i).bytes.value_or(0);
    if (!last && tensor(i).bytes) audit_.padding_bytes += due - tensor(i).offset - *tensor(i).bytes;
  }
  return {};
}

Result<> Audit::check_order() {
  std::int64_t due = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (order_[i] != i) {
      return faults_.raise(
          Objection::order,
          fail(ErrorKind::malformed, "{} where {} is due: the data is not in the table's order",
               where(i), due));
    }
    due = tensor(i).offset;
    (void)pass(due, tensor(i), section_.alignment);  // lay_out() saw to it
  }
  return {};
}

Result<> Audit::check_gaps() {
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::int64_t gap = tensor(order_[i]).offset - due_[i];
    if (gap == 0 || (i > 0 && !tensor(order_[i - 1]).bytes)) continue;
    auto ok = faults_.raise(Objection::gap,
                            fail(ErrorKind::malformed, "{} where {} is due: a gap of {} bytes",
                                 where(order_[i]), due_[i], gap));
    if (!ok) return ok;
  }
  return {};
}

Result<> Audit::check_end() {
  std::int64_t whole = section_.offset;
  if (!order_.empty()) {
    // No two overlap, so the last one ends last.
    const HeaderTensor& last = tensor(order_.back());
    if (!add_to(whole, last.offset) || !add_to(whole, least_bytes(last))) {
      return fail(ErrorKind::malformed, "the data of tensor '{}' ends past 2^63 bytes",
                  shown(last.name));
    }
  }
  if (!section_.file_bytes) return {};
  const std::int64_t file_bytes = *section_.file_bytes;
  const auto end_of = [&](const HeaderTensor& one) {
    return section_.offset + one.offset + least_bytes(one);  // at most `whole`
  };
  const auto outside = std::ranges::find_if(
      table_.tensors, [&](const HeaderTensor& one) { return end_of(one) > file_bytes; });
  if (outside != table_.tensors.end()) {
    return with_hint(
        fail(ErrorKind::malformed,
             "the file is cut off: tensor '{}' ends at byte {}, the file has {}",
             shown(outside->name), end_of(*outside), file_bytes),
        fmt::format("an unfinished download looks like this; the whole file has at least {} bytes",
                    whole));
  }
  // Without tensors the file may end where its header does.
  if (order_.empty() || tensor(order_.back()).bytes) {
    audit_.trailing_bytes = std::max<std::int64_t>(file_bytes - whole, 0);
  }
  return {};
}

}  // namespace

Result<OffsetAudit> audit_offsets(const TensorTable& table, const DataSection& section,
                                  Accept accept) {
  return Audit(table, section, accept).run();
}

}  // namespace picchio::gguf
