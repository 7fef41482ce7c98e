#include "evidence/stored_run.h"

#include <utility>

namespace picchio {

StoredRow stored_row(std::int64_t id, std::string content, const RecordedRun& run) {
  const RunFigures& figures = run.figures;
  StoredRow out;
  out.id = id;
  out.at = run.at;
  out.content = std::move(content);
  out.host = run.host;
  out.model_key = run.model_key;
  out.model = figures.model;
  out.quant = figures.quant_label();
  out.protocol = figures.protocol;
  out.engine = figures.engine;
  out.build = figures.build;
  out.state = figures.state;
  out.gpu_share = figures.placement.gpu_share;
  out.one_pass = figures.only_one_pass;
  for (const Lane which : kLanes) {
    const LaneFigures& lane = figures.lane(which);
    StoredLane& stored = out.lanes[static_cast<std::size_t>(which)];
    stored = out.one_pass ? StoredLane{lane.cold.value, std::nullopt, std::nullopt}
                          : StoredLane{lane.warm.value, lane.low, lane.high};
  }
  out.chip = figures.machine.chip;
  out.gpu = figures.machine.gpu;
  out.os = figures.machine.os;
  out.driver = figures.more.driver;
  out.kv_type_k = figures.more.kv_type_k;
  out.kv_type_v = figures.more.kv_type_v;
  return out;
}

}  // namespace picchio
