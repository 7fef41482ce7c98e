#include "gguf/memory/schedule.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

namespace picchio::gguf {
namespace {

class Scheduler {
 public:
  Scheduler(const Graph& graph, std::int64_t copies, const std::vector<BackendTraits>& traits)
      : graph_(graph), copies_(copies), traits_(traits) {
    out_.tensors = graph.tensors();
    out_.backends.assign(out_.tensors.size(), kNone);
  }

  Schedule run() {
    assign_fixed();
    expand(graph_.nodes(), true);
    expand(graph_.nodes() | std::views::reverse, true);
    expand(graph_.nodes(), false);
    expand(graph_.nodes() | std::views::reverse, false);
    assign_rest();
    split();
    std::vector<TensorId> leaves = std::move(input_copies_);
    leaves.insert(leaves.end(), graph_.leaves().begin(), graph_.leaves().end());
    out_.leaves = std::move(leaves);
    return std::move(out_);
  }

 private:
  [[nodiscard]] GraphTensor& tensor(TensorId id) {
    return out_.tensors[static_cast<std::size_t>(id)];
  }
  BackendId& backend(TensorId id) { return out_.backends[static_cast<std::size_t>(id)]; }

  [[nodiscard]] BackendId fixed(TensorId id) {
    const GraphTensor& here = tensor(id);
    if (here.home != kNone) return here.home;
    if (here.root != kNone && tensor(here.root).external) return tensor(here.root).home;
    if (here.input) return graph_.host();
    for (const TensorId source : here.sources) {
      const GraphTensor& read = tensor(source);
      if (!read.weight) continue;
      if (read.home == graph_.host() && read.offloadable) {
        const auto taker = std::ranges::find(traits_, true, &BackendTraits::offloads);
        if (taker != traits_.end()) {
          return static_cast<BackendId>(std::distance(traits_.begin(), taker));
        }
      }
      return read.home;
    }
    return kNone;
  }

  // Where weights, caches and inputs are.
  void assign_fixed() {
    for (const TensorId id : graph_.leaves()) backend(id) = fixed(id);
    for (const TensorId id : graph_.nodes()) backend(id) = fixed(id);
  }

  // What has no place yet goes with its neighbour in the order: first along devices only.
  template <class Order>
  void expand(const Order& order, bool devices_only) {
    BackendId current = kNone;
    for (const TensorId id : order) {
      if (tensor(id).view) continue;
      BackendId& mine = backend(id);
      if (mine != kNone) {
        current = devices_only && mine == graph_.host() ? kNone : mine;
      } else if (current != kNone && supports(current, id)) {
        mine = current;
      }
    }
  }

  [[nodiscard]] bool supports(BackendId where, TensorId id) {
    if (where == graph_.host()) return true;
    const std::int64_t most = traits_[static_cast<std::size_t>(where)].largest_tensor;
    return most == 0 || (tensor(id).bytes <= most &&
                         std::ranges::all_of(tensor(id).sources, [&](TensorId source) {
                           return tensor(source).bytes <= most;
                         }));
  }

  void assign_rest() {
    for (const TensorId id : graph_.nodes()) {
      BackendId& mine = backend(id);
      if (mine == kNone && tensor(id).root != kNone) mine = backend(tensor(id).root);
      for (const TensorId source : tensor(id).sources) {
        BackendId& theirs = backend(source);
        if (theirs != kNone) continue;
        const TensorId root = tensor(source).root;
        theirs = root != kNone ? backend(root) : mine;
      }
      if (mine == kNone) mine = graph_.host();
    }
    for (const TensorId id : graph_.leaves()) {
      if (backend(id) == kNone) backend(id) = graph_.host();
    }
  }

  TensorId add_copy(TensorId of, BackendId where) {
    GraphTensor copy{.shape = tensor(of).shape, .bytes = tensor(of).bytes};
    copy.input = copy.output = copies_ > 1;  // a pipeline's copies are never overwritten
    out_.tensors.push_back(copy);
    out_.backends.push_back(where);
    return static_cast<TensorId>(out_.tensors.size() - 1);
  }

  // A pipeline keeps several copies of the graph's own inputs.
  void keep_input(TensorId id) {
    if (copies_ == 1 || !tensor(id).input || kept_[id]) return;
    kept_[id] = true;
    tensor(id).output = true;
    for (std::int64_t i = 1; i < copies_; ++i) input_copies_.push_back(add_copy(id, backend(id)));
    input_copies_.push_back(id);
  }

  /// `source` as `where` can read it.
  TensorId readable(TensorId source, BackendId where) {
    keep_input(source);
    if (backend(source) == where) return source;
    const auto [found, fresh] = made_.try_emplace({source, where}, kNone);
    if (fresh) {
      found->second = add_copy(source, where);
      for (std::int64_t i = 1; i < copies_; ++i) split_copies_.push_back(add_copy(source, where));
      if (copies_ > 1) split_copies_.push_back(found->second);
      inputs_.push_back(source);
    }
    return found->second;
  }

  /// The copies that a split reads stand before its nodes, each behind a reader of its original,
  /// which must live so long.
  void close_split(BackendId where) {
    for (const TensorId source : inputs_) {
      GraphTensor reader{.sources = {source}};
      reader.root = tensor(source).root != kNone ? tensor(source).root : source;
      reader.view = true;
      reader.dependency = true;
      reader.at_start = false;
      out_.tensors.push_back(reader);
      out_.backends.push_back(backend(source));
      out_.order.push_back(static_cast<TensorId>(out_.tensors.size() - 1));
      out_.order.push_back(made_.at({source, where}));
    }
    out_.order.insert(out_.order.end(), split_.begin(), split_.end());
    split_.clear();
    inputs_.clear();
  }

  [[nodiscard]] bool brings_a_weight(TensorId id, BackendId where) {
    return !inputs_.empty() && std::ranges::any_of(tensor(id).sources, [&](TensorId source) {
      return tensor(source).weight && backend(source) != where;
    });
  }

  void split() {
    BackendId current = kNone;
    for (const TensorId id : graph_.nodes()) {
      if (!tensor(id).view) {
        const BackendId mine = backend(id);
        // Weights copied for one operation are freed before those of the next are copied.
        if (mine != current || brings_a_weight(id, mine)) {
          if (current != kNone) close_split(current);
          current = mine;
        }
        std::vector<TensorId> read = tensor(id).sources;
        for (TensorId& source : read) source = readable(source, current);
        tensor(id).sources = std::move(read);
      }
      split_.push_back(id);
    }
    if (current == kNone) current = graph_.host();
    close_split(current);
    input_copies_.insert(input_copies_.end(), split_copies_.begin(), split_copies_.end());
  }

  const Graph& graph_;
  std::int64_t copies_;
  const std::vector<BackendTraits>& traits_;
  Schedule out_;
  std::map<std::pair<TensorId, BackendId>, TensorId> made_;
  std::map<TensorId, bool> kept_;
  std::vector<TensorId> input_copies_;
  std::vector<TensorId> split_copies_;
  std::vector<TensorId> split_;
  std::vector<TensorId> inputs_;
};

}  // namespace

Schedule scheduled(const Graph& graph, std::int64_t copies,
                   const std::vector<BackendTraits>& traits) {
  return Scheduler(graph, copies, traits).run();
}

}  // namespace picchio::gguf
