#include "commands/monitor/load_log.h"

#include "engines/log_reader.h"

#include <algorithm>

namespace picchio {

std::string LoadLog::of_probe(const std::string& text, bool another) {
  if (another) known_.clear();
  // What a load says may arrive in two parts.
  const bool may_go_on = loaded_ && !another;
  loaded_ = !text.empty() && !read_engine_log(text).loads.empty();
  std::string all = known_ + text;
  if (!loaded_ && !may_go_on) return all;
  // A new load does not take the old one's place: whose the last one was the judge has to ask.
  known_ = all;
  if (known_.size() > kMost) {
    const std::size_t line = known_.find('\n', known_.size() - kMost);
    known_.erase(0, std::min(line, known_.size() - 1) + 1);
  }
  return all;
}

}  // namespace picchio
