// A thread that ends when its owner does. std::jthread would do it, but older libc++ has none.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace picchio {

/// Handed to the thread's function: whether it shall go on, and a wait that ends when it shall not.
class StopSignal {
 public:
  [[nodiscard]] bool stopped() const {
    const std::scoped_lock lock(mutex_);
    return stopped_;
  }

  /// Waits until `when` or the stop; true: go on.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point when) {
    std::unique_lock lock(mutex_);
    wake_.wait_until(lock, when, [&] { return stopped_; });
    return !stopped_;
  }

  void stop() {
    {
      const std::scoped_lock lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
};

/// Runs a function in a thread; the destructor stops it, wakes it and joins. The function must
/// return soon after its StopSignal says so.
class Worker {
 public:
  explicit Worker(std::function<void(StopSignal&)> run)
      : shared_(std::make_shared<Shared>()), thread_([shared = shared_, run = std::move(run)] {
          run(shared->signal);
          shared->ended.stop();
        }) {}

  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  ~Worker() { stop(); }

  /// Stops and joins; later calls do nothing.
  void stop() {
    shared_->signal.stop();
    if (thread_.joinable()) thread_.join();
  }

  /// The same, but a function that has not returned after `patience` is left behind: false. What it
  /// uses must then outlive it.
  bool stop_within(std::chrono::steady_clock::duration patience) {
    shared_->signal.stop();
    if (!thread_.joinable()) return true;
    if (shared_->ended.wait_until(std::chrono::steady_clock::now() + patience)) {
      thread_.detach();
      return false;
    }
    thread_.join();
    return true;
  }

 private:
  struct Shared {
    StopSignal signal;
    StopSignal ended;  // told by the thread itself
  };
  std::shared_ptr<Shared> shared_;  // the thread's as well
  std::thread thread_;
};

}  // namespace picchio
