// What a project tells, as values: schemas/events.proto without protobuf. Field by field that of the schema,
// which gives units and meaning. What comes once per result has its struct in common/credit (CompletionFacts,
// ValidationFacts).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/catalogue.h"
#include "common/credit/constants.h"
#include "common/credit/model.h"
#include "common/stream/mark.h"

namespace cobblestone::wire {

// Frozen numbers: the fields of Envelope.event.
enum class EventKind : std::uint8_t {
  kNone = 0,  // an envelope without an event, or with one of a kind that this build does not know
  kCompletion = 4,
  kValidation = 5,
  kDispatch = 6,
  kTrickle = 7,
  kHost = 20,
  kUser = 21,
  kTeam = 22,
  kHostMerge = 23,
  kApp = 30,
  kAppVersion = 31,
  kSettings = 32,
  kValidatorRestart = 33,
  kTick = 34,
  kPlanClassFactor = 35,
  kBarrier = 36,
  kMark = 37,
  kOpeningTotal = 40,
  kOpeningHostVersion = 41,
  kOpeningAppVersion = 42,
  kReversal = 50,
  kRepricing = 51,
  kEstimatedCredit = 52,
};

// The field's name in the schema ("completion", "opening_total"); "none" for kNone and for other numbers.
std::string_view EventKindName(EventKind kind);

struct EventHead {
  std::uint64_t id = 0;
  ProjectId project;
  double time = 0;  // UNIX s

  friend bool operator==(const EventHead&, const EventHead&) = default;
};

struct DeviceUsage {
  credit::Resource resource = credit::Resource::kUnknown;
  double count = 0;
  double peak_flops = 0;

  friend bool operator==(const DeviceUsage&, const DeviceUsage&) = default;
};

// facts.devices, cpus_used and gpus_used are sums over `usage`, made when an event is decoded. An encoder
// writes `usage` and does not look at the sums.
struct Completion {
  credit::CompletionFacts facts;
  std::vector<DeviceUsage> usage;
};

// Of `facts` a dispatch has result, host, workunit, app, version, peak_flops, sent_time, delay_bound and the
// devices.
struct Dispatch {
  credit::CompletionFacts facts;
  std::vector<DeviceUsage> usage;
};

struct Trickle {
  ResultId result;
  HostId host;
  AppId app;
  std::string variety;
  std::optional<std::uint64_t> sequence;
  std::optional<double> elapsed_time;
  std::optional<double> cpu_time;
  std::optional<double> fraction_done;
  std::optional<double> steps;
  std::optional<double> runtime_increment;

  friend bool operator==(const Trickle&, const Trickle&) = default;
};

struct HostMember {
  HostId host;
  UserId user;
  std::string cross_project_id;
  double whetstone = 0;
  double dhrystone = 0;
  std::uint32_t cpus = 0;
  std::uint32_t gpus = 0;
  bool deleted = false;
  double create_time = 0;
  std::string name;

  friend bool operator==(const HostMember&, const HostMember&) = default;
};

struct HostMerge {
  HostId host;
  HostId into;

  friend bool operator==(const HostMerge&, const HostMerge&) = default;
};

struct UserMember {
  UserId user;
  TeamId team;
  std::string cross_project_id;
  bool statistics_consent = false;
  bool deleted = false;
  double create_time = 0;
  std::string name;
  std::string country;

  friend bool operator==(const UserMember&, const UserMember&) = default;
};

struct TeamMember {
  TeamId team;
  std::string name;
  bool deleted = false;
  double create_time = 0;
  std::string country;

  friend bool operator==(const TeamMember&, const TeamMember&) = default;
};

// What a policy version sets itself; absent: DefaultConstants of the policy. Names as in credit::Constants.
struct ConstantChanges {
  std::optional<double> cobblestones_per_gflops_day;
  std::optional<double> host_average_samples;
  std::optional<double> host_average_weight;
  std::optional<double> version_average_samples;
  std::optional<double> version_average_weight;
  std::optional<double> average_sample_limit;
  std::optional<double> host_scale_min_samples;
  std::optional<double> host_scale_limit;
  std::optional<double> one_time_cheat_factor;
  std::optional<double> error_rate_initial;
  std::optional<double> error_rate_keep;
  std::optional<double> error_rate_add;
  std::optional<double> multiplier;
  std::optional<std::string> replication;  // average, min, median
  std::optional<std::string> benchmark;    // whetstone, mean
  std::optional<double> max_peak_flops_cpu;
  std::optional<double> max_peak_flops_gpu;
  std::optional<double> max_devices;
  std::optional<double> claim_limit;
  std::optional<double> max_credit_per_job;
  std::optional<bool> version_median;
  std::optional<double> gpu_only_factor;
  std::optional<double> reported_credit_limit;

  friend bool operator==(const ConstantChanges&, const ConstantChanges&) = default;
};

struct AppChange {
  AppId app;
  std::string name;
  std::string policy;  // empty: the app keeps its policy; a new one gets creditnew
  std::uint32_t policy_version = 0;
  std::optional<ConstantChanges> constants;
  std::uint32_t target_nresults = 0;
  std::optional<double> min_avg_pfc;
  bool host_scale_check = false;
  double delay_bound = 0;
  double result_window = 0;
  bool deleted = false;

  friend bool operator==(const AppChange&, const AppChange&) = default;
};

struct AppVersionChange {
  credit::AppVersionRow row;

  friend bool operator==(const AppVersionChange& a, const AppVersionChange& b) {
    return a.row.id == b.row.id && a.row.app == b.row.app && a.row.version_num == b.row.version_num &&
           a.row.platform == b.row.platform && a.row.plan_class == b.row.plan_class &&
           a.row.resource == b.row.resource && a.row.deprecated == b.row.deprecated &&
           a.row.deleted == b.row.deleted;
  }
};

// Absent: stays as it was.
struct SettingsChange {
  std::optional<double> max_granted_credit;
  std::optional<double> daily_result_quota;
  std::optional<double> scale_period;

  friend bool operator==(const SettingsChange&, const SettingsChange&) = default;
};

struct ValidatorRestart {
  friend bool operator==(const ValidatorRestart&, const ValidatorRestart&) = default;
};

struct Tick {
  double time = 0;

  friend bool operator==(const Tick&, const Tick&) = default;
};

struct Barrier {
  bool ends_period = false;

  friend bool operator==(const Barrier&, const Barrier&) = default;
};

using stream::Mark;

struct PlanClassFactor {
  std::string plan_class;
  double factor = 0;
  std::string provenance;

  friend bool operator==(const PlanClassFactor&, const PlanClassFactor&) = default;
};

// Frozen numbers.
enum class AccountKind : std::uint8_t { kUnknown = 0, kHost = 1, kUser = 2, kTeam = 3 };

struct OpeningTotal {
  AccountKind kind = AccountKind::kUnknown;
  std::uint64_t account = 0;
  std::optional<std::int64_t> total_micro;  // goes before `total` where both are there
  std::optional<double> total;
  double rac = 0;
  double rac_time = 0;

  friend bool operator==(const OpeningTotal&, const OpeningTotal&) = default;
};

struct OpeningHostVersion {
  HostId host;
  AppId app;
  AppVersionId version;
  credit::Average pfc;
  credit::AverageVar et;
  credit::AverageVar turnaround;
  double consecutive_valid = 0;
  double max_jobs_per_day = 0;
  std::optional<double> error_rate;

  friend bool operator==(const OpeningHostVersion&, const OpeningHostVersion&) = default;
};

struct OpeningAppVersion {
  std::uint64_t app_version = 0;
  credit::Average pfc;
  double pfc_scale = 0;
  double expavg_credit = 0;
  double expavg_time = 0;

  friend bool operator==(const OpeningAppVersion&, const OpeningAppVersion&) = default;
};

enum class TargetKind : std::uint8_t { kNone = 0, kResult, kHost, kWorkunit, kAppVersion };

struct Target {
  TargetKind kind = TargetKind::kNone;
  std::uint64_t id = 0;

  friend bool operator==(const Target&, const Target&) = default;
};

struct Reversal {
  Target target;
  std::string reason;

  friend bool operator==(const Reversal&, const Reversal&) = default;
};

struct Repricing {
  std::uint32_t policy_version = 0;
  Target target;
  std::string reason;

  friend bool operator==(const Repricing&, const Repricing&) = default;
};

struct ResourceCounter {
  credit::Resource resource = credit::Resource::kUnknown;
  double credit = 0;
  double run_time = 0;

  friend bool operator==(const ResourceCounter&, const ResourceCounter&) = default;
};

struct EstimatedCredit {
  HostId host;
  std::vector<ResourceCounter> counters;

  friend bool operator==(const EstimatedCredit&, const EstimatedCredit&) = default;
};

using EventBody =
    std::variant<std::monostate, Completion, credit::ValidationFacts, Dispatch, Trickle, HostMember,
                 UserMember, TeamMember, HostMerge, AppChange, AppVersionChange, SettingsChange,
                 ValidatorRestart, Tick, PlanClassFactor, Barrier, Mark, OpeningTotal, OpeningHostVersion,
                 OpeningAppVersion, Reversal, Repricing, EstimatedCredit>;

// Invariant after decoding: facts.event_time of a completion or dispatch is head.time; id and now of a
// validation are head.id and head.time; a mark's project is head.project. Encoders write the head and do not look at
// those.
struct Event {
  EventHead head;
  EventBody body;

  [[nodiscard]] EventKind kind() const;
};

}  // namespace cobblestone::wire
