// Waiting for a key or a signal, and who and where we are. The terminal itself is driven end to end
// (tests/cli/watch_live.py): it needs a session of its own.
#include "os/terminal_input.h"

#include "os/identity.h"
#include "os/pipe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace picchio::os {
namespace {

TEST(WaitForInput, SaysWhatWokeIt) {
  const auto input = make_pipe();
  const auto stop = make_pipe();
  ASSERT_TRUE(input && stop);
  const int keys = input->read_end.get();
  const int stops = stop->read_end.get();
  EXPECT_EQ(wait_for_input(keys, stops, Micros{100}), Woken::timeout);
  EXPECT_EQ(wait_for_input(-1, -1, Micros{-5}), Woken::timeout);
  ASSERT_EQ(::write(input->write_end.get(), "q", 1), 1);
  EXPECT_EQ(wait_for_input(keys, stops, std::chrono::hours(1)), Woken::input);
  EXPECT_EQ(wait_for_input(-1, stops, Micros{100}), Woken::timeout);
  ASSERT_EQ(::write(stop->write_end.get(), "x", 1), 1);
  // Both: whoever is to stop does not read on.
  EXPECT_EQ(wait_for_input(keys, stops, std::chrono::hours(1)), Woken::stopped);
}

TEST(TerminalInput, OnlyOfATerminal) {
  const auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  EXPECT_FALSE(TerminalInput::open(pipe->read_end.get()));
  EXPECT_FALSE(TerminalInput::open(-1));
  EXPECT_FALSE(terminal_height(pipe->read_end.get()));
}

TEST(Identity, OfThisMachine) {
  EXPECT_EQ(own_pid(), ::getpid());
  EXPECT_EQ(user_name(0), "root");
  EXPECT_FALSE(user_name(0x7ffffff0));
  const std::vector<std::string> addresses = own_addresses();
  EXPECT_NE(std::ranges::find(addresses, "127.0.0.1"), addresses.end());
  for (const std::string& address : addresses) EXPECT_FALSE(address.contains('%')) << address;
}

}  // namespace
}  // namespace picchio::os
