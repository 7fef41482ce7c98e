// Test support: a web server on 127.0.0.1 that answers exactly as a test says, bad manners
// included.
#pragma once

#include "os/fd.h"
#include "os/pipe.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace picchio::os {

class LoopbackServer {
 public:
  struct Request {
    std::string method;
    std::string target;
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
    int connection = 0;  // counts from 1
  };
  enum class Then { keep, close, stall };  // stall: hold the connection, say nothing more
  struct Answer {
    std::string bytes;  // as they go out: status line, headers, body
    Then then = Then::keep;
    std::size_t piece = 0;  // bytes sent at a time, with `pause` between; 0: all at once
    std::chrono::milliseconds pause{};
  };
  using Handler = std::function<Answer(const Request&)>;

  /// A whole answer with its Content-Length.
  static Answer reply(std::string_view status, std::string_view headers, std::string_view body) {
    return {fmt::format("HTTP/1.1 {}\r\n{}content-length: {}\r\n\r\n{}", status, headers,
                        body.size(), body)};
  }

  explicit LoopbackServer(Handler handler, bool ipv6 = false) : handler_(std::move(handler)) {
    auto pipe = make_pipe();
    stop_ = std::move(pipe->read_end);
    stopper_ = std::move(pipe->write_end);
    listener_ = UniqueFd(::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0));
    if (ipv6) {
      sockaddr_in6 address{};
      address.sin6_family = AF_INET6;
      address.sin6_addr = in6addr_loopback;
      start(address, &sockaddr_in6::sin6_port);
    } else {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      start(address, &sockaddr_in::sin_port);
    }
    host_ = fmt::format("{}:{}", ipv6 ? "[::1]" : "127.0.0.1", port_);
  }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;
  ~LoopbackServer() {
    stopper_.reset();
    if (acceptor_.joinable()) acceptor_.join();
    for (std::thread& each : connections_) each.join();
  }

  [[nodiscard]] bool listens() const { return acceptor_.joinable(); }
  [[nodiscard]] const std::string& host() const { return host_; }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string url(std::string_view path) const {
    return fmt::format("http://{}{}", host_, path);
  }
  [[nodiscard]] std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  template <class Address, class Port>
  void start(Address& address, Port Address::* port) {
    socklen_t size = sizeof(address);
    sockaddr generic{};
    static_assert(sizeof(Address) >= sizeof(generic));
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_.get(), raw, size) != 0 || ::listen(listener_.get(), 16) != 0 ||
        ::getsockname(listener_.get(), raw, &size) != 0) {
      return;
    }
    port_ = ntohs(address.*port);
    acceptor_ = std::thread([this] { accept_all(); });
  }

  void accept_all() {
    int count = 0;
    while (readable(listener_.get())) {
      UniqueFd peer(::accept(listener_.get(), nullptr, nullptr));
      if (!peer) continue;
      ++count;
      connections_.emplace_back([this, count](const UniqueFd& fd) { serve(fd.get(), count); },
                                std::move(peer));
    }
  }

  // False: the server is to stop.
  [[nodiscard]] bool readable(int fd) const {
    pollfd both[] = {{fd, POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    while (::poll(both, 2, -1) < 0) {
    }
    return both[1].revents == 0;
  }

  void serve(int fd, int connection) {
    std::string pending;
    while (true) {
      Request request;
      request.connection = connection;
      if (!read_request(fd, pending, request)) return;
      {
        const std::lock_guard lock(mutex_);
        seen_.push_back(request);
      }
      const Answer answer = handler_(request);
      if (!send_pieces(fd, answer) || answer.then == Then::close) return;
      if (answer.then == Then::stall) return wait_for_the_end(fd);
    }
  }

  bool read_more(int fd, std::string& pending) const {
    char block[4096];
    if (!readable(fd)) return false;
    const auto got = ::recv(fd, block, sizeof(block), 0);
    if (got <= 0) return false;
    pending.append(block, static_cast<std::size_t>(got));
    return true;
  }

  bool read_request(int fd, std::string& pending, Request& out) const {
    while (!pending.contains("\r\n\r\n")) {
      if (!read_more(fd, pending)) return false;
    }
    const auto end = pending.find("\r\n\r\n");
    std::string_view head = std::string_view(pending).substr(0, end + 2);
    const std::string_view first = head.substr(0, head.find("\r\n"));
    out.method = first.substr(0, first.find(' '));
    out.target = first.substr(out.method.size() + 1);
    out.target.resize(out.target.find(' '));
    head.remove_prefix(first.size() + 2);
    while (!head.empty()) {
      const std::string_view line = head.substr(0, head.find("\r\n"));
      const auto colon = line.find(": ");
      std::string name(line.substr(0, colon));
      std::ranges::transform(name, name.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      if (colon != std::string_view::npos) out.headers[name] = line.substr(colon + 2);
      head.remove_prefix(line.size() + 2);
    }
    const auto length = out.headers.contains("content-length")
                            ? static_cast<std::size_t>(std::stoul(out.headers["content-length"]))
                            : 0;
    pending.erase(0, end + 4);
    while (pending.size() < length) {
      if (!read_more(fd, pending)) return false;
    }
    out.body = pending.substr(0, length);
    pending.erase(0, length);
    return true;
  }

  bool send_pieces(int fd, const Answer& answer) const {
    std::string_view left = answer.bytes;
    while (!left.empty()) {
      const auto piece = left.substr(0, answer.piece == 0 ? left.size() : answer.piece);
      const auto sent = ::send(fd, piece.data(), piece.size(), MSG_NOSIGNAL);
      if (sent < 0) return false;
      left.remove_prefix(static_cast<std::size_t>(sent));
      if (answer.piece == 0 || left.empty()) continue;
      pollfd stop{stop_.get(), POLLIN, 0};
      if (::poll(&stop, 1, static_cast<int>(answer.pause.count())) != 0) return false;
    }
    return true;
  }

  void wait_for_the_end(int fd) const {
    std::string ignored;
    while (read_more(fd, ignored)) {
    }
  }

  Handler handler_;
  UniqueFd stop_;
  UniqueFd stopper_;
  UniqueFd listener_;
  int port_ = 0;
  std::string host_;
  std::thread acceptor_;
  std::vector<std::thread> connections_;  // the acceptor's until it is joined
  mutable std::mutex mutex_;
  std::vector<Request> seen_;
};

}  // namespace picchio::os
