#include "meters/apple/gpu_time.h"

#include <algorithm>
#include <utility>

namespace picchio::meters::apple {
namespace {

// Processes asked about that ended are kept for their counters, up to so many.
constexpr std::size_t kMostAccounts = 4096;

double seconds_of(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace

void GpuTimeBook::open_accounts(std::span<const int> pids) {
  if (accounts_.size() > kMostAccounts) {
    std::erase_if(accounts_, [&](const auto& one) {
      return std::ranges::find(pids, one.first) == pids.end();
    });
  }
  for (const int pid : pids) {
    const Start start = start_of_(pid);
    Account& account = accounts_.try_emplace(pid, Account{start, {}}).first->second;
    if (account.start != start) account = Account{start, {}};
    for (auto& [device, share] : account.shares) {
      share.clients_before = std::exchange(share.clients, 0);
      share.grown = 0;
      share.growth_known = true;
    }
  }
}

void GpuTimeBook::take(const Key& key, std::optional<std::int64_t> ns) {
  const auto [device, id, pid] = key;
  const auto [found, is_new] = open_.try_emplace(key);
  Open& open = found->second;
  if (is_new) {
    open.start = start_of_(pid);
  }
  std::optional<std::int64_t> growth;
  if (ns && open.last_ns) growth = std::max<std::int64_t>(*ns - *open.last_ns, 0);
  if (ns && !open.last_ns && is_new && at_) growth = *ns;
  const std::int64_t to_add = growth.value_or(ns.value_or(0));
  if (ns) open.last_ns = ns;
  const auto account = accounts_.find(pid);
  if (account == accounts_.end() || account->second.start != open.start) return;
  Share& share = account->second.shares[device];
  ++share.clients;
  share.growth_known = share.growth_known && growth.has_value();
  if (!ns) return;
  share.told = true;
  share.seconds += seconds_of(to_add);
  share.grown += seconds_of(growth.value_or(0));
}

std::vector<GpuProcessUse> GpuTimeBook::look(const ClientLook& look, std::span<const int> pids) {
  open_accounts(pids);
  // One key can stand there twice only where the registry's numbers are not told.
  std::map<Key, std::optional<std::int64_t>> sums;
  for (const Client& client : look.clients) {
    auto& sum = sums[{client.device, client.id, client.pid}];
    if (client.gpu_ns) add_gpu_time(sum, *client.gpu_ns);
  }
  for (const auto& [key, ns] : sums) take(key, ns);
  std::erase_if(open_, [&](const auto& one) { return !sums.contains(one.first); });
  std::optional<double> interval;
  if (at_ && look.at > *at_) interval = picchio::seconds(look.at - *at_);
  at_ = look.at;
  return told(pids, interval);
}

std::vector<GpuProcessUse> GpuTimeBook::again(std::span<const int> pids) const {
  return told(pids, std::nullopt);
}

std::vector<GpuProcessUse> GpuTimeBook::told(std::span<const int> pids,
                                             std::optional<double> interval) const {
  std::vector<GpuProcessUse> all;
  for (const int pid : pids) {
    const auto account = accounts_.find(pid);
    if (account == accounts_.end()) continue;
    for (const auto& [device, share] : account->second.shares) {
      GpuProcessUse use;
      use.pid = pid;
      use.device = device;
      if (share.told) use.gpu_seconds = share.seconds;
      // What a client used between the last look at it and its end is not known.
      const bool some_ended = share.clients < share.clients_before;
      if (interval && share.told && share.growth_known && !some_ended) {
        use.busy_percent = std::min(100.0, 100 * share.grown / *interval);
      }
      all.push_back(use);
    }
  }
  return all;
}

}  // namespace picchio::meters::apple
