// Test support: the fake libraries of a Mac with what they are to answer
// (tests/fakes/apple/README.md), and a clock by hand that the meter and they share.
#pragma once

#include "meters/apple/apple.h"
#include "os/library.h"
#include "os/made_up_tree.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace picchio::meters::apple {

class FakeMac {
 public:
  explicit FakeMac(std::string_view scenario) {
    const std::string path = std::string(PICCHIO_FAKE_APPLE_DIR) + "/CoreFoundation";
    const char* const names[] = {path.c_str()};
    const auto core = os::DynamicLibrary::open("the fake", names);
    if (!core || !core->load("fakeAppleStart", start_) || !core->load("fakeAppleTime", time_) ||
        !core->load("fakeAppleLive", live_)) {
      ADD_FAILURE() << "the fake libraries cannot be loaded";
      std::abort();
    }
    play(scenario);
  }
  FakeMac(const FakeMac&) = delete;
  FakeMac& operator=(const FakeMac&) = delete;
  /// Whatever a test did: every object, port and notice token that was handed out is back.
  ~FakeMac() { EXPECT_EQ(live_(), 0) << "not released"; }

  void play(std::string_view scenario) {
    tree_.file("/scenario", scenario);
    ::setenv("PICCHIO_FAKE_APPLE", (tree_.root() + "/scenario").c_str(), 1);
    start_(0);
  }

  void at(double ms) const {
    *now_ = Micros(static_cast<std::int64_t>(ms * 1000));
    time_(ms);
  }

  [[nodiscard]] Place place() const {
    Place place;
    place.root = tree_.root();
    place.now = [now = now_] { return *now; };
    place.apple_libraries = PICCHIO_FAKE_APPLE_DIR;
    place.ioreg_program = tree_.root() + "/ioreg";
    return place;
  }

  /// With some of the libraries only.
  [[nodiscard]] Place place_with(std::initializer_list<const char*> libraries) {
    Place some = place();
    // A folder of its own each time: the loader remembers a path that it loaded.
    const std::string folder = "/some" + std::to_string(++folders_);
    some.apple_libraries = tree_.root() + folder;
    tree_.dir(folder);
    for (const char* library : libraries) {
      tree_.link(folder + "/" + library, std::string(PICCHIO_FAKE_APPLE_DIR) + "/" + library);
    }
    return some;
  }

  [[nodiscard]] std::unique_ptr<Meter> meter() const {
    auto opened = probe(place());
    if (!opened) {
      ADD_FAILURE() << opened.error().message;
      std::abort();
    }
    return *std::move(opened);
  }

  [[nodiscard]] const MadeUpTree& tree() const { return tree_; }

 private:
  MadeUpTree tree_;
  int folders_ = 0;
  std::shared_ptr<Micros> now_ = std::make_shared<Micros>(0);
  void (*start_)(double) = nullptr;
  void (*time_)(double) = nullptr;
  std::int64_t (*live_)() = nullptr;
};

}  // namespace picchio::meters::apple
