#include "commands/sweep/earlier_tier.h"

#include "commands/stored_runs.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace picchio {
bool same_setting(const RecordedRun& before, const RecordedRun& now) {
  const RunFigures& x = before.figures;
  const RunFigures& y = now.figures;
  const bool vouched = x.state && (y.state == x.state || y.state == State::healthy);
  if (!vouched) return false;
  return before.model_key == now.model_key && before.host == now.host && x.engine == y.engine &&
         x.build == y.build && x.placement.arguments == y.placement.arguments &&
         x.weight_bytes == y.weight_bytes && x.machine == y.machine && x.version == y.version;
}

Result<std::optional<StoredRun>> earlier_tier(const RecordedRun& like,
                                              const std::string& protocol) {
  using Found = std::optional<StoredRun>;
  RecordedRun wanted = like;
  wanted.figures.protocol = protocol;
  return with_history<Found>(std::nullopt, [&](history::History& runs) -> Result<Found> {
    const Result<std::vector<StoredRow>> rows = runs.newest_like(wanted);
    if (!rows) return std::unexpected(rows.error());
    if (rows->empty()) return Found();
    Result<StoredRun> run = runs.find(fmt::format("@{}", rows->front().id));
    if (!run) return std::unexpected(run.error());
    const bool recent = like.at - run->run.at < kEarlierTierAge;
    if (!recent || !same_setting(run->run, like)) return Found();
    return Found(*std::move(run));
  });
}

}  // namespace picchio
