#include "common/credit/policies/simple_policies.h"

#include <algorithm>
#include <cmath>

#include "common/credit/model/flops.h"
#include "common/credit/policies/replicas.h"
#include "common/credit/policies/standard_policy.h"

namespace cobblestone::credit {
namespace {

bool IsAmount(double value) { return std::isfinite(value) && value >= 0; }

void SetNoClaim(Claim& claim) {
  claim.mode = Mode::kNone;
  claim.flags |= kClaimNoClaim;
  claim.pfc = 0;
  claim.claimed = 0;
}

void FillBenchmark(const ValidatedJob& job, Claim& claim) {
  const HostRecord& host = job.host;
  const bool mean = job.app.policy.constants.benchmark == Benchmark::kMean;
  claim.benchmark = mean ? (host.whetstone + host.dhrystone) / 2 : host.whetstone;
  claim.host_pfc_n = host.cpus;
}

// FLOPs of the first system, without a multiplier; sets kClaimPfcClamped if a limit was applied.
double BenchmarkFlops(const Constants& constants, Claim& claim) {
  double speed = claim.benchmark;
  if (constants.max_peak_flops_cpu > 0 && speed > constants.max_peak_flops_cpu)
    speed = constants.max_peak_flops_cpu;
  double seconds = claim.cpu_time;
  if (claim.sent_time > 0 && claim.received_time > 0 && claim.host_pfc_n > 0) {
    const double most = std::max(0.0, claim.received_time - claim.sent_time) * claim.host_pfc_n;
    if (seconds > most) seconds = most;
  }
  if (speed < claim.benchmark || seconds < claim.cpu_time) claim.flags |= kClaimPfcClamped;
  return seconds * speed;
}

void PriceBenchmark(const Constants& constants, Claim& claim) {
  if (!(claim.benchmark > 0)) {
    SetNoClaim(claim);
    return;
  }
  claim.mode = Mode::kBenchmark;
  claim.pfc = BenchmarkFlops(constants, claim) * constants.multiplier;
  FinishClaim(constants, claim);
}

class BenchmarkCredit final : public StandardPolicy {
 public:
  void Price(Claim& claim, const Constants& constants) const override {
    claim.flags &= ~(kClaimPfcClamped | kClaimNoClaim);
    PriceBenchmark(constants, claim);
  }

 protected:
  void FillInputs(const ValidatedJob& job, Claim& claim) const override { FillBenchmark(job, claim); }
};

class ReportedFlops final : public StandardPolicy {
 public:
  void Price(Claim& claim, const Constants& constants) const override {
    claim.flags &= ~(kClaimPfcClamped | kClaimNoClaim);
    if ((claim.flags & kClaimReported) == 0) {
      PriceBenchmark(constants, claim);
      return;
    }
    double flops = claim.reported;
    if (flops > claim.fpops_bound) {
      flops = claim.fpops_bound;
      claim.flags |= kClaimPfcClamped;
    }
    claim.mode = Mode::kReportedFlops;
    claim.pfc = flops * constants.multiplier;
    FinishClaim(constants, claim);
  }

 protected:
  void FillInputs(const ValidatedJob& job, Claim& claim) const override {
    FillBenchmark(job, claim);
    const std::optional<double>& reported = job.completion.reported_flops;
    // A count that is not a valid amount is ignored.
    if (!reported.has_value() || !IsAmount(*reported)) return;
    claim.reported = *reported;
    claim.flags |= kClaimReported;
  }
};

class AssignedCredit final : public StandardPolicy {
 public:
  void Price(Claim& claim, const Constants& constants) const override {
    // kClaimNoClaim is not cleared: the flag is an input. It shows that no amount was named, which 0
    // Cobblestones would not show.
    claim.flags &= ~kClaimPfcClamped;
    claim.pfc = 0;
    claim.claimed = 0;
    claim.mode = Mode::kNone;
    if ((claim.flags & kClaimNoClaim) != 0) return;

    double limit = constants.max_credit_per_job > 0 ? constants.max_credit_per_job : HUGE_VAL;
    if ((claim.flags & kClaimReported) != 0 && constants.reported_credit_limit > 0) {
      Claim by_benchmark = claim;  // a copy: its clamp flag must not mark this claim
      const double flops = BenchmarkFlops(constants, by_benchmark) * constants.reported_credit_limit;
      const double allowed = CreditOfFlops(flops, constants);
      // A host without a valid benchmark cannot show that it did any work.
      limit = std::min(limit, IsAmount(allowed) ? allowed : 0.0);
    }
    claim.mode = Mode::kAssigned;
    claim.claimed = claim.reported;
    if (claim.claimed > limit) {
      claim.claimed = limit;
      claim.flags |= kClaimPfcClamped;
    }
  }

  Settlement Settle(std::span<const Claim> claims, double cap, const Constants& constants) const override {
    const Claim* named = nullptr;
    bool differ = false;
    for (const Claim& claim : claims) {
      if ((claim.flags & kClaimValid) == 0 || (claim.flags & (kClaimReported | kClaimNoClaim)) != 0) continue;
      if (named != nullptr && claim.claimed != named->claimed) differ = true;
      if (named == nullptr || claim.result == claim.canonical_result) named = &claim;
    }
    const bool decided = named != nullptr && (!differ || named->result == named->canonical_result);
    if (!decided) return SettleReplicas(claims, cap, constants.replication);

    Settlement settlement;
    for (const Claim& claim : claims) settlement.modes.push_back(claim.mode);
    settlement.credit = Capped(named->claimed, cap);
    return settlement;
  }

 protected:
  void FillInputs(const ValidatedJob& job, Claim& claim) const override {
    FillBenchmark(job, claim);
    const std::optional<double>& assigned = job.validation.assigned_credit;
    const std::optional<double>& reported = job.completion.reported_credit;
    if (assigned.has_value() && IsAmount(*assigned)) {
      claim.reported = *assigned;
    } else if (reported.has_value() && IsAmount(*reported)) {
      claim.reported = *reported;
      claim.flags |= kClaimReported;
    } else {
      claim.flags |= kClaimNoClaim;
    }
  }
};

class NoCredit final : public StandardPolicy {
 public:
  void Price(Claim& claim, const Constants&) const override { SetNoClaim(claim); }

 protected:
  void FillInputs(const ValidatedJob&, Claim&) const override {}
};

}  // namespace

const Policy& BenchmarkPolicy() {
  static const BenchmarkCredit policy;
  return policy;
}

const Policy& ReportedFlopsPolicy() {
  static const ReportedFlops policy;
  return policy;
}

const Policy& AssignedPolicy() {
  static const AssignedCredit policy;
  return policy;
}

const Policy& NonePolicy() {
  static const NoCredit policy;
  return policy;
}

double FittedMultiplier(std::span<const JobClaims> jobs) {
  double first = 0;
  double second = 0;
  for (const JobClaims& job : jobs) {
    first += job.first;
    second += job.second;
  }
  const double multiplier = first / second;
  return second > 0 && IsAmount(multiplier) ? multiplier : 1;
}

}  // namespace cobblestone::credit
