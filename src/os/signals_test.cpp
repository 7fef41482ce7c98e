#include "os/signals.h"

#include "os/terminal_input.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>

namespace picchio::os {
namespace {

constexpr Micros kAtOnce{0};

TEST(Interrupts, AHangupEndsUnlessItIsToBeTold) {
  auto interrupts = Interrupts::install();
  ASSERT_TRUE(interrupts);
  EXPECT_EQ(interrupts->hangup_fd(), -1);
  ::raise(SIGHUP);
  EXPECT_EQ(interrupts->caught(), SIGHUP);
  EXPECT_FALSE(interrupts->take_hangup());
}

TEST(Interrupts, ToldHangupsWakeTheirOwnWaitOnly) {
  auto interrupts = Interrupts::install(Interrupts::Hangup::is_told);
  ASSERT_TRUE(interrupts);
  EXPECT_FALSE(interrupts->take_hangup());
  ::raise(SIGHUP);
  ::raise(SIGHUP);
  EXPECT_EQ(interrupts->caught(), std::nullopt);
  EXPECT_EQ(wait_for_input(-1, interrupts->fd(), kAtOnce), Woken::timeout);
  EXPECT_EQ(wait_for_input(interrupts->hangup_fd(), interrupts->fd(), kAtOnce), Woken::input);
  EXPECT_TRUE(interrupts->take_hangup());
  EXPECT_FALSE(interrupts->take_hangup());
  EXPECT_EQ(wait_for_input(interrupts->hangup_fd(), interrupts->fd(), kAtOnce), Woken::timeout);
  ::raise(SIGHUP);
  ::raise(SIGTERM);
  EXPECT_EQ(interrupts->caught(), SIGTERM);
  EXPECT_EQ(wait_for_input(-1, interrupts->fd(), kAtOnce), Woken::stopped);
  EXPECT_TRUE(interrupts->take_hangup());
}

TEST(Interrupts, LeaveTheHandlersAsTheyWere) {
  struct sigaction before{};
  ::sigaction(SIGHUP, nullptr, &before);
  {
    auto interrupts = Interrupts::install(Interrupts::Hangup::is_told);
  }
  struct sigaction after{};
  ::sigaction(SIGHUP, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
  auto again = Interrupts::install();
  ASSERT_TRUE(again);
  ::raise(SIGHUP);
  EXPECT_EQ(again->caught(), SIGHUP) << "the next one must not be told as the last one wanted";
}

}  // namespace
}  // namespace picchio::os
