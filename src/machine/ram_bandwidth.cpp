#include "machine/ram_bandwidth.h"

#include "machine/processor.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <ctime>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace picchio {
namespace {

using std::chrono::steady_clock;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
// Far beyond the caches of a desktop, and touched within a quarter of a second by one core.
constexpr std::int64_t kUsualBuffer = 512 * kMiB;
// Below this the caches of a desktop would answer.
constexpr std::int64_t kLeastBuffer = 128 * kMiB;
constexpr std::int64_t kTimesTheCaches = 4;
constexpr std::int64_t kShareOfMemory = 8;
constexpr int kMostThreads = 512;

// Work is handed out in such pieces: 0.1 ms at 40 GB/s. A thread that is done with its own part
// helps the others, as a processor's cores need not be equally fast.
constexpr std::size_t kPiece = std::size_t{4} << 20;
// Waking a hundred threads takes a millisecond, in which a server reads half a buffer.
constexpr std::chrono::milliseconds kLeastRound{40};
constexpr int kMostSweeps = 64;
constexpr int kLeastRounds = 3;
constexpr std::chrono::milliseconds kLook{5};
// Something is very wrong with a machine that needs so long: a core of which others have most.
constexpr std::chrono::seconds kMostTime{4};
// Of a round's time that each thread must have had on a core.
constexpr double kUndisturbed = 0.85;

#if defined(__GNUC__)
// Sanitizers would measure themselves.
#define PICCHIO_UNSANITIZED __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define PICCHIO_UNSANITIZED
#endif

/// Of plain 64-bit words, so that a compiler may use whatever vectors it has: this file is compiled
/// with -O3 in every build.
PICCHIO_UNSANITIZED std::uint64_t sum_of(const std::uint64_t* words, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

PICCHIO_UNSANITIZED void fill(std::uint64_t* words, std::size_t count, std::uint64_t value) {
  for (std::size_t i = 0; i < count; ++i) words[i] = value;
}

/// One thread's part of the buffer. Each on a cache line of its own.
struct alignas(64) Part {
  std::uint64_t* words = nullptr;
  std::size_t pieces = 0;
  std::atomic<std::size_t> next = 0;  // counts over all sweeps of a round
};

constexpr std::size_t kWordsInPiece = kPiece / sizeof(std::uint64_t);

/// The threads, which do rounds together: a first one that touches the memory (and with that places
/// it near its thread), then as many as are asked for.
class Readers {
 public:
  Readers(std::uint64_t* words, std::size_t pieces, std::size_t threads) : parts_(threads) {
    for (std::size_t i = 0; i < threads; ++i) {
      const std::size_t begin = pieces * i / threads;
      parts_[i].words = words + begin * kWordsInPiece;
      parts_[i].pieces = pieces * (i + 1) / threads - begin;
    }
    threads_.reserve(threads);
    try {
      for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this, i] { serve(i); });
    } catch (const std::system_error&) {
      // A limit of threads: those that there are do the work of all.
    }
  }
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;
  ~Readers() {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
      ++round_;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  [[nodiscard]] std::size_t threads() const { return threads_.size(); }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }

  /// `sweeps` over the buffer, 0 to touch it. False: `keep_going` said no, or it took too long.
  [[nodiscard]] bool run(std::size_t sweeps, const std::function<bool()>& keep_going) {
    std::unique_lock lock(mutex_);
    for (Part& part : parts_) part.next = 0;
    sum_ = 0;
    sweeps_ = sweeps;
    working_ = threads_.size();
    ++round_;
    wake_.notify_all();
    while (!done_.wait_for(lock, kLook, [&] { return working_ == 0; })) {
      lock.unlock();
      if (!keep_going()) stop_ = true;
      lock.lock();
    }
    return !stop_;
  }

 private:
  void serve(std::size_t own) {
    std::size_t served = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return round_ != served; });
        served = round_;
      }
      if (!stop_) {
        for (std::size_t i = 0; i < parts_.size(); ++i) work_on(parts_[(own + i) % parts_.size()]);
      }
      const std::scoped_lock lock(mutex_);
      if (working_ > 0 && --working_ == 0) done_.notify_one();
      if (stop_) return;
    }
  }

  void work_on(Part& part) {
    if (part.pieces == 0) return;
    const std::size_t all = part.pieces * std::max<std::size_t>(1, sweeps_);
    std::uint64_t sum = 0;
    for (std::size_t i = part.next++; i < all && !stop_; i = part.next++) {
      std::uint64_t* words = part.words + i % part.pieces * kWordsInPiece;
      if (sweeps_ == 0) {
        fill(words, kWordsInPiece, 1);
      } else {
        sum += sum_of(words, kWordsInPiece);
      }
    }
    sum_ += sum;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::vector<Part> parts_;
  std::size_t round_ = 0;
  std::size_t working_ = 0;
  std::size_t sweeps_ = 0;
  std::atomic<std::uint64_t> sum_ = 0;
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;  // last: they use what stands above
};

struct Round {
  double seconds = 0;
  double share = 0;  // of the time that the threads had a core
};

std::optional<Round> timed_round(Readers& readers, std::size_t sweeps,
                                 const std::function<bool()>& keep_going) {
  const std::clock_t cpu = std::clock();  // of all threads of this process
  const auto began = steady_clock::now();
  if (!readers.run(sweeps, keep_going)) return std::nullopt;
  Round out;
  out.seconds = std::chrono::duration<double>(steady_clock::now() - began).count();
  const double used = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  out.share = used / (out.seconds * static_cast<double>(readers.threads()));
  return out;
}

std::size_t sweeps_for(double seconds_of_one) {
  const double wanted = std::chrono::duration<double>(kLeastRound).count() / seconds_of_one;
  return static_cast<std::size_t>(std::clamp(wanted + 1, 1.0, static_cast<double>(kMostSweeps)));
}

struct FreeBuffer {
  void operator()(std::uint64_t* words) const { ::operator delete[](words, std::align_val_t{64}); }
};

}  // namespace

Result<RamProbe> plan_ram_probe(const std::string& root) {
  const Processor processor = read_processor(root);
  const auto available = available_memory(root);
  if (!available) {
    return fail(ErrorKind::unsupported, "how much memory is available is not told");
  }
  const std::int64_t caches = processor.last_level_cache_bytes.value_or(0);
  RamProbe out;
  out.bytes =
      std::min(std::max(kUsualBuffer, kTimesTheCaches * caches), *available / kShareOfMemory);
  if (out.bytes < std::max(kLeastBuffer, 2 * caches)) {
    return fail(ErrorKind::unsupported, "too little memory is free to measure its speed");
  }
  // What this process may use, which a container or taskset can make fewer.
  const int allowed = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  out.threads =
      std::clamp(processor.physical_cores.value_or(allowed), 1, std::min(allowed, kMostThreads));
  return out;
}

Result<double> measure_ram_bandwidth(const RamProbe& probe,
                                     const std::function<bool()>& keep_going) {
  const std::size_t pieces =
      static_cast<std::size_t>(std::max<std::int64_t>(0, probe.bytes)) / kPiece;
  const std::size_t threads = static_cast<std::size_t>(std::clamp(probe.threads, 1, kMostThreads));
  if (pieces < threads) return fail(ErrorKind::unsupported, "too small a buffer");
  const std::size_t words = pieces * kWordsInPiece;
  const std::unique_ptr<std::uint64_t[], FreeBuffer> buffer(static_cast<std::uint64_t*>(
      ::operator new[](words * sizeof(std::uint64_t), std::align_val_t{64}, std::nothrow)));
  if (!buffer)
    return fail(ErrorKind::unsupported, "no memory for a buffer of {} bytes", probe.bytes);

  const auto deadline = steady_clock::now() + kMostTime;
  bool interrupted = false;
  const auto go_on = [&] {
    interrupted = interrupted || !keep_going();
    return !interrupted && steady_clock::now() < deadline;
  };
  const auto stopped = [&]() -> Result<double> {
    if (interrupted) return fail(ErrorKind::interrupted, "interrupted");
    return fail(ErrorKind::timed_out, "reading it took too long");
  };
  Readers readers(buffer.get(), pieces, threads);
  if (readers.threads() == 0) return fail(ErrorKind::failed, "no thread could be started");
  if (!readers.run(0, go_on)) return stopped();
  const std::optional<Round> first = timed_round(readers, 1, go_on);
  if (!first) return stopped();
  const std::size_t sweeps = sweeps_for(first->seconds);
  std::optional<double> best;
  const auto last_begin = steady_clock::now() + probe.patience;
  for (int round = 0; round < kLeastRounds || steady_clock::now() < last_begin; ++round) {
    const std::optional<Round> each = timed_round(readers, sweeps, go_on);
    if (!each) return stopped();
    // Every word is 1: whoever skipped some did not read them.
    if (readers.sum() != words * sweeps) return fail(ErrorKind::failed, "the sum came out wrong");
    if (each->share < kUndisturbed) continue;
    const double rate = static_cast<double>(words * sizeof(std::uint64_t) * sweeps) / each->seconds;
    best = std::max(best.value_or(0), rate);
  }
  if (!best) return fail(ErrorKind::failed, "its cores were busy with something else");
  return *best;
}

}  // namespace picchio
