#include "commands/sweep/server_subject.h"

#include "commands/watch_target.h"
#include "os/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace picchio {

ServerSubject::ServerSubject(ServerRequest request, os::HttpClient& client,
                             os::Interrupts& interrupts, Progress& progress)
    : request_(std::move(request)),
      client_(client),
      interrupts_(interrupts),
      progress_(progress),
      server_(servers::open_server(request_.detected, client)) {}

Result<std::unique_ptr<ServerSubject>> ServerSubject::open(ServerRequest request,
                                                           os::HttpClient& client,
                                                           os::Interrupts& interrupts,
                                                           Progress& progress) {
  std::unique_ptr<ServerSubject> out(
      new ServerSubject(std::move(request), client, interrupts, progress));
  const servers::Wait wait{.interrupts = interrupts,
                           .note = [&](std::string_view text) { progress.note(text); },
                           .limit = out->request_.timeout};
  Result<servers::ServedModel> model = out->server_->choose_model(out->request_.model, wait);
  if (!model) return std::unexpected(model.error());
  out->model_ = *std::move(model);
  out->context_is_ours_ = out->server_->context_is_ours();
  const std::string& file = out->model_.file;
  if (out->context_is_ours_ && !file.empty() && os::exists(file) &&
      find_server(out->request_.detected.endpoint.base_url).this_machine) {
    // Its settings are not known, so all is as it does without.
    out->fit_.emplace(file, std::vector<std::string>{}, std::map<std::string, std::string>{},
                      gguf::Program::server, interrupts);
  }
  return out;
}

std::optional<ContextLimit> ServerSubject::limit() const {
  if (!model_.context || *model_.context <= 0) return std::nullopt;
  const std::int64_t most = *model_.context;
  if (context_is_ours_) {
    return ContextLimit{most, fmt::format("the model was made for {} tokens", most), true};
  }
  return ContextLimit{most,
                      fmt::format("the server gives a request {} tokens; start it with a larger "
                                  "context (-c), or fewer slots (-np)",
                                  most),
                      true};
}

TierOutlook ServerSubject::outlook(std::int64_t context) {
  if (!fit_) return {};
  // What the model itself holds just now is free for the next load of it.
  const servers::Wait wait{.interrupts = interrupts_,
                           .note = [&](std::string_view text) { progress_.note(text); },
                           .limit = request_.timeout};
  if (const Result<bool> unloaded = server_->unload(wait); !unloaded || !*unloaded) return {};
  return fit_->outlook(context);
}

Result<RawRun> ServerSubject::measure(const TierPasses& passes, const PassSink& sink) {
  return measure_server(request_for(request_, passes), client_, interrupts_, progress_, sink);
}

}  // namespace picchio
