#include "verdict/monitor.h"

#include "base/sanitized.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace picchio {
namespace {

using Kind = MonitorEvent::Kind;

constexpr double kPrefill = 800;
constexpr double kDecode = 40;
constexpr Micros kEvery = std::chrono::seconds(30);
const Moment kBegin{std::chrono::sys_days{std::chrono::year{2026} / 11 / 30}};

Probe probe(std::int64_t number, double prefill, double decode,
            State state = State::no_placement_evidence) {
  Probe out;
  out.number = number;
  out.since = kEvery * number;
  out.at = kBegin + out.since;
  out.length = std::chrono::seconds(4);
  out.end = ProbeEnd::answered;
  out.prompt_tokens = 760;
  out.generated_tokens = 128;
  out.prefill = prefill;
  out.decode = decode;
  out.state = state;
  out.sentence = "as the judge says";
  out.model = "m.gguf";
  return out;
}

Probe unanswered(std::int64_t number, ProbeEnd end) {
  Probe out;
  out.number = number;
  out.since = kEvery * number;
  out.at = kBegin + out.since;
  out.end = end;
  out.why = "connection refused";
  return out;
}

/// The judge and all that it told.
struct Watch {
  MonitorJudge judge{MonitorStatus{}};
  std::vector<MonitorEvent> events;
  std::int64_t next = 1;

  std::vector<MonitorEvent> add(Probe probe) {
    auto told = judge.add(probe);
    events.insert(events.end(), told.begin(), told.end());
    return told;
  }
  std::vector<MonitorEvent> add(double prefill, double decode,
                                State state = State::no_placement_evidence) {
    return add(probe(next++, prefill, decode, state));
  }
  void steady(int probes, State state = State::no_placement_evidence) {
    // A percent of noise, as the clocks of a quiet server show.
    for (int i = 0; i < probes; ++i) {
      const double noise = 1 + 0.01 * ((i * 7) % 5 - 2);
      add(kPrefill * noise, kDecode / noise, state);
    }
  }
  [[nodiscard]] std::size_t told(Kind kind) const {
    return static_cast<std::size_t>(std::ranges::count(events, kind, &MonitorEvent::kind));
  }
};

TEST(Monitor, LocksABaselineOfProbesThatAgree) {
  Watch watch;
  watch.add(200, 38);  // cold
  watch.steady(2);
  EXPECT_EQ(watch.told(Kind::baseline_locked), 0U);
  watch.steady(1);
  ASSERT_EQ(watch.told(Kind::baseline_locked), 1U);
  EXPECT_NEAR(watch.judge.status().prefill->median, kPrefill, 0.03 * kPrefill);
  EXPECT_NEAR(watch.judge.status().decode->median, kDecode, 0.03 * kDecode);
  watch.steady(1);
  EXPECT_EQ(watch.judge.status().standing, Standing::steady);
}

struct FallCase {
  const char* name;
  double prefill;  // share of the baseline
  double decode;
  int times;
  State state;
  Standing standing;
  const char* rule;
  ExitCode code;
};

class MonitorFalls : public testing::TestWithParam<FallCase> {};

TEST_P(MonitorFalls, AreToldOnceAndDecideTheExitCode) {
  const FallCase& c = GetParam();
  Watch watch;
  watch.steady(150, c.state == State::no_placement_evidence ? c.state : State::healthy);
  ASSERT_EQ(watch.judge.status().standing, Standing::steady);
  const std::size_t before = watch.events.size();
  for (int i = 0; i < c.times; ++i) watch.add(c.prefill * kPrefill, c.decode * kDecode, c.state);
  EXPECT_EQ(watch.judge.status().standing, c.standing);
  const bool stays = c.standing == Standing::steady;
  ASSERT_EQ(watch.events.size() - before, stays ? 0U : 1U);
  EXPECT_EQ(watch.judge.status().falls, stays ? 0 : 1);
  if (!stays) {
    EXPECT_EQ(watch.events.back().rule, c.rule);
    EXPECT_EQ(watch.events.back().probe, 150 + c.times);
  }
  EXPECT_EQ(exit_code_of(watch.judge.status(), false), c.code);
  // And back again.
  watch.steady(1, c.state == State::no_placement_evidence ? c.state : State::healthy);
  EXPECT_EQ(watch.judge.status().standing, Standing::steady);
  EXPECT_EQ(exit_code_of(watch.judge.status(), false), c.code) << "a recovery forgives nothing";
}

constexpr auto kNo = State::no_placement_evidence;
INSTANTIATE_TEST_SUITE_P(
    All, MonitorFalls,
    testing::Values(
        FallCase{"judged", 1, 1, 1, State::silent_cpu_fallback, Standing::fallen, "runs-on-cpu",
                 ExitCode::silent_cpu_fallback},
        FallCase{"conflict", 1, 1, 1, State::conflicting_evidence, Standing::conflicting,
                 "witnesses-disagree", ExitCode::conflicting_evidence},
        FallCase{"partial", 0.5, 0.5, 1, State::partial_offload, Standing::partial, "runs-partly",
                 ExitCode::partial_offload},
        FallCase{"cpu_by_rates", 0.05, 0.2, 1, kNo, Standing::fallen, "rates-of-a-cpu",
                 ExitCode::silent_cpu_fallback},
        FallCase{"small_gpu_to_cpu", 0.2, 0.6, 1, kNo, Standing::fallen, "rates-of-a-cpu",
                 ExitCode::silent_cpu_fallback},
        FallCase{"collapse_on_gpu", 0.05, 0.2, 1, State::healthy, Standing::slow, "rates-collapsed",
                 ExitCode::silent_cpu_fallback},
        FallCase{"both_alike", 0.1, 0.1, 1, kNo, Standing::slow, "rates-collapsed",
                 ExitCode::silent_cpu_fallback},
        FallCase{"one_dip", 0.4, 0.4, 1, kNo, Standing::steady, "", ExitCode::ok},
        FallCase{"two_dips", 0.4, 0.4, 2, kNo, Standing::steady, "", ExitCode::ok},
        FallCase{"three_dips", 0.35, 0.35, 3, kNo, Standing::slow, "rates-dipped-again",
                 ExitCode::silent_cpu_fallback},
        FallCase{"two_slower", 0.65, 0.65, 2, kNo, Standing::steady, "", ExitCode::ok},
        FallCase{"three_slower", 0.65, 0.65, 3, kNo, Standing::slow, "slower-for-long",
                 ExitCode::silent_cpu_fallback},
        FallCase{"prefill_alone_once", 0.01, 1, 1, kNo, Standing::steady, "", ExitCode::ok},
        FallCase{"prefill_alone", 0.1, 1, 3, kNo, Standing::slow, "rates-dipped-again",
                 ExitCode::silent_cpu_fallback},
        FallCase{"prefill_a_little", 0.6, 1, 3, kNo, Standing::slow, "slower-for-long",
                 ExitCode::silent_cpu_fallback},
        FallCase{"decode_alone", 1, 0.02, 1, State::healthy, Standing::slow, "rates-collapsed",
                 ExitCode::silent_cpu_fallback},
        FallCase{"decode_alone_untold", 1, 0.1, 1, kNo, Standing::slow, "rates-collapsed",
                 ExitCode::silent_cpu_fallback},
        FallCase{"decode_half", 1, 0.5, 3, State::healthy, Standing::slow, "slower-for-long",
                 ExitCode::silent_cpu_fallback},
        FallCase{"a_little", 0.9, 0.9, 5, kNo, Standing::steady, "", ExitCode::ok}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(Monitor, OneProbeInFiftyIsCaught) {
  Watch watch;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> jitter(0.95, 1.05);
  int fell = 0;
  for (int i = 1; i <= 500; ++i) {
    const bool falls = i % 50 == 0;
    fell += falls ? 1 : 0;
    const double share = falls ? 0.05 : 1;
    watch.add(kPrefill * share * jitter(random), kDecode * (falls ? 0.2 : 1) * jitter(random));
    ASSERT_EQ(watch.judge.status().falls, fell) << i;
  }
  EXPECT_EQ(watch.judge.status().falls, 10);
  EXPECT_EQ(watch.judge.status().standing, Standing::fallen);
  EXPECT_EQ(exit_code_of(watch.judge.status(), false), ExitCode::silent_cpu_fallback);
}

struct Noise {
  const char* name;
  std::function<double(std::mt19937&)> factor;
  bool together = false;  // both lanes by the same factor
};

class MonitorNoise : public testing::TestWithParam<Noise> {};

TEST_P(MonitorNoise, OfAHealthyServerIsNoFall) {
  constexpr unsigned kServers = kSanitized ? 2 : 12;
  constexpr int kProbes = 2000;
  for (unsigned server = 0; server < kServers; ++server) {
    std::mt19937 random(server);
    Watch watch;
    for (int i = 0; i < kProbes; ++i) {
      const double a = GetParam().factor(random);
      const double b = GetParam().together ? a : GetParam().factor(random);
      watch.add(kPrefill * a, kDecode * b);
      ASSERT_EQ(watch.judge.status().falls, 0)
          << "server " << server << " probe " << i << ": " << watch.events.back().sentence;
    }
    ASSERT_TRUE(watch.judge.status().decode);
    EXPECT_NEAR(watch.judge.status().decode->median, kDecode, 0.25 * kDecode);
    EXPECT_EQ(exit_code_of(watch.judge.status(), false), ExitCode::ok);
    EXPECT_EQ(exit_code_of(watch.judge.status(), true), ExitCode::no_timing_evidence);
  }
}

double evenly(std::mt19937& random) { return std::uniform_real_distribution<>(0.8, 1.2)(random); }
double normally(std::mt19937& random) {
  return std::max(0.3, std::normal_distribution<>(1, 0.2)(random));
}
double by_logarithm(std::mt19937& random) {
  return std::exp(std::normal_distribution<>(0, 0.2)(random));
}
// A request in ten meets something else and takes half as long again.
double with_a_tail(std::mt19937& random) {
  const double base = std::uniform_real_distribution<>(0.95, 1.05)(random);
  return std::uniform_real_distribution<>(0, 1)(random) < 0.1 ? base / 1.5 : base;
}

INSTANTIATE_TEST_SUITE_P(All, MonitorNoise,
                         testing::Values(Noise{"uniform", evenly}, Noise{"normal", normally},
                                         Noise{"lognormal", by_logarithm},
                                         Noise{"uniform_together", evenly, true},
                                         Noise{"normal_together", normally, true},
                                         Noise{"lognormal_together", by_logarithm, true},
                                         Noise{"tail", with_a_tail, true}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(Monitor, NoisyServersFallIsCaughtAllTheSame) {
  for (unsigned server = 0; server < 40; ++server) {
    std::mt19937 random(server);
    Watch watch;
    for (int i = 0; i < 100; ++i) watch.add(kPrefill * evenly(random), kDecode * evenly(random));
    watch.add(0.04 * kPrefill * evenly(random), 0.15 * kDecode * evenly(random));
    EXPECT_EQ(watch.judge.status().falls, 1) << server;
  }
}

TEST(Monitor, BusyAndLoadingProbesAreCountedAndNotMisread) {
  Watch watch;
  watch.steady(10, State::healthy);
  const std::size_t before = watch.events.size();
  for (const ProbeEnd end : {ProbeEnd::busy, ProbeEnd::loading, ProbeEnd::idle, ProbeEnd::failed}) {
    watch.add(unanswered(watch.next++, end));
  }
  EXPECT_EQ(watch.events.size(), before);
  const MonitorStatus& status = watch.judge.status();
  EXPECT_EQ(status.standing, Standing::steady);
  EXPECT_EQ(status.busy, 1);
  EXPECT_EQ(status.loading, 1);
  EXPECT_EQ(status.idle, 1);
  EXPECT_EQ(status.failed, 1);
  EXPECT_EQ(exit_code_of(status, false), ExitCode::ok);
}

TEST(Monitor, RatesBesideOthersRequestsAreNotItsOwn) {
  Watch watch;
  watch.steady(20);
  const Baseline before = *watch.judge.status().decode;
  for (int i = 0; i < 5; ++i) {
    Probe slow = probe(watch.next++, 0.05 * kPrefill, 0.2 * kDecode);
    slow.contended = "2 of 4 slots are at work for others";
    watch.add(slow);
  }
  EXPECT_EQ(watch.judge.status().standing, Standing::steady);
  EXPECT_EQ(watch.judge.status().decode->probes, before.probes);
  // But a verdict on where it runs stands, whoever else is served.
  Probe fallen = probe(watch.next++, 0.05 * kPrefill, 0.2 * kDecode, State::silent_cpu_fallback);
  fallen.contended = "2 of 4 slots are at work for others";
  watch.add(fallen);
  EXPECT_EQ(watch.judge.status().standing, Standing::fallen);
}

TEST(Monitor, LostServerIsToldOnceAndComesBack) {
  Watch watch;
  watch.steady(10, State::healthy);
  for (int i = 0; i < 3; ++i) watch.add(unanswered(watch.next++, ProbeEnd::unreachable));
  EXPECT_EQ(watch.judge.status().standing, Standing::lost);
  EXPECT_EQ(watch.told(Kind::standing), 2U);  // steady, lost
  EXPECT_EQ(exit_code_of(watch.judge.status(), false), ExitCode::could_not_run);
  watch.steady(1, State::healthy);
  EXPECT_EQ(watch.judge.status().standing, Standing::steady);
  EXPECT_EQ(watch.judge.status().falls, 0);
  EXPECT_EQ(exit_code_of(watch.judge.status(), false), ExitCode::ok);
}

TEST(Monitor, LaneThatFellIsNotLearned) {
  for (const int before : {5, 40}) {
    Watch watch;
    watch.steady(before);
    for (int i = 0; i < 60; ++i) watch.add(kPrefill, 0.3 * kDecode);
    EXPECT_NEAR(watch.judge.status().decode->median, kDecode, 0.05 * kDecode) << before;
    EXPECT_EQ(watch.judge.status().standing, Standing::slow) << before;
    EXPECT_EQ(exit_code_of(watch.judge.status(), false), ExitCode::silent_cpu_fallback);
  }
}

TEST(Monitor, EverySecondAnswerThatFailsIsNoSteadyServer) {
  Watch watch;
  watch.steady(20, State::healthy);
  for (int i = 0; i < 20; ++i) {
    watch.add(unanswered(watch.next++, ProbeEnd::failed));
    watch.steady(1, State::healthy);
  }
  EXPECT_EQ(watch.judge.status().standing, Standing::lost);
  EXPECT_EQ(watch.told(Kind::standing), 2U) << "and it is told once";
  EXPECT_EQ(exit_code_of(watch.judge.status(), false), ExitCode::could_not_run);
  watch.steady(20, State::healthy);
  EXPECT_EQ(watch.judge.status().standing, Standing::steady);
}

TEST(Monitor, BusyInBetweenDoesNotMendAFailure) {
  Watch watch;
  watch.steady(10, State::healthy);
  for (const ProbeEnd end :
       {ProbeEnd::failed, ProbeEnd::busy, ProbeEnd::loading, ProbeEnd::failed}) {
    watch.add(unanswered(watch.next++, end));
  }
  EXPECT_EQ(watch.judge.status().standing, Standing::lost);
}

TEST(Monitor, BusyEverSinceAFailureIsALostServer) {
  Watch watch;
  watch.steady(10, State::healthy);
  watch.add(unanswered(watch.next++, ProbeEnd::failed));
  for (int i = 0; i < 8; ++i) {
    Probe busy = unanswered(watch.next++, ProbeEnd::busy);
    busy.state = State::healthy;  // its bytes lie where they lay
    watch.add(busy);
  }
  EXPECT_EQ(watch.judge.status().standing, Standing::lost);
  EXPECT_EQ(exit_code_of(watch.judge.status(), false), ExitCode::could_not_run);
}

TEST(Monitor, ServerThatIsNeverSeenIsNotSteady) {
  Watch watch;
  watch.steady(10, State::healthy);
  for (int i = 0; i < 30; ++i) watch.add(unanswered(watch.next++, ProbeEnd::busy));
  EXPECT_EQ(watch.judge.status().standing, Standing::unknown);
  EXPECT_EQ(watch.told(Kind::standing), 2U);
  EXPECT_EQ(verdict_of(watch.judge.status()).word, "NO PLACEMENT EVIDENCE");
  EXPECT_EQ(exit_code_of(watch.judge.status(), true), ExitCode::no_timing_evidence);
  // A busy one whose log tells where it runs is seen.
  Probe told = unanswered(watch.next++, ProbeEnd::busy);
  told.state = State::silent_cpu_fallback;
  watch.add(told);
  EXPECT_EQ(watch.judge.status().standing, Standing::fallen);
}

TEST(Monitor, LaneThatVanishesIsNews) {
  Watch watch;
  watch.steady(20, State::healthy);
  for (int i = 0; i < 6; ++i) {
    Probe blind = probe(watch.next++, kPrefill, kDecode, State::healthy);
    blind.decode.reset();
    blind.decode_abstain = "fewer tokens than were asked for";
    watch.add(blind);
  }
  EXPECT_EQ(watch.judge.status().standing, Standing::unknown);
  EXPECT_TRUE(watch.events.back().sentence.contains("fewer tokens"))
      << watch.events.back().sentence;
}

TEST(Monitor, GpuThatGoesAwayIsAFall) {
  Watch watch;
  watch.steady(20, State::healthy);
  watch.steady(1, State::cpu_only_machine);
  EXPECT_EQ(watch.judge.status().standing, Standing::fallen);
  EXPECT_EQ(exit_code_of(watch.judge.status(), false), ExitCode::silent_cpu_fallback);
}

TEST(Monitor, TwoErrorsInARowAreALostServer) {
  Watch watch;
  watch.steady(5, State::healthy);
  watch.add(unanswered(watch.next++, ProbeEnd::failed));
  EXPECT_EQ(watch.judge.status().standing, Standing::steady);
  watch.add(unanswered(watch.next++, ProbeEnd::failed));
  EXPECT_EQ(watch.judge.status().standing, Standing::lost);
}

TEST(Monitor, RestartOntoTheCpuFallsInTheFirstProbe) {
  Watch watch;
  for (int i = 0; i < 20; ++i) {
    Probe p = probe(watch.next++, kPrefill, kDecode, State::cpu_only_machine);
    p.pid = 100;
    watch.add(p);
  }
  Probe after = probe(watch.next++, kPrefill, kDecode, State::silent_cpu_fallback);
  after.pid = 200;
  const auto told = watch.add(after);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].kind, Kind::reload);
  EXPECT_EQ(told[1].to, Standing::fallen);
  EXPECT_EQ(watch.judge.status().reloads, 1);
}

TEST(Monitor, FallOverALostServerIsOneFall) {
  Watch watch;
  watch.steady(5, State::healthy);
  watch.add(10, 5, State::silent_cpu_fallback);
  watch.add(unanswered(watch.next++, ProbeEnd::unreachable));
  watch.add(10, 5, State::silent_cpu_fallback);
  EXPECT_EQ(watch.judge.status().falls, 1);
}

TEST(Monitor, ServerThatWasOnTheCpuFromTheBeginningIsNoSteadyOne) {
  Watch watch;
  for (int i = 0; i < 30; ++i) watch.add(30, 10);
  EXPECT_EQ(watch.judge.status().standing, Standing::unknown);
  EXPECT_EQ(watch.told(Kind::standing), 0U);
  // And when it gets where it belongs that is its baseline.
  watch.steady(5);
  EXPECT_EQ(watch.judge.status().standing, Standing::steady);
  EXPECT_NEAR(watch.judge.status().decode->median, kDecode, 0.05 * kDecode);
  EXPECT_EQ(watch.told(Kind::baseline_locked), 2U);
}

TEST(Monitor, WhatWasProvenStandsForOneLoad) {
  Watch watch;
  // A decode too short for the witnesses of every probe, on a machine whose ratio is a CPU's.
  for (int i = 0; i < 10; ++i) {
    watch.add(30, 10, i % 3 == 0 ? State::cpu_only_machine : State::no_placement_evidence);
  }
  EXPECT_EQ(watch.told(Kind::standing), 1U);
  EXPECT_EQ(watch.judge.status().standing, Standing::steady);
  Probe anew = probe(watch.next++, 30, 10);
  anew.reload = "its log tells of another load";
  watch.add(anew);
  EXPECT_EQ(watch.judge.status().standing, Standing::unknown);
}

TEST(Monitor, FallOfRatesHasNoCauseOfTheVerdicts) {
  Watch watch;
  watch.steady(10);
  Probe fallen = probe(watch.next++, 0.04 * kPrefill, 0.2 * kDecode);
  fallen.cause = Cause{"log_lacks_evidence", "the log has no line", "run again with -lv 4"};
  const auto told = watch.add(fallen);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].why, "");
}

TEST(Monitor, SlideOfWeeksIsNotLearned) {
  Watch watch;
  watch.steady(16);
  double share = 1;
  for (int i = 0; i < 5000 && watch.judge.status().standing == Standing::steady; ++i) {
    share *= 0.9999;
    watch.add(kPrefill * share, kDecode * share);
  }
  EXPECT_EQ(watch.judge.status().standing, Standing::slow);
  EXPECT_NEAR(share, 1 / 1.4, 0.02);
}

TEST(Monitor, AnotherModelBeginsAnew) {
  Watch watch;
  watch.steady(10);
  Probe other = probe(watch.next++, kPrefill / 10, kDecode / 10);
  other.model = "larger.gguf";
  const auto told = watch.add(other);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told[0].kind, Kind::model_changed);
  EXPECT_EQ(watch.judge.status().falls, 0);
}

TEST(Monitor, ClockThatJumpsIsToldAndNothingElse) {
  Watch watch;
  watch.steady(10, State::healthy);
  Probe late = probe(watch.next++, kPrefill, kDecode, State::healthy);
  late.at += std::chrono::hours(8);
  auto told = watch.add(late);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, Kind::clock_jump);
  Probe back = probe(watch.next++, kPrefill, kDecode, State::healthy);
  told = watch.add(back);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, Kind::clock_jump);
  EXPECT_EQ(watch.judge.status().standing, Standing::steady);
}

TEST(Monitor, WithoutAProbeNothingIsHealthy) {
  EXPECT_EQ(exit_code_of(MonitorStatus{}, false), ExitCode::could_not_run);
  Watch unsure;
  unsure.add(800, 0);  // no rate that counts, no place
  EXPECT_EQ(verdict_of(unsure.judge.status()).word, "NO PLACEMENT EVIDENCE");
  EXPECT_EQ(exit_code_of(unsure.judge.status(), true), ExitCode::no_timing_evidence);
  Watch quiet;
  quiet.add(unanswered(1, ProbeEnd::idle));
  EXPECT_EQ(exit_code_of(quiet.judge.status(), false), ExitCode::no_timing_evidence);
}

TEST(Monitor, CausesTravelWithTheFall) {
  Watch watch;
  watch.steady(5, State::healthy);
  Probe fallen = probe(watch.next++, 20, 5, State::silent_cpu_fallback);
  fallen.cause = Cause{"device_none", "'--device none' keeps it off the GPU", "leave it out"};
  const auto told = watch.add(fallen);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].why, "'--device none' keeps it off the GPU");
  EXPECT_EQ(told[0].fix, "leave it out");
}

TEST(Monitor, CardThatTheServerKeepsBusyIsNoCpu) {
  Watch watch;
  watch.steady(20);
  Probe slow = probe(watch.next++, 0.05 * kPrefill, 0.2 * kDecode);
  ProbedGpu gpu;
  gpu.server_share = 0.8;
  slow.gpus.push_back(gpu);
  watch.add(slow);
  EXPECT_EQ(watch.judge.status().standing, Standing::slow);
}

}  // namespace
}  // namespace picchio
