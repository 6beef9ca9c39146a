#include "common/credit/policies/standard_policy.h"

#include <cmath>

#include "common/base/check.h"
#include "common/credit/policies/host_rows.h"
#include "common/credit/policies/reliability.h"
#include "common/credit/policies/replicas.h"

namespace cobblestone::credit {
namespace {

double DelayBound(const CompletionFacts& completion, const AppRow& app) {
  return completion.delay_bound > 0 ? completion.delay_bound : app.delay_bound;
}

// An error may name only the version; its app is then the version's app.
const AppRow* AppOf(const CompletionFacts& completion, const Catalogue& catalogue) {
  if (completion.app) return catalogue.FindApp(completion.app);
  const AppVersionRow* version = catalogue.FindVersion(completion.version);
  return version == nullptr ? nullptr : catalogue.FindApp(version->app);
}

Claim FactsOf(const ValidatedJob& job) {
  const CompletionFacts& completion = job.completion;
  const ValidationFacts& validation = job.validation;
  Claim claim;
  claim.project = job.in_force.project;
  claim.result = completion.result;
  claim.workunit = validation.workunit;
  claim.host = completion.host;
  claim.user = job.host.user;
  claim.app = validation.app;
  claim.version = completion.version;
  claim.time = validation.now;
  claim.validation_id = validation.id;
  claim.line = validation.line;
  claim.flags = kClaimValid;
  if (validation.late) claim.flags |= kClaimLate;
  if (validation.runtime_outlier) claim.flags |= kClaimOutlier;
  if (job.host.deleted) claim.flags |= kClaimHostDeleted;
  if (validation.unreplicated) claim.flags |= kClaimUnreplicated;
  if (job.app.host_scale_check) claim.flags |= kClaimHostScaleCheck;
  // A version that has left the catalogue is as unknown as an anonymous version.
  if (job.in_force.catalogue.FindVersion(completion.version) == nullptr) claim.flags |= kClaimAnonymous;
  claim.pass = validation.pass;
  claim.awaited = validation.claims;
  claim.canonical_result = validation.canonical_result;
  claim.elapsed_time = completion.elapsed_time;
  claim.cpu_time = completion.cpu_time;
  claim.peak_flops = completion.peak_flops;
  claim.fpops_est = validation.fpops_est;
  claim.fpops_bound = validation.fpops_bound;
  claim.sent_time = completion.sent_time;
  claim.received_time = completion.received_time;
  claim.delay_bound = DelayBound(completion, job.app);
  claim.policy = job.app.policy.kind;
  claim.policy_version = job.app.policy.version;
  claim.epoch = job.in_force.scales.epoch;
  claim.consecutive_valid = job.row.consecutive_valid;
  return claim;
}

Sample SampleOf(const Claim& claim, const Measure& measure, bool counted) {
  Sample sample;
  sample.time = claim.time;
  sample.validation_id = claim.validation_id;
  sample.result = claim.result;
  sample.app = claim.app;
  sample.version = claim.version;
  sample.line = claim.line;
  sample.host = claim.host;
  sample.weight = claim.fpops_est;
  const bool anonymous = (claim.flags & kClaimAnonymous) != 0;
  if (!anonymous) {
    sample.flags |= kSampleUse;
    if (counted && std::isfinite(measure.ratio)) {
      sample.flags |= kSamplePfc;
      sample.pfc = measure.ratio;
    }
  }
  if ((claim.flags & kClaimNoClaim) == 0) {
    sample.flags |= kSampleClaim;
    if (!anonymous) sample.flags |= kSampleCredit;
    sample.credit = claim.claimed;
    sample.credit_start = claim.sent_time > 0 ? claim.sent_time : claim.time - measure.elapsed;
  }
  return sample;
}

template <class AnyAverage>
void AddUnlessItOverflows(const AverageRule& rule, double sample, AnyAverage& average) {
  AnyAverage next = average;
  AddSample(rule, sample, next);
  if (IsFinite(next)) average = next;
}

void UpdateStatistics(const ValidatedJob& job, const Claim& claim, const Measure& measure,
                      bool with_anonymous) {
  const AverageRule rule = StandardHostRule(job.app.policy.constants);
  if (with_anonymous || (claim.flags & kClaimAnonymous) == 0)
    AddFiniteSample(rule, measure.ratio, job.row.pfc);
  AddFiniteSample(rule, measure.elapsed / claim.fpops_est, job.row.et);
  if (claim.sent_time > 0) AddFiniteSample(rule, claim.received_time - claim.sent_time, job.row.turnaround);
}

}  // namespace

AverageRule StandardHostRule(const Constants& constants) {
  AverageRule rule = HostAverageRule(constants, PolicyKind::kCreditNew);
  rule.samples += 1;
  return rule;
}

AverageRule StandardVersionRule(const Constants& constants) {
  AverageRule rule = VersionAverageRule(constants, PolicyKind::kCreditNew);
  rule.samples += 1;
  return rule;
}

void AddFiniteSample(const AverageRule& rule, double sample, Average& average) {
  AddUnlessItOverflows(rule, sample, average);
}

void AddFiniteSample(const AverageRule& rule, double sample, AverageVar& average) {
  AddUnlessItOverflows(rule, sample, average);
}

VersionInForce FindVersionInForce(const ScaleTable& scales, AppVersionId version) {
  if (version.value <= 0) return {};
  const auto it = scales.versions.find(static_cast<std::uint64_t>(version.value));
  if (it == scales.versions.end()) return {};
  const VersionScale& row = it->second;
  return row.cached ? VersionInForce{row.cached_pfc, row.cached_scale} : VersionInForce{row.pfc, row.scale};
}

void StandardPolicy::OnFailure(const CompletionFacts& attempt, const InForce& in_force,
                               HostRecord& host) const {
  const AppRow* app = AppOf(attempt, in_force.catalogue);
  if (app == nullptr || attempt.version.value == 0) return;
  Failure failure{};
  switch (attempt.outcome) {
    case Outcome::kClientError: failure = Failure::kCrash; break;
    case Outcome::kAbortedByUser: failure = Failure::kAborted; break;
    case Outcome::kTimeout: failure = Failure::kTimeout; break;
    case Outcome::kAbortedByProject:
      if (attempt.cancelled || !DoubtsCancellation()) return;
      failure = Failure::kAborted;
      break;
    case Outcome::kUnknown:
    case Outcome::kSuccess: return;
  }
  HostVersion& row = HostVersionFor(host, *app, attempt.version, in_force.catalogue);
  const Attempt failed{
      in_force, *app, host, row, attempt.event_time, attempt.sent_time, DelayBound(attempt, *app)};
  // Probation relies on the sent time of a completion if the project sends no dispatch events.
  if (attempt.sent_time > 0) Sent(failed);
  const bool gpu = IsGpuVersion(attempt.version, in_force.catalogue);
  NoteFailure(failure, FullQuota(in_force.catalogue.settings, host, gpu), app->policy.constants, row);
  Failed(failed);
}

void StandardPolicy::OnDispatch(const CompletionFacts& dispatch, const InForce& in_force,
                                HostRecord& host) const {
  const AppRow* app = AppOf(dispatch, in_force.catalogue);
  if (app == nullptr || dispatch.version.value == 0) return;
  HostVersion& row = HostVersionFor(host, *app, dispatch.version, in_force.catalogue);
  const double sent_time = dispatch.sent_time > 0 ? dispatch.sent_time : dispatch.event_time;
  CountJob(sent_time, row);
  Sent({in_force, *app, host, row, sent_time, sent_time, DelayBound(dispatch, *app)});
}

std::optional<HostVersion> StandardPolicy::NextRecord(const HostRecord& host, AppId app, AppVersionId version,
                                                      const Catalogue& catalogue) const {
  if (const HostVersion* row = FindHostVersion(host, app, version)) return *row;
  const HostVersion* older = PredecessorOf(host, version, catalogue);
  if (older == nullptr) return std::nullopt;
  HostVersion row = *older;
  row.version = version;
  return row;
}

ClaimDecision StandardPolicy::OnValidation(const CompletionFacts& completion,
                                           const ValidationFacts& validation, const InForce& in_force,
                                           HostRecord& host) const {
  const AppRow* app = in_force.catalogue.FindApp(validation.app);
  COBBLESTONE_CHECK(app != nullptr, "the app chose this policy, so the catalogue has it");
  COBBLESTONE_CHECK(validation.state == ValidateState::kValid || validation.state == ValidateState::kInvalid,
                    "an undecided result is not priced");
  const ValidatedJob job{completion,
                         validation,
                         in_force,
                         *app,
                         host,
                         HostVersionFor(host, *app, completion.version, in_force.catalogue),
                         IsGpuVersion(completion.version, in_force.catalogue)};
  const Constants& constants = app->policy.constants;
  const Attempt attempt{in_force,
                        *app,
                        host,
                        job.row,
                        validation.now,
                        completion.sent_time,
                        DelayBound(completion, *app),
                        validation.state == ValidateState::kInvalid};
  if (completion.sent_time > 0) Sent(attempt);
  NoteSuccess(FullQuota(in_force.catalogue.settings, host, job.gpu), job.row);
  if (validation.state == ValidateState::kInvalid) {
    NoteInvalid(constants, job.row);
    Failed(attempt);
    return {};
  }

  ClaimDecision decision;
  decision.has_claim = true;
  Claim& claim = decision.claim;
  claim = FactsOf(job);
  FillInputs(job, claim);
  Price(claim, constants);
  if ((claim.flags & kClaimSanityFailed) != 0 && InsaneClaimChangesNothing()) return decision;

  const Measure measure = MeasureOf(claim, StatisticsPeakFlops(job, claim));
  const bool counted = measure.sane && !validation.runtime_outlier && IsMeasurement(claim);
  decision.has_sample = true;
  decision.sample = SampleOf(claim, measure, counted);
  if (counted) UpdateStatistics(job, claim, measure, AveragesAnonymous());
  NoteValid(!validation.unreplicated, constants, job.row);
  Learn(job, claim, measure, counted, decision.sample);
  return decision;
}

double StandardPolicy::StatisticsPeakFlops(const ValidatedJob& job, const Claim&) const {
  return LimitedPeakFlops(job.completion, job.gpu, job.app.policy.constants);
}

Settlement StandardPolicy::Settle(std::span<const Claim> claims, double cap,
                                  const Constants& constants) const {
  return SettleReplicas(claims, cap, constants.replication);
}

}  // namespace cobblestone::credit
