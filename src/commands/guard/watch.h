// The thread of `guard` that reads along: takes copies of the log, looks at the processes and the
// meters, and says what it finds. Whatever it does or waits for, the relay does not wait.
#pragma once

#include "base/worker.h"
#include "commands/guard/judge.h"
#include "os/relay.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// Bytes on their way from one thread to another; what does not fit is dropped, and that is known.
class BoundedBytes {
 public:
  explicit BoundedBytes(std::size_t most) : most_(most) {}

  void push(std::string_view bytes);

  struct Taken {
    bool lost = false;  // behind `bytes` something is missing
    bool ended = false;
  };
  /// All of it into `bytes`, after at most `longest`.
  [[nodiscard]] Taken take(std::string& bytes, std::chrono::milliseconds longest);

  /// No more comes; take() does not wait any longer.
  void end();

 private:
  std::size_t most_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string bytes_;
  bool lost_ = false;
  bool ended_ = false;
};

/// The meters beside the command's processes, in a thread of their own since opening them can take
/// seconds. For a quarter of an hour: a recording that grew for weeks would help nobody.
class GuardMeters {
 public:
  GuardMeters(int pid, std::string name, Machine machine);
  GuardMeters(const GuardMeters&) = delete;
  GuardMeters& operator=(const GuardMeters&) = delete;
  ~GuardMeters();

  /// Ends it, and waits for a driver's call under way, longer when its answer is `wanted`. One
  /// sentence with its word, "GPU BUSY: ..."; empty: no meter was there to ask.
  [[nodiscard]] std::string stop(bool wanted);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Worker> worker_;
};

class GuardWatch {
 public:
  struct Request {
    int pid = 0;
    GuardScene scene;
    std::function<void(const GuardFinding&)> found;  // called in the watching thread
  };

  explicit GuardWatch(Request request);
  GuardWatch(const GuardWatch&) = delete;
  GuardWatch& operator=(const GuardWatch&) = delete;
  ~GuardWatch();

  /// From the relay; never waits.
  void copy(std::string_view bytes) { queue_.push(bytes); }

  /// Everything that was copied is read, the last conclusions are drawn. Then judge() may be asked.
  void finish();

  [[nodiscard]] const GuardJudge& judge() const { return judge_; }
  [[nodiscard]] Micros now() const;

 private:
  void run(StopSignal& signal);

  Request request_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  BoundedBytes queue_;
  GuardJudge judge_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace picchio
