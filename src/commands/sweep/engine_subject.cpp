#include "commands/sweep/engine_subject.h"

#include "commands/surroundings.h"
#include "os/file.h"

#include <fmt/format.h>

#include <utility>

namespace picchio {

EngineSubject::EngineSubject(MeasureRequest request, os::Interrupts& interrupts, Progress& progress)
    : request_(std::move(request)),
      interrupts_(interrupts),
      progress_(progress),
      fit_(request_.model.path, request_.user_args, placement_environment(os::environment()),
           gguf::Program::one_shot, interrupts) {}

std::optional<ContextLimit> EngineSubject::limit() const {
  const auto trained = request_.model.context_length;
  if (!trained) return std::nullopt;
  return ContextLimit{*trained, fmt::format("the model was made for {} tokens", *trained), false};
}

Result<RawRun> EngineSubject::measure(const TierPasses& passes, const PassSink& sink) {
  return picchio::measure(request_for(request_, passes), interrupts_, progress_, sink);
}

}  // namespace picchio
