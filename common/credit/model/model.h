// The values of the domain: jobs, averages, a host's record, claims, samples, settlements. Plain structs; the
// same in every policy. No behaviour.
//
// Fields(): the only list of a struct's state fields, in the order in which they are stored. A state codec
// (common/stream/state_codec.h) uses the list; a field that is not in the list is not state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"

namespace cobblestone::credit {

// Frozen numbers: stored in claims and grants.
enum class PolicyKind : std::uint8_t {
  kNone = 0,
  kBoinc = 1,
  kCreditNew = 2,
  kCreditNewV2 = 3,
  kBenchmark = 4,
  kReportedFlops = 5,
  kRuntime = 6,
  kAssigned = 7,
  kRobust = 8,
};

// Frozen numbers, defined in schemas/internal.proto, Mode.
enum class Mode : std::uint8_t {
  kNormal = 0,
  kApproximate = 1,
  kWorkunitEstimate = 2,
  kCapped = 3,
  kNone = 4,
  kBenchmark = 5,
  kReportedFlops = 6,
  kRuntime = 7,
  kAssigned = 8,
  kDefaultPfc = 9,
  kProbation = 10,
};

enum class Resource : std::uint8_t {
  kUnknown = 0,
  kCpu = 1,
  kNvidia = 2,
  kAmd = 3,
  kIntelGpu = 4,
  kAppleGpu = 5
};
inline constexpr std::size_t kResources = 6;

enum class Outcome : std::uint8_t {
  kUnknown = 0,
  kSuccess = 1,
  kClientError = 2,
  kAbortedByUser = 3,
  kAbortedByProject = 4,
  kTimeout = 5,
};

enum class ValidateState : std::uint8_t { kUnknown = 0, kValid = 1, kInvalid = 2, kInconclusive = 3 };

// Running average. n is a double, as in BOINC (S000, 'Computing averages').
struct Average {
  double n = 0;
  double mean = 0;

  friend bool operator==(const Average&, const Average&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.n, s.mean);
  }
};

struct AverageVar {
  double n = 0;
  double mean = 0;
  double var = 0;
  double q = 0;

  friend bool operator==(const AverageVar&, const AverageVar&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.n, s.mean, s.var, s.q);
  }
};

// The record of one (host, app version); S000 'Database changes', BOINC's host_app_version.
struct HostVersion {
  AppId app;
  AppVersionId version;   // as in a completion: > 0, or anonymous -2 to -6 (then kept per app)
  Average pfc;            // PFC/E
  AverageVar et;          // elapsed s per estimated FLOP
  AverageVar turnaround;  // s
  double consecutive_valid = 0;
  double max_jobs_per_day = 0;
  double error_rate = 0;
  double host_scale_time = 0;  // UNIX s: earliest time of host scaling
  bool scale_probation = true;
  double jobs_today = 0;
  std::int64_t day = 0;  // UNIX day of jobs_today

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.app, s.version, s.pfc, s.et, s.turnaround, s.consecutive_valid, s.max_jobs_per_day, s.error_rate,
      s.host_scale_time, s.scale_probation, s.jobs_today, s.day);
  }
};

// The record of one (host, app) over all versions (creditnew-v2, robust).
struct HostApp {
  AppId app;
  double weight = 0;     // creditnew-v2: sum of E, FLOPs
  double npfc_mean = 0;  // creditnew-v2: mean of NPFC/E, weighted by E
  double error_rate = 0;
  double expected = 0;          // robust: sum of the results' default claims, FLOPs
  double claimed = 0;           // robust: sum of their claims, FLOPs
  double replicated_valid = 0;  // robust: replicated valid results since the last invalid one
  double rising = 0;            // robust: score of results above the host's average (policies/robust.h)

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.app, s.weight, s.npfc_mean, s.error_rate, s.expected, s.claimed, s.replicated_valid, s.rising);
  }
};

// boinc, item 16: all results of one host and version in one pass over a workunit start from the row before
// the pass.
struct RowBefore {
  WorkunitId workunit;
  std::uint32_t pass = 0;
  HostVersion row;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.workunit, s.pass, s.row);
  }
};

// The record of one host in CLAIMS.
struct HostRecord {
  bool known = false;    // a member event has named the host
  bool deleted = false;  // the host was deleted
  UserId user;
  double whetstone = 0;  // FLOP/s of one CPU
  double dhrystone = 0;  // operations/s of one CPU
  std::uint32_t cpus = 0;
  std::uint32_t gpus = 0;
  double avg_turnaround = 0;  // s (boinc, item 20)
  std::vector<HostVersion> versions;
  std::vector<HostApp> apps;
  std::vector<RowBefore> rows_before;  // boinc only, at most one per version

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.known, s.deleted, s.user, s.whetstone, s.dhrystone, s.cpus, s.gpus, s.avg_turnaround, s.versions,
      s.apps, s.rows_before);
  }
};

// Devices of one kind, with a speed that the project has reported (DeviceUsage.peak_flops).
struct RatedDevices {
  double count = 0;
  double peak_flops = 0;  // FLOP/s, sum over the devices
};

// The facts of a completed result, from its completion event alone.
struct CompletionFacts {
  ResultId result;
  HostId host;
  WorkunitId workunit;
  AppId app;
  AppVersionId version;
  Outcome outcome = Outcome::kUnknown;
  double event_time = 0;
  double elapsed_time = 0;
  double cpu_time = 0;
  double peak_flops = 0;
  double sent_time = 0;
  double received_time = 0;
  double delay_bound = 0;  // 0: the app's delay bound
  double devices = 0;      // sum of usage over devices; 0 unknown
  double cpus_used = 0;
  double gpus_used = 0;
  std::array<RatedDevices, kResources> rated{};  // by Resource; part of the counts above
  std::optional<double> reported_flops;
  std::optional<double> reported_credit;
  bool cancelled = false;  // the project had cancelled the job before it ended
};

// The validator's decision about one result.
struct ValidationFacts {
  std::uint64_t id = 0;  // event id
  double now = 0;        // event time
  ResultId result;
  HostId host;
  WorkunitId workunit;
  AppId app;
  double fpops_est = 0;
  double fpops_bound = 0;
  ValidateState state = ValidateState::kUnknown;
  std::uint32_t pass = 0;
  std::uint32_t claims = 0;
  bool late = false;
  bool runtime_outlier = false;
  bool unreplicated = false;
  bool check_failed = false;
  ResultId canonical_result;
  std::optional<double> assigned_credit;
  std::uint64_t line = 0;  // input line that completed the pair of completion and validation
};

// The treatment of partial grants (trickles) that exceed the final worth of the result. Frozen numbers.
enum class TrickleSettlement : std::uint8_t {
  kKeep = 0,    // credit for work done stays
  kSettle = 1,  // a reversal removes the excess
  kCap = 2,     // as kSettle, and the shown total stays until future credit has made up for the excess
};

// Partial grants of one result to one user.
struct PaidPartial {
  UserId user;
  std::int64_t micro = 0;
  // The share of these partial grants in the user's recent average, less reversals, Cobblestones per day at
  // `recent_time`; the share decays as the average does.
  double recent = 0;
  double recent_time = 0;     // UNIX s; of the newest partial grant
  std::int64_t reversed = 0;  // the part of `micro` that operators reversed while the job ran

  [[nodiscard]] std::int64_t kept() const { return micro - reversed; }

  friend bool operator==(const PaidPartial&, const PaidPartial&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.user, s.micro, s.recent, s.recent_time, s.reversed);
  }
};

enum ClaimFlag : std::uint32_t {
  kClaimValid = 1u << 0,
  kClaimInvalid = 1u << 1,
  kClaimLate = 1u << 2,     // priced for statistics only; awarded as the workunit's other results
  kClaimExpired = 1u << 3,  // empty: the result gets no price; completes the workunit's set of claims
  kClaimOutlier = 1u << 4,
  kClaimHostDeleted = 1u << 5,  // counts for the other replicas, gets nothing
  kClaimAnonymous = 1u << 6,
  kClaimOnProbation = 1u << 7,  // not counted in the mean of creditnew
  kClaimPfcClamped = 1u << 8,   // a limit applied: peak FLOP/s, devices, T, benchmark or amount
  kClaimOneTimeCheat = 1u << 9,
  kClaimSanityFailed = 1u << 10,  // PFC infinite, NaN or above the bound
  kClaimHasVersionScale = 1u << 11,
  kClaimHasHostScale = 1u << 12,
  kClaimHostScaleCheck = 1u << 13,  // the app's cherry-picking check was on
  kClaimMinAvgDefined = 1u << 14,
  kClaimUnreplicated = 1u << 15,
  kClaimNoClaim = 1u << 16,    // no claim could be formed (mode none); the result is still valid
  kClaimReported = 1u << 17,   // `reported` comes from the app, not from the project
  kClaimNoHostRow = 1u << 18,  // boinc: no row of (host, app version) exists or can be created
  // Not a claim: trickle payments of a result that was decided under another number of its host, without these
  // payments.
  kClaimPaidBefore = 1u << 19,
  kClaimUncalibrated = 1u << 20,  // robust: no average of the host in the app has enough samples to price its jobs
  kClaimOverBudget = 1u << 21,    // robust: limited by the budget of the host and app
  kClaimRising = 1u << 22,        // robust: the host's reports keep rising: watch this host
  kClaimRough = 1u << 23,         // robust: the host's average has too few samples to judge other claims by
  kClaimUnreliable = 1u << 24,    // robust: the host returns too few of its jobs to raise what a job earns
};

// The claim of one result, with every input of its price: Policy::Price() computes the outcome from the other
// fields alone. The fields match schemas/internal.proto, Claim, which states the units.
struct Claim {
  ProjectId project;
  ResultId result;
  WorkunitId workunit;
  HostId host;
  UserId user;
  AppId app;
  AppVersionId version;
  double time = 0;
  std::uint64_t validation_id = 0;
  std::uint64_t line = 0;
  std::uint32_t flags = 0;
  std::uint32_t pass = 0;
  std::uint32_t awaited = 0;
  ResultId canonical_result;
  double elapsed_time = 0;
  double cpu_time = 0;
  double peak_flops = 0;
  double fpops_est = 0;
  double fpops_bound = 0;
  double sent_time = 0;
  double received_time = 0;
  double reported = 0;
  double benchmark = 0;
  PolicyKind policy = PolicyKind::kNone;
  std::uint32_t policy_version = 0;
  std::uint64_t epoch = 0;
  double version_pfc_n = 0;
  double version_pfc_mean = 0;
  double version_scale = 0;
  double min_avg_pfc = 0;
  double host_pfc_n = 0;
  double host_pfc_mean = 0;
  double consecutive_valid = 0;
  double host_scale_time = 0;
  Mode mode = Mode::kNone;
  double pfc = 0;
  double claimed = 0;
  double delay_bound = 0;
  double failure_rate = 0;
  double budget = 0;
  double reliability = 0;
  std::vector<PaidPartial> paid;  // partial grants, in the order of the first grant to each user
  TrickleSettlement settlement = TrickleSettlement::kKeep;
};

enum SampleFlag : std::uint32_t {
  kSamplePfc = 1u << 0,     // pfc counts for the version's average
  kSampleCredit = 1u << 1,  // credit counts for the version's recent average credit
  kSampleUse = 1u << 2,     // the version was looked up (boinc: the first use loads it into the validator)
  kSampleApp = 1u << 3,     // pfc counts for the app's average (creditnew-v2), weighted
  kSampleClaim = 1u << 4,   // credit counts for mean and variance of the app's claims
};

enum GrantFlag : std::uint32_t {
  kGrantLate = 1u << 0,  // for a late result (awarded as the workunit's other results) or a late trickle
  kGrantBoincAverage = 1u << 2,  // the recent average follows BOINC exactly (golden README, item 23)
  kGrantTeamAtGrant = 1u << 1,   // credit goes to the user's present team, not to the team at the report
  kGrantSettles =
      1u << 3,  // partial grants become final, or credit is reversed; settles_micro and recent_off count
  kGrantOwed = 1u << 4,  // future credit makes up for the reversed amount (TrickleSettlement::kCap)
  // An operator's reversal or repricing: the credit is no work for the recent averages, which change by
  // `recent_off` only.
  kGrantCorrects = 1u << 5,
  kGrantUncounts = 1u << 6,  // the result no longer counts as granted
  // A repricing that reinstates a result: restores the amount that was reversed, or pays the credit that the
  // result would have received.
  kGrantReinstates = 1u << 7,
  kGrantRecounts = 1u << 8,  // the result counts (again) as granted
  // With kGrantReinstates: the validator had judged the result invalid, so the result has had no grant.
  kGrantJudgedInvalid = 1u << 9,
  // robust: the workunit has other claims, which may tell whether the host's claims are too high (policies/robust.h).
  kGrantCompared = 1u << 10,
};

// Samples are sorted by (time, validation_id, result) and, within one result, by host and the remaining fields
// (docs/rules.md, section 7).
struct Sample {
  double time = 0;
  std::uint64_t validation_id = 0;
  ResultId result;
  AppId app;
  AppVersionId version;
  std::uint32_t flags = 0;
  double pfc = 0;
  double credit = 0;
  double credit_start = 0;
  double weight = 0;
  std::uint64_t line = 0;
  HostId host;  // 0: unknown, not in the median over hosts

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.time, s.validation_id, s.result, s.app, s.version, s.flags, s.pfc, s.credit, s.credit_start, s.weight,
      s.line, s.host);
  }
};

struct ClaimDecision {
  bool has_claim = false;
  bool has_sample = false;
  Claim claim;
  Sample sample;
};

// The award of a workunit's results.
struct Settlement {
  double credit = 0;        // Cobblestones, before rounding
  std::vector<Mode> modes;  // per claim, as counted (kCapped: left out)
};

}  // namespace cobblestone::credit
