#include "commands/model_choice.h"

#include "base/text.h"
#include "commands/command.h"
#include "commands/live_view.h"
#include "commands/menu_keys.h"
#include "commands/model_menu.h"
#include "commands/offers.h"
#include "commands/running_servers.h"
#include "commands/terminal.h"
#include "models/find_models.h"
#include "os/file.h"
#include "os/terminal_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace picchio {
namespace {

constexpr int kStdin = 0;
constexpr int kStderr = 2;
constexpr std::size_t kMostPasteable = 200;
// The bytes of one key come together, also over a slow line; nobody types Esc and "[" that fast.
constexpr Micros kWithinAKey{100'000};
// Between two letters of somebody who looks for them.
constexpr Micros kWithinAWord{700'000};
// The terminal's size may change, and no signal of ours says so.
constexpr Micros kIdle{300'000};

/// The menu on the terminal, until something was picked or the user left.
class MenuLoop {
 public:
  MenuLoop(ModelMenu& menu, os::TerminalInput input, const os::Interrupts& interrupts)
      : menu_(menu), input_(std::move(input)), interrupts_(interrupts) {
    style_.colour = stderr_wants_colour();
  }

  void run() {
    while (menu_.state() == ModelMenu::State::open) {
      draw();
      const os::Woken woken = os::wait_for_input(input_.fd(), interrupts_.fd(), patience());
      if (interrupts_.caught()) return;
      if (woken == os::Woken::input && !take_keys()) return;
      if (woken == os::Woken::timeout) give_up_waiting();
    }
  }

 private:
  [[nodiscard]] Micros patience() const {
    if (keys_.unsure()) return kWithinAKey;
    return menu_.unsure() ? kWithinAWord : kIdle;
  }

  void draw() {
    input_.refresh();
    style_.columns = os::terminal_width(kStderr).value_or(80);
    style_.rows = os::terminal_height(kStderr).value_or(24);
    view_.draw(menu_.lines(style_), style_.columns);
  }

  /// False: the terminal is gone.
  [[nodiscard]] bool take_keys() {
    const auto bytes = input_.keys();
    if (!bytes || bytes->empty()) return false;
    for (const Press& press : keys_.read(*bytes)) menu_.press(press);
    return true;
  }

  void give_up_waiting() {
    const bool within_key = keys_.unsure();
    for (const Press& press : keys_.give_up()) menu_.press(press);
    if (!within_key) menu_.paused();
  }

  ModelMenu& menu_;
  os::TerminalInput input_;
  const os::Interrupts& interrupts_;
  MenuStyle style_;
  KeyReader keys_;
  LiveView view_;
};

/// Of a store that may not be read the server knows what is in it.
void add_served_tags(const RunningServers& running, models::FoundModels& found) {
  const auto is_known = [&](const std::string& tag) {
    return std::ranges::any_of(found.models, [&](const models::FoundModel& each) {
      return each.place == models::Place::ollama && each.argument == tag;
    });
  };
  std::vector<models::FoundModel> more;
  for (const ollama::ServedTag& each : running.tags) {
    if (is_known(each.tag)) continue;
    more.push_back({each.tag, each.tag, models::Place::ollama, "", each.bytes});
  }
  std::ranges::move(more, std::back_inserter(found.models));
  models::sort_models(found.models);
}

void tell_notes(const RunningServers& running, const models::FoundModels& found) {
  std::vector<std::string> notes = found.notes;
  if (!running.tags_told) std::ranges::copy(found.store_notes, std::back_inserter(notes));
  std::ranges::copy(running.notes, std::back_inserter(notes));
  for (const std::string& note : notes) {
    print_stderr(fmt::format("picchio: note: {}\n", plain(note)));
  }
}

std::expected<std::string, ExitCode> measure_this(const Offer& offer, std::string_view why) {
  print_stderr(fmt::format("picchio: {}{}\n", why, command_of(offer)));
  return offer.argument;
}

std::unexpected<ExitCode> nothing_found(const models::SearchPlaces& places) {
  print_error({ErrorKind::not_found,
               fmt::format("no model given, and none found in {}; no server on the usual ports",
                           searched(places)),
               "picchio MODEL.gguf, or a URL; 'ollama pull qwen3:4b' or 'llama-cli -hf "
               "ggml-org/gemma-3-4b-it-GGUF' fetches one; see picchio --help"});
  return std::unexpected(ExitCode::could_not_run);
}

std::unexpected<ExitCode> list(const std::vector<Offer>& offers) {
  print_error({ErrorKind::unsupported,
               fmt::format("no model given, and {} are here to choose from", offers.size()), ""});
  print_stderr(pasteable(offers, kMostPasteable));
  return std::unexpected(ExitCode::could_not_run);
}

std::expected<std::string, ExitCode> ask_for_one(const std::vector<Offer>& offers,
                                                 os::TerminalInput input,
                                                 const os::Interrupts& interrupts) {
  std::vector<MenuRow> rows;
  rows.reserve(offers.size());
  for (const Offer& offer : offers) rows.push_back({offer.name, offer.size, offer.where});
  ModelMenu menu(std::move(rows));
  MenuLoop(menu, std::move(input), interrupts).run();
  if (menu.state() == ModelMenu::State::picked) return measure_this(offers[menu.picked()], "");
  // As when the user stops a run: that is what they wanted, and no error.
  return std::unexpected(ExitCode::interrupted);
}

}  // namespace

std::expected<std::string, ExitCode> choose_model(bool ask, const os::Interrupts& interrupts) {
  const models::SearchPlaces places = models::search_places(models::surroundings());
  models::FoundModels found = models::find_models(places);
  const RunningServers running = find_running_servers(usual_ports(), local_ollama(), &interrupts);
  add_served_tags(running, found);
  tell_notes(running, found);
  std::vector<Offer> offers;
  offers.reserve(running.servers.size() + found.models.size());
  for (const servers::DetectedServer& server : running.servers) offers.push_back(offer_of(server));
  for (const models::FoundModel& model : found.models) offers.push_back(offer_of(model));
  if (interrupts.caught()) return std::unexpected(ExitCode::interrupted);
  if (offers.empty()) return nothing_found(places);
  if (offers.size() == 1) return measure_this(offers.front(), "the only one here: ");
  if (ask && stderr_is_terminal()) {
    if (auto input = os::TerminalInput::open(kStdin)) {
      return ask_for_one(offers, *std::move(input), interrupts);
    }
  }
  return list(offers);
}

}  // namespace picchio
