// A small project for tests of policies: one app, a few versions, one scale table, and hosts that the tests
// create. Numbers for mental arithmetic: E = 8.64e12 FLOPs, devices of 1 GFLOP/s. A job of 8640 s then has PFC =
// E, ratio 1, and 8.64e12 x 200 / 86400e9 = 20 Cobblestones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/credit/model/catalogue.h"
#include "common/credit/policies/policy.h"
#include "common/credit/scales/scales.h"
#include "common/credit/scales/scales_creditnew.h"

namespace cobblestone::credit {

inline constexpr double kE = 8.64e12;            // FLOPs
inline constexpr double kGflops = 1e9;           // FLOP/s
inline constexpr double kSeconds = 8640;         // elapsed time at which PFC = E
inline constexpr double kFull = 20;              // Cobblestones of PFC = E
inline constexpr double kStart = 1'700'000'000;  // UNIX s
inline constexpr double kDelayBound = 100'000;   // s

inline constexpr std::int64_t kCpuVersion = 11;
inline constexpr std::int64_t kSecondCpuVersion = 12;
inline constexpr std::int64_t kGpuVersion = 21;
inline constexpr std::int64_t kSecondGpuVersion = 22;

// One job, as the host and the validator report it. Times are relative to kStart.
struct Job {
  std::int64_t version = kCpuVersion;
  double elapsed = kSeconds;
  double cpu_time = kSeconds;
  double peak_flops = kGflops;
  double fpops_est = kE;
  double fpops_bound = 1000 * kE;
  double sent = 0;
  double received = kSeconds + 100;
  double validated = kSeconds + 200;
  double devices = 0;
  double cpus_used = 0;
  double gpus_used = 0;
  double cpu_speed = 0;  // FLOP/s of one CPU; 0: unknown
  double gpu_speed = 0;
  std::uint64_t workunit = 0;  // 0: a new workunit
  std::uint32_t awaited = 1;
  bool late = false;
  bool outlier = false;
  bool unreplicated = false;
  std::uint64_t canonical = 0;
  std::optional<double> reported_flops = std::nullopt;
  std::optional<double> reported_credit = std::nullopt;
  std::optional<double> assigned = std::nullopt;
};

class World {
 public:
  explicit World(const Policy& p, PolicyKind kind) : policy(p) {
    AppRow row;
    row.id = app;
    row.policy = {kind, 3, DefaultConstants(kind)};
    row.delay_bound = kDelayBound;
    catalogue.apps[app.value] = row;
    AddVersion(kCpuVersion, 1, "", 1);
    AddVersion(kSecondCpuVersion, 2, "", 1);
    AddVersion(kGpuVersion, 1, "cuda", 1);
    AddVersion(kSecondGpuVersion, 1, "ati", 1);
    scales.epoch = 7;
  }

  void AddVersion(std::int64_t id, std::uint64_t platform, const std::string& plan_class,
                  std::uint32_t number) {
    AppVersionRow row;
    row.id = static_cast<std::uint64_t>(id);
    row.app = app;
    row.platform = platform;
    row.plan_class = plan_class;
    row.version_num = number;
    catalogue.versions[row.id] = row;
  }
  void RemoveVersion(std::int64_t id) { catalogue.versions.erase(static_cast<std::uint64_t>(id)); }

  AppRow& App() { return catalogue.apps[app.value]; }
  Constants& Rules() { return App().policy.constants; }
  VersionScale& Version(std::int64_t id) { return scales.versions[static_cast<std::uint64_t>(id)]; }
  AppScale& AppScales() { return scales.apps[app.value]; }
  [[nodiscard]] InForce Force() const { return {project, catalogue, scales}; }

  void SetVersion(std::int64_t id, double n, double mean, double scale) {
    Version(id).pfc = {n, mean};
    Version(id).scale = scale;
  }
  void SetMinAvgPfc(double value) {
    AppScales().defined = true;
    AppScales().min_avg_pfc = value;
  }

  // The host's row of a version. A missing row is created with its initial values.
  HostVersion& Row(HostRecord& host, std::int64_t version = kCpuVersion) {
    for (HostVersion& row : host.versions) {
      if (row.version == AppVersionId(version)) return row;
    }
    HostVersion row;
    row.app = app;
    row.version = AppVersionId(version);
    row.error_rate = Rules().error_rate_initial;
    host.versions.push_back(row);
    return host.versions.back();
  }
  // A trusted host: `n` samples with mean `mean`, not on probation.
  HostRecord Trusted(double n, double mean, std::int64_t version = kCpuVersion) {
    HostRecord host;
    HostVersion& row = Row(host, version);
    row.pfc = {n, mean};
    row.scale_probation = false;
    return host;
  }

  CompletionFacts Completion(const Job& job, Outcome outcome = Outcome::kSuccess) {
    CompletionFacts c;
    c.result = ResultId(++last_result);
    c.host = HostId(5);
    c.workunit = WorkunitId(job.workunit == 0 ? last_result : job.workunit);
    c.app = app;
    c.version = AppVersionId(job.version);
    c.outcome = outcome;
    c.event_time = kStart + job.received;
    c.elapsed_time = job.elapsed;
    c.cpu_time = job.cpu_time;
    c.peak_flops = job.peak_flops;
    c.sent_time = kStart + job.sent;
    c.received_time = kStart + job.received;
    c.devices = job.devices;
    c.cpus_used = job.cpus_used;
    c.gpus_used = job.gpus_used;
    if (job.cpu_speed > 0)
      c.rated[static_cast<std::size_t>(Resource::kCpu)] = {job.cpus_used, job.cpus_used * job.cpu_speed};
    if (job.gpu_speed > 0)
      c.rated[static_cast<std::size_t>(Resource::kAmd)] = {job.gpus_used, job.gpus_used * job.gpu_speed};
    c.reported_flops = job.reported_flops;
    c.reported_credit = job.reported_credit;
    return c;
  }

  ValidationFacts Validation(const Job& job, const CompletionFacts& c, ValidateState state) const {
    ValidationFacts v;
    v.id = 1000 + c.result.value;
    v.now = kStart + job.validated;
    v.result = c.result;
    v.host = c.host;
    v.workunit = c.workunit;
    v.app = app;
    v.fpops_est = job.fpops_est;
    v.fpops_bound = job.fpops_bound;
    v.state = state;
    v.pass = 1;
    v.claims = job.awaited;
    v.late = job.late;
    v.runtime_outlier = job.outlier;
    v.unreplicated = job.unreplicated;
    v.canonical_result = ResultId(job.canonical);
    v.assigned_credit = job.assigned;
    return v;
  }

  ClaimDecision Validate(const Job& job, HostRecord& host, ValidateState state = ValidateState::kValid) {
    const CompletionFacts c = Completion(job);
    return policy.OnValidation(c, Validation(job, c, state), Force(), host);
  }
  Claim ClaimOf(const Job& job, HostRecord& host) { return Validate(job, host).claim; }

  // An attempt that fails at `received`, without a result to validate.
  void Fail(const Job& job, Outcome outcome, HostRecord& host) {
    policy.OnFailure(Completion(job, outcome), Force(), host);
  }
  void Dispatch(const Job& job, HostRecord& host) {
    CompletionFacts dispatch = Completion(job, Outcome::kUnknown);
    dispatch.event_time = dispatch.sent_time;
    policy.OnDispatch(dispatch, Force(), host);
  }

  // One tick over `samples`, published as the next epoch.
  void Tick(const std::vector<Sample>& samples) {
    coordinator.table = scales;
    ApplyTickCreditNew(kStart, app, samples, catalogue, coordinator);
    coordinator.table.epoch += 1;
    scales = coordinator.table;
  }

  [[nodiscard]] Settlement Settle(const std::vector<Claim>& claims, double cap = 0) {
    return policy.Settle(claims, cap, Rules());
  }

  const Policy& policy;
  ProjectId project{1};
  AppId app{1};
  Catalogue catalogue;
  ScaleTable scales;
  ScaleState coordinator;
  std::uint64_t last_result = 0;
};

[[nodiscard]] inline bool Has(const Claim& claim, ClaimFlag flag) { return (claim.flags & flag) != 0; }
[[nodiscard]] inline bool Has(const Sample& sample, SampleFlag flag) { return (sample.flags & flag) != 0; }

// Computes the price from the recorded inputs of a claim, like an audit, and returns whether every bit of the
// outcome is the same.
[[nodiscard]] inline bool SamePriceAgain(const Policy& policy, const Claim& claim,
                                         const Constants& constants) {
  Claim again = claim;
  again.mode = Mode::kNone;
  again.pfc = -1;
  again.claimed = -1;
  policy.Price(again, constants);
  return again.mode == claim.mode && again.pfc == claim.pfc && again.claimed == claim.claimed &&
         again.flags == claim.flags;
}

}  // namespace cobblestone::credit
