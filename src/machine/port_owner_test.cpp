// Who serves a port, on trees made up here and on a socket of this process.
#include "machine/port_owner.h"

#include "os/made_up_tree.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bit>
#include <utility>

namespace picchio {
namespace {

constexpr int kPort = 8080;  // 1F90

void process(const MadeUpTree& tree, int pid, int parent, const std::string& comm,
             const std::vector<std::string>& open) {
  const std::string dir = "/proc/" + std::to_string(pid);
  tree.file(dir + "/stat", std::to_string(pid) + " (" + comm + ") S " + std::to_string(parent) +
                               " 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 777 1 1 1\n");
  tree.file(dir + "/comm", comm + "\n");
  tree.dir(dir + "/fd");
  for (std::size_t i = 0; i < open.size(); ++i) {
    tree.link(dir + "/fd/" + std::to_string(i), open[i]);
  }
}

/// Wildcards print alike on every machine.
void listen(const MadeUpTree& tree, const std::vector<std::pair<int, int>>& inode_and_uid) {
  std::string text = "  sl  local_address rem_address\n";
  for (const auto& [inode, uid] : inode_and_uid) {
    text += "   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  " +
            std::to_string(uid) + "        0 " + std::to_string(inode) + " 1 0 100 0 0 10 0\n";
  }
  tree.file("/proc/net/tcp", text);
}

Result<int> server(const MadeUpTree& tree) {
  const LocalEndpoint endpoint = endpoint_of_address("127.0.0.1", kPort).value_or(LocalEndpoint());
  return server_of(tree.root(), port_holders(tree.root(), endpoint), kPort);
}

TEST(PortOwner, TheOneThatHoldsTheSocket) {
  const MadeUpTree tree;
  listen(tree, {{4711, 1000}});
  process(tree, 20, 1, "stranger", {"socket:[47]"});
  process(tree, 21, 1, "llama-server", {"/dev/null", "socket:[4711]"});
  EXPECT_EQ(server(tree), 21);
}

TEST(PortOwner, OfAParentAndItsWorkersTheParent) {
  const MadeUpTree tree;
  listen(tree, {{4711, 1000}, {4712, 1000}});
  process(tree, 1, 0, "python", {"socket:[4711]", "socket:[4712]"});  // a container's first process
  process(tree, 22, 1, "sh", {});
  process(tree, 23, 22, "worker", {"socket:[4711]"});
  process(tree, 24, 1, "worker", {"socket:[4712]"});
  EXPECT_EQ(server(tree), 1);
}

TEST(PortOwner, AServiceManagerOnlyOpensIt) {
  const MadeUpTree tree;
  listen(tree, {{4711, 0}});
  process(tree, 1, 0, "systemd", {"socket:[4711]"});
  EXPECT_EQ(server(tree).error().kind, ErrorKind::not_found);
  process(tree, 21, 1, "llama-server", {"socket:[4711]"});
  EXPECT_EQ(server(tree), 21);
}

TEST(PortOwner, WhatCannotBeToldIsSaid) {
  struct Case {
    const char* holders;
    ErrorKind kind;
    const char* words;
    const char* hint;
  };
  const auto error_of = [](const std::string& holders) {
    const MadeUpTree tree;
    if (holders == "none") {
      listen(tree, {});
    } else if (holders == "hidden") {
      listen(tree, {{4711, 1000}, {4712, 4294967}});
      process(tree, 21, 1, "llama-server", {"socket:[4711]"});
    } else if (holders == "two") {
      listen(tree, {{4711, 1000}, {4712, 1000}});
      process(tree, 21, 1, "llama-server", {"socket:[4711]"});
      process(tree, 22, 1, "llama-server", {"socket:[4712]"});
    } else {
      listen(tree, {{4711, 0}});
      process(tree, 21, 1, holders, {"socket:[4711]"});
    }
    const auto found = server(tree);
    return found ? Error{} : found.error();
  };
  for (const Case& c :
       {Case{"none", ErrorKind::not_found, "no server listens on port 8080", "container"},
        Case{"hidden", ErrorKind::denied, "user 4294967", "same user or root"},
        Case{"two", ErrorKind::unsupported, "several processes listen on port 8080: 21, 22", "pid"},
        Case{"docker-proxy", ErrorKind::unsupported, "held by docker-proxy (pid 21)", "pid"},
        Case{"ssh", ErrorKind::unsupported, "held by ssh (pid 21)", "pid"}}) {
    const Error error = error_of(c.holders);
    EXPECT_EQ(error.kind, c.kind) << c.holders;
    EXPECT_TRUE(error.message.contains(c.words)) << error.message;
    EXPECT_TRUE(error.hint.contains(c.hint)) << error.hint;
  }
}

TEST(PortOwner, AddressesAsTheKernelPrintsThem) {
  if (std::endian::native != std::endian::little) {
    GTEST_SKIP() << "addresses below are little-endian";
  }
  struct Case {
    const char* address;
    bool ipv6;
    const char* printed;
  };
  for (const Case& c : {Case{"192.168.1.5", false, "0501A8C0"},
                        Case{"::1", true, "00000000000000000000000001000000"},
                        Case{"::", true, "00000000000000000000000000000000"},
                        Case{"fe80::1:2", true, "000080FE000000000000000002000100"},
                        Case{"2001:db8:1:2:3:4:5:6", true, "B80D0120020001000400030006000500"}}) {
    const LocalEndpoint found = endpoint_of_address(c.address, kPort).value_or(LocalEndpoint());
    EXPECT_EQ(found.ipv6, c.ipv6) << c.address;
    EXPECT_EQ(c.ipv6 ? found.ipv6_address : found.ipv4_address, c.printed) << c.address;
    EXPECT_EQ(found.port, kPort);
  }
  for (const char* text : {"", "localhost", "1.2.3", "1.2.3.256", "12345::", "1:2:3:4:5:6:7:8:9",
                           "1:2:3:4:5:6:7", "::1::2", "fe80::1%eth0", "12"}) {
    EXPECT_FALSE(endpoint_of_address(text, kPort)) << text;
  }
}

TEST(PortOwner, OfARealSocket) {
  const int fd = ::socket(AF_INET6, SOCK_STREAM, 0);
  if (fd < 0) GTEST_SKIP() << "no IPv6 here";
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(fd, 1), 0);
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int port = ntohs(address.sin6_port);
  // Dual stack: a client of IPv4 reaches it too.
  for (const char* host : {"127.0.0.1", "::1"}) {
    const LocalEndpoint endpoint = endpoint_of_address(host, port).value_or(LocalEndpoint());
    EXPECT_EQ(server_of("/", port_holders("/", endpoint), port), ::getpid()) << host;
  }
  ::close(fd);
}

}  // namespace
}  // namespace picchio
