// Properties of every policy except BOINC's, for any input.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "common/credit/policies/creditnew.h"
#include "common/credit/policies/creditnew_v2.h"
#include "common/credit/policies/replicas.h"
#include "common/credit/policies/robust.h"
#include "common/credit/policies/simple_policies.h"
#include "tests/unit/credit_world.h"

namespace cobblestone::credit {
namespace {

struct Kind {
  PolicyKind kind;
  const Policy* policy;
};

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      {PolicyKind::kCreditNew, &CreditNewPolicy()}, {PolicyKind::kCreditNewV2, &CreditNewV2Policy()},
      {PolicyKind::kBenchmark, &BenchmarkPolicy()}, {PolicyKind::kReportedFlops, &ReportedFlopsPolicy()},
      {PolicyKind::kAssigned, &AssignedPolicy()},   {PolicyKind::kNone, &NonePolicy()},
      {PolicyKind::kRobust, &RobustPolicy()},
  };
  return kinds;
}

// Mostly plausible numbers, sometimes arbitrary ones.
rc::Gen<double> Number(double around) {
  const double infinity = std::numeric_limits<double>::infinity();
  return rc::gen::weightedOneOf<double>({
      {20, rc::gen::map(rc::gen::inRange(0, 4000), [around](int k) { return around * k / 1000; })},
      {1, rc::gen::element(0.0, -0.0, -1.0, infinity, -infinity, std::numeric_limits<double>::quiet_NaN(),
                           1e304, std::numeric_limits<double>::denorm_min())},
      {1, rc::gen::map(rc::gen::arbitrary<std::uint64_t>(),
                       [](std::uint64_t b) { return std::bit_cast<double>(b); })},
  });
}

Job AnyJob() {
  Job job;
  job.version =
      *rc::gen::elementOf(std::vector<std::int64_t>{kCpuVersion, kSecondCpuVersion, kGpuVersion, -2, -3, 99});
  job.elapsed = *Number(kSeconds);
  job.cpu_time = *Number(kSeconds);
  job.peak_flops = *Number(kGflops);
  job.fpops_est = *Number(kE);
  job.fpops_bound = *Number(50 * kE);
  job.sent = *rc::gen::inRange(0, 1000) * 100.0;
  job.received = job.sent + *rc::gen::inRange(-100, 3000) * 10.0;
  job.validated = job.received + *rc::gen::inRange(0, 20000) * 10.0;
  job.devices = *Number(1);
  job.cpus_used = *Number(1);
  job.gpus_used = *Number(1);
  job.outlier = *rc::gen::inRange(0, 10) == 0;
  job.unreplicated = *rc::gen::inRange(0, 10) == 0;
  job.awaited = *rc::gen::inRange<std::uint32_t>(1, 4);
  if (*rc::gen::arbitrary<bool>()) job.reported_flops = *Number(kE);
  if (*rc::gen::arbitrary<bool>()) job.reported_credit = *Number(20);
  if (*rc::gen::arbitrary<bool>()) job.assigned = *Number(20);
  return job;
}

World AnyWorld() {
  const Kind kind = *rc::gen::elementOf(Kinds());
  World world(*kind.policy, kind.kind);
  world.App().host_scale_check = *rc::gen::arbitrary<bool>();
  Constants& rules = world.Rules();
  rules.max_peak_flops_cpu = *rc::gen::element(0.0, 1e9, 2e9);
  rules.max_peak_flops_gpu = *rc::gen::element(0.0, 1e9);
  rules.max_devices = *rc::gen::element(0.0, 1.0);
  rules.max_credit_per_job = *rc::gen::element(0.0, 25.0);
  rules.reported_credit_limit = *rc::gen::element(0.0, 2.0);
  rules.multiplier = *rc::gen::element(1.0, 2.5);
  rules.benchmark = *rc::gen::element(Benchmark::kWhetstone, Benchmark::kMean);
  rules.replication = *rc::gen::element(Replication::kAverage, Replication::kMin, Replication::kMedian);
  for (const std::int64_t version : {kCpuVersion, kGpuVersion}) {
    world.SetVersion(version, *rc::gen::inRange(0, 300), *rc::gen::inRange(0, 40) / 10.0,
                     *rc::gen::inRange(0, 20) / 10.0);
  }
  if (*rc::gen::arbitrary<bool>()) world.SetMinAvgPfc(*rc::gen::inRange(0, 30) / 10.0);
  if (*rc::gen::arbitrary<bool>()) {
    world.AppScales().npfc_weight = kE;
    world.AppScales().npfc_mean = *rc::gen::inRange(0, 30) / 10.0;
  }
  return world;
}

HostRecord AnyHost() {
  HostRecord host;
  host.whetstone = *Number(1e9);
  host.dhrystone = *Number(1e9);
  host.cpus = *rc::gen::inRange<std::uint32_t>(0, 4);
  host.gpus = *rc::gen::inRange<std::uint32_t>(0, 2);
  return host;
}

bool IsCredit(double value) { return std::isfinite(value) && value >= 0; }

void CheckRecord(const HostRecord& host) {
  for (const HostVersion& row : host.versions) {
    for (const double value : {row.pfc.mean, row.et.mean, row.et.var, row.turnaround.mean, row.turnaround.var,
                               row.max_jobs_per_day, row.consecutive_valid}) {
      RC_ASSERT(IsCredit(value));
    }
    RC_ASSERT(row.error_rate >= 0);
    RC_ASSERT(row.error_rate <= 1);
  }
  for (const HostApp& row : host.apps) {
    RC_ASSERT(IsCredit(row.weight));
    RC_ASSERT(IsCredit(row.npfc_mean));
  }
}

RC_GTEST_PROP(PolicyPropertiesTest, AClaimIsValidCreditAndIsReproducedBitForBit, ()) {
  World world = AnyWorld();
  HostRecord host = AnyHost();
  const int jobs = *rc::gen::inRange(1, 30);
  for (int i = 0; i < jobs; ++i) {
    const Job job = AnyJob();
    if (*rc::gen::inRange(0, 8) == 0) world.Dispatch(job, host);
    if (*rc::gen::inRange(0, 8) == 0) {
      world.Fail(job, *rc::gen::element(Outcome::kClientError, Outcome::kTimeout, Outcome::kAbortedByUser),
                 host);
      continue;
    }
    const bool valid = *rc::gen::inRange(0, 8) != 0;
    const ClaimDecision decision =
        world.Validate(job, host, valid ? ValidateState::kValid : ValidateState::kInvalid);
    RC_ASSERT(decision.has_claim == valid);
    CheckRecord(host);
    if (!valid) continue;
    RC_ASSERT(IsCredit(decision.claim.claimed));
    RC_ASSERT(SamePriceAgain(world.policy, decision.claim, world.Rules()));
    RC_ASSERT(IsCredit(world.Settle({decision.claim}).credit));
    if (!decision.has_sample) continue;
    world.Tick({decision.sample});
    for (const auto& [id, version] : world.scales.versions) {
      RC_ASSERT(IsCredit(version.pfc.mean));
      RC_ASSERT(IsCredit(version.scale));
      RC_ASSERT(IsCredit(version.expavg_credit));
    }
    RC_ASSERT(IsCredit(world.AppScales().min_avg_pfc));
    RC_ASSERT(IsCredit(world.AppScales().npfc_mean));
  }
}

RC_GTEST_PROP(PolicyPropertiesTest, TheSameEventsInTheSameOrderGiveTheSameRecord, ()) {
  World world = AnyWorld();
  HostRecord first = AnyHost();
  HostRecord second = first;
  for (int i = 0; i < 10; ++i) {
    const Job job = AnyJob();
    const CompletionFacts completion = world.Completion(job);
    const ValidationFacts validation = world.Validation(job, completion, ValidateState::kValid);
    const Claim a = world.policy.OnValidation(completion, validation, world.Force(), first).claim;
    const Claim b = world.policy.OnValidation(completion, validation, world.Force(), second).claim;
    RC_ASSERT(std::bit_cast<std::uint64_t>(a.claimed) == std::bit_cast<std::uint64_t>(b.claimed));
    RC_ASSERT(a.flags == b.flags);
  }
  RC_ASSERT(first.versions.size() == second.versions.size());
  for (std::size_t i = 0; i < first.versions.size(); ++i) {
    RC_ASSERT(first.versions[i].pfc == second.versions[i].pfc);
    RC_ASSERT(first.versions[i].et == second.versions[i].et);
    RC_ASSERT(first.versions[i].error_rate == second.versions[i].error_rate);
  }
}

std::vector<Claim> AnyClaims() {
  std::vector<Claim> claims(*rc::gen::inRange<std::size_t>(1, 8));
  for (std::size_t i = 0; i < claims.size(); ++i) {
    Claim& claim = claims[i];
    claim.result = ResultId(i + 1);
    claim.awaited = static_cast<std::uint32_t>(claims.size());
    claim.flags = kClaimValid;
    claim.fpops_est = kE;
    claim.epoch = 3;
    claim.claimed = *rc::gen::inRange(0, 1'000'000) / 7.0;
    if (*rc::gen::inRange(0, 5) == 0) claim.flags |= kClaimOnProbation;
    if (*rc::gen::inRange(0, 5) == 0) claim.flags |= kClaimAnonymous;
  }
  return claims;
}

RC_GTEST_PROP(PolicyPropertiesTest, AGrantLiesBetweenTheClaimsThatCountAndIgnoresTheirOrder, ()) {
  const Kind kind = *rc::gen::elementOf(Kinds());
  if (kind.kind == PolicyKind::kAssigned) return;  // there the canonical result alone decides
  World world(*kind.policy, kind.kind);
  world.Rules().replication =
      *rc::gen::element(Replication::kAverage, Replication::kMin, Replication::kMedian);
  std::vector<Claim> claims = AnyClaims();
  const double cap = *rc::gen::element(0.0, 70'000.0);
  const std::uint32_t left_out =
      kind.kind == PolicyKind::kCreditNew && claims.size() > 1 ? kClaimAnonymous | kClaimOnProbation : 0;
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  bool lowered = false;  // robust: no host vouches for the others
  for (Claim& claim : claims) {
    claim.reliability = *rc::gen::element(1.0, 0.95, 0.87, 0.77, 0.33);
    lowered = lowered || claim.reliability < 0.9;
    if ((claim.flags & left_out) != 0 || (cap > 0 && claim.claimed > cap)) continue;
    least = std::min(least, claim.claimed);
    most = std::max(most, claim.claimed);
  }
  const double credit = world.Settle(claims, cap).credit;
  if (least <= most) {
    RC_ASSERT(lowered || credit >= least);
    RC_ASSERT(credit <= most);
  }
  if (cap > 0) RC_ASSERT(credit <= cap);

  for (std::size_t i = claims.size(); i > 1; --i) {
    std::swap(claims[i - 1], claims[*rc::gen::inRange<std::size_t>(0, i)]);
  }
  RC_ASSERT(std::bit_cast<std::uint64_t>(world.Settle(claims, cap).credit) ==
            std::bit_cast<std::uint64_t>(credit));
}

RC_GTEST_PROP(PolicyPropertiesTest, OnProbationNoClaimExceedsTheVersionScaledPeakFlopCount, ()) {
  World world(CreditNewPolicy(), PolicyKind::kCreditNew);
  world.App().host_scale_check = true;
  const double scale = *rc::gen::inRange(1, 30) / 10.0;
  world.SetVersion(kCpuVersion, 500, *rc::gen::inRange(1, 100) / 10.0, scale);
  HostRecord host;
  world.Row(host).pfc = {100, *rc::gen::inRange(1, 100) / 10.0};
  Job job;
  job.validated = kSeconds + *rc::gen::inRange(0, 300'000);
  const Claim claim = world.ClaimOf(job, host);
  RC_ASSERT(Has(claim, kClaimOnProbation));
  RC_ASSERT(claim.pfc <= kE * scale);
}

}  // namespace
}  // namespace cobblestone::credit
