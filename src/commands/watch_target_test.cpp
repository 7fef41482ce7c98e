#include "commands/watch_target.h"

#include "os/identity.h"

#include <gtest/gtest.h>

namespace picchio {
namespace {

TEST(WatchTarget, AddressesAsPeopleWriteThem) {
  struct Case {
    const char* text;
    const char* host;
    int port;
  };
  for (const Case& c :
       {Case{"http://localhost:8080", "localhost", 8080}, Case{"http://localhost", "localhost", 80},
        Case{"https://Example.org/v1/chat?x=1", "example.org", 443},
        Case{"http://127.0.0.1:11434/", "127.0.0.1", 11434},
        Case{"http://[::1]:8080/v1", "::1", 8080}, Case{"http://[::1]", "::1", 80},
        Case{"localhost:8080", "localhost", 8080}, Case{":8080", "", 8080},
        Case{"[fe80::1]:9", "fe80::1", 9}, Case{" 192.168.1.5:65535 ", "192.168.1.5", 65535}}) {
    const auto address = parse_server_address(c.text);
    ASSERT_TRUE(address) << c.text << ": " << address.error().message;
    EXPECT_EQ(address->host, c.host) << c.text;
    EXPECT_EQ(address->port, c.port) << c.text;
  }
}

TEST(WatchTarget, WhatIsNoAddress) {
  for (const char* text : {"",
                           "llama-server",
                           "localhost",
                           ":",
                           ":0",
                           ":65536",
                           ":x",
                           ":8080x",
                           "http://",
                           "http://:8080",
                           "http://user@host:1",
                           "http://a b:1",
                           "[::1",
                           "[::1]",
                           "[::1]x:1",
                           "[]:1",
                           "[localhost]:1",
                           "::1",
                           "ftp://host:1",
                           "-1",
                           "1.5",
                           "http://host:1:2",
                           "\x1b[2J:80"}) {
    const auto address = parse_server_address(text);
    EXPECT_FALSE(address) << text;
    if (address) continue;
    EXPECT_TRUE(address.error().hint.contains("pid")) << text;
    EXPECT_FALSE(address.error().message.contains('\x1b')) << text;
  }
}

TEST(WatchTarget, Processes) {
  EXPECT_EQ(resolve_watch_target("4242").value_or(WatchTarget{}).pid, 4242);
  for (const char* text : {"0", "4194305", "99999999999999999999"}) {
    EXPECT_EQ(resolve_watch_target(text).error().kind, ErrorKind::not_found) << text;
  }
  const auto itself = resolve_watch_target(std::to_string(os::own_pid()));
  EXPECT_EQ(itself.error().kind, ErrorKind::unsupported);
}

TEST(WatchTarget, AnotherMachineIsRefused) {
  for (const char* text :
       {"http://192.0.2.1:8080", "[2001:db8::1]:8080", "no-such-host.invalid:1"}) {
    const auto target = resolve_watch_target(text);
    ASSERT_FALSE(target) << text;
    EXPECT_TRUE(target.error().message.contains("is not this machine")) << target.error().message;
  }
}

}  // namespace
}  // namespace picchio
