// Events as values: schemas/events.proto without protobuf. The fields correspond to the schema, which defines
// units and meaning. Kinds that occur once per result have their structs in common/credit (CompletionFacts,
// ValidationFacts).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/accounts/account.h"
#include "common/credit/model/catalogue.h"
#include "common/credit/model/constants.h"
#include "common/credit/model/model.h"
#include "common/stream/watermark.h"
#include "common/wire/events/account_kind.h"
#include "common/wire/events/feeds.h"
#include "common/wire/events/profiles.h"

namespace cobblestone::wire {

// Frozen numbers: the fields of Envelope.event.
enum class EventKind : std::uint8_t {
  kNone = 0,  // an envelope without an event, or with an unknown kind
  kCompletion = 4,
  kValidation = 5,
  kDispatch = 6,
  kTrickle = 7,
  kHost = 20,
  kUser = 21,
  kTeam = 22,
  kHostMerge = 23,
  kAccountFacts = 24,
  kHostAsked = 25,
  kHeldResult = 26,
  kHandedEvent = 27,
  kDecidedResult = 28,
  kApp = 30,
  kAppVersion = 31,
  kSettings = 32,
  kValidatorRestart = 33,
  kTick = 34,
  kPlanClassFactor = 35,
  kBarrier = 36,
  kWatermark = 37,
  kProjectProfile = 38,
  kProjectName = 39,
  kOpeningTotal = 40,
  kOpeningHostVersion = 41,
  kOpeningAppVersion = 42,
  kOpeningApp = 43,
  kReversal = 50,
  kRepricing = 51,
  kEstimatedCredit = 52,
  kMachineHost = 53,
  kJobReversal = 54,
  kJobRepricing = 55,
  kFeedProject = 60,
  kFeedEdition = 61,
  kFeedVersions = 62,
  kFeedHealth = 63,
  kFeedAccount = 64,
  kOwnershipProof = 65,
  kIdentityDecision = 66,
};

// The field's name in the schema ("completion", "opening_total"); "none" for kNone and unknown numbers.
std::string_view EventKindName(EventKind kind);

// Only the pipeline creates these kinds: ingest refuses them.
constexpr bool IsOurOwn(EventKind kind) {
  return kind == EventKind::kWatermark ||
         (kind >= EventKind::kHostAsked && kind <= EventKind::kDecidedResult);
}

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

// facts.devices, cpus_used and gpus_used are sums over `usage`, computed when an event is decoded. Encoders
// write `usage` and ignore the sums.
struct Completion {
  credit::CompletionFacts facts;
  std::vector<DeviceUsage> usage;
};

// In `facts` a dispatch sets result, host, workunit, app, version, peak_flops, sent_time, delay_bound and the
// devices.
struct Dispatch {
  credit::CompletionFacts facts;
  std::vector<DeviceUsage> usage;
  double fpops_est = 0;
  double fpops_bound = 0;
  std::string result_name;
};

struct TrickleElement {
  std::string name;
  std::string text;

  friend bool operator==(const TrickleElement&, const TrickleElement&) = default;
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
  std::string result_name;
  std::optional<std::uint64_t> phase;
  std::vector<TrickleElement> others;

  friend bool operator==(const Trickle&, const Trickle&) = default;
};

// Host, user and team events may be partial: `present` lists the fields in the event. A default-constructed event
// has all fields.
struct HostMember {
  static constexpr FieldMask kUser = FieldBit(2);
  static constexpr FieldMask kCrossProjectId = FieldBit(3);
  static constexpr FieldMask kWhetstone = FieldBit(4);
  static constexpr FieldMask kDhrystone = FieldBit(5);
  static constexpr FieldMask kCpus = FieldBit(6);
  static constexpr FieldMask kGpus = FieldBit(7);
  static constexpr FieldMask kCreateTime = FieldBit(9);
  static constexpr FieldMask kName = FieldBit(10);
  static constexpr FieldMask kAllFields = FieldsTo(10) & ~(FieldBit(1) | FieldBit(8));

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
  std::optional<HostProfile> profile;
  FieldMask present = kAllFields;

  // The fields that the event sets: a deletion clears all.
  [[nodiscard]] FieldMask Sets() const { return deleted ? kAllFields : present; }

  friend bool operator==(const HostMember&, const HostMember&) = default;
};

struct HostMerge {
  HostId host;
  HostId into;

  friend bool operator==(const HostMerge&, const HostMerge&) = default;
};

// Sent before a merge into `host`: does `host` belong to `user`, the owner of the host that ends?
struct HostAsked {
  HostId host;
  UserId user;

  friend bool operator==(const HostAsked&, const HostAsked&) = default;
};

// A result was sent to `holder`, which was merged into `host`: events about the result that name `host`
// belong to the holder.
struct HeldResult {
  HostId host;
  ResultId result;
  HostId holder;
  std::string result_name;  // empty: unknown
  double until = 0;         // UNIX s: valid until then; 0: not decided
  bool sent = false;        // its dispatch is known
  std::vector<HostId> by;   // hosts between `holder` and `host`, in order of their merges
  std::uint64_t after = 0;  // lockstep: number of watermarks passed before the event was sent

  friend bool operator==(const HeldResult&, const HeldResult&) = default;
};

// An event about a result of `host` that named another host, into which `host` was merged.
struct HandedEvent {
  HostId host;
  HostId named;
  std::uint64_t after = 0;  // lockstep: number of watermarks passed before the event was handed over
  std::string event;        // an Envelope with `host` in place of `named`
  std::uint32_t hops = 0;   // number of partitions that have handed the event on before

  friend bool operator==(const HandedEvent&, const HandedEvent&) = default;
};

// A result of `host` that was decided under another host's number before its host was known.
struct DecidedResult {
  HostId host;
  ResultId result;
  HostId named;
  std::uint64_t after = 0;  // as in HandedEvent

  friend bool operator==(const DecidedResult&, const DecidedResult&) = default;
};

struct UserMember {
  static constexpr FieldMask kTeam = FieldBit(2);
  static constexpr FieldMask kCrossProjectId = FieldBit(3);
  static constexpr FieldMask kCreateTime = FieldBit(6);
  static constexpr FieldMask kName = FieldBit(7);
  static constexpr FieldMask kCountry = FieldBit(8);
  static constexpr FieldMask kAllFields = kTeam | kCrossProjectId | kCreateTime | kName | kCountry;

  UserId user;
  TeamId team;
  std::string cross_project_id;
  bool deleted = false;
  double create_time = 0;
  std::string name;
  std::string country;
  std::optional<UserProfile> profile;
  FieldMask present = kAllFields;

  [[nodiscard]] FieldMask Sets() const { return deleted ? kAllFields : present; }

  friend bool operator==(const UserMember&, const UserMember&) = default;
};

struct TeamMember {
  static constexpr FieldMask kName = FieldBit(2);
  static constexpr FieldMask kCreateTime = FieldBit(4);
  static constexpr FieldMask kCountry = FieldBit(5);
  static constexpr FieldMask kAllFields = kName | kCreateTime | kCountry;

  TeamId team;
  std::string name;
  bool deleted = false;
  double create_time = 0;
  std::string country;
  std::optional<TeamProfile> profile;
  FieldMask present = kAllFields;

  [[nodiscard]] FieldMask Sets() const { return deleted ? kAllFields : present; }

  friend bool operator==(const TeamMember&, const TeamMember&) = default;
};

// Constants that a policy version sets; absent: DefaultConstants of the policy. Names as in
// credit::Constants.
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
  std::optional<double> budget_factor;
  std::optional<double> failure_weight;
  std::optional<double> failure_allowance;

  friend bool operator==(const ConstantChanges&, const ConstantChanges&) = default;
};

// A rule as in the event: kinds by name; omitted parts have default values.
struct TrickleRuleChange {
  std::string variety;
  std::string kind;
  std::string measure;
  bool incremental = false;
  double max_increment = 0;
  std::vector<credit::TricklePhase> phases;
  std::optional<double> model_factor;
  std::optional<double> multiplier;
  double min_step_seconds = 0;
  double median_speed = 0;
  double speed_limit = 0;
  double credit_per_day = 0;
  double max_credit = 0;

  friend bool operator==(const TrickleRuleChange&, const TrickleRuleChange&) = default;
};

struct AppChange {
  AppId app;
  std::string name;
  std::string policy;  // empty: the app keeps its policy; a new app gets creditnew
  std::uint32_t policy_version = 0;
  std::optional<ConstantChanges> constants;
  std::uint32_t target_nresults = 0;
  std::optional<double> min_avg_pfc;
  bool host_scale_check = false;
  double delay_bound = 0;
  double result_window = 0;
  bool deleted = false;
  std::vector<TrickleRuleChange> trickles;
  std::string trickle_settlement;

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

// Upper limits on the accepted size of a machine. Absent: unchanged.
struct EstimateLimitChanges {
  std::optional<double> cpus;
  std::optional<double> cpu_flops;  // of one CPU, FLOP/s
  std::optional<double> gpus;
  std::optional<double> gpu_flops;   // of one GPU, FLOP/s
  std::optional<double> saved_time;  // s

  friend bool operator==(const EstimateLimitChanges&, const EstimateLimitChanges&) = default;
};

// Absent: unchanged.
struct SettingsChange {
  std::optional<double> max_granted_credit;
  std::optional<double> daily_result_quota;
  std::optional<double> scale_period;
  EstimateLimitChanges estimates;

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

using stream::Watermark;

struct PlanClassFactor {
  std::string plan_class;
  double factor = 0;
  std::string provenance;

  friend bool operator==(const PlanClassFactor&, const PlanClassFactor&) = default;
};

struct OpeningTotal {
  AccountKind kind = AccountKind::kUnknown;
  std::uint64_t account = 0;
  std::optional<std::int64_t> total_micro;  // takes precedence over `total`
  std::optional<double> total;
  double rac = 0;
  double rac_time = 0;
  std::optional<OpeningFigures> figures;

  friend bool operator==(const OpeningTotal&, const OpeningTotal&) = default;
};

// Any subset; each part in the event replaces the earlier part.
struct AccountFacts {
  AccountKind kind = AccountKind::kUnknown;
  std::uint64_t account = 0;
  std::optional<std::vector<BadgeHeld>> badges;
  std::optional<std::vector<AppCredit>> credit;
  std::optional<std::uint32_t> consent;  // number of rows of consent (schemas/events.proto, Consent.copies)
  std::optional<Tombstone> tombstone;

  friend bool operator==(const AccountFacts&, const AccountFacts&) = default;
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

struct OpeningApp {
  AppId app;
  std::optional<double> min_avg_pfc;

  friend bool operator==(const OpeningApp&, const OpeningApp&) = default;
};

// The sum of the ledger's records for one result and one owner.
struct LedgerEntry {
  UserId user;  // 0: the host had no owner
  HostId host;
  TeamId team;  // the team that received the postings
  WorkunitId workunit;
  AppId app;
  AppVersionId app_version;
  credit::MicroCredit credit_micro = 0;
  double recent = 0;           // the part in recent averages, Cobblestones per day, as of recent_time
  double recent_time = 0;      // UNIX s
  bool counted = false;        // counted among the granted results
  std::uint64_t previous = 0;  // event id of the previous correction; 0: none

  friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;
};

struct Reversal {
  ResultId result;
  std::string reason;
  std::optional<LedgerEntry> entry;

  friend bool operator==(const Reversal&, const Reversal&) = default;
};

// Data of a reinstated result that the validator had judged invalid.
struct JudgedInvalid {
  double team_time = 0;  // UNIX s: the credit goes to the user's team at this time
  // Result whose grant is the amount; 0: the amount of its own claim, or an amount that the operator named.
  ResultId like_result;

  friend bool operator==(const JudgedInvalid&, const JudgedInvalid&) = default;
};

struct Repricing {
  std::uint32_t policy_version = 0;
  ResultId result;
  std::string reason;
  std::optional<LedgerEntry> entry;
  credit::MicroCredit credit_micro = 0;  // the owner's credit for the result after the repricing
  std::optional<JudgedInvalid> judged_invalid{};

  friend bool operator==(const Repricing&, const Repricing&) = default;
};

// Reverses the payments of a running job, up to a sum.
struct JobReversal {
  HostId host;
  ResultId result;
  std::string reason;
  std::optional<LedgerEntry> entry;  // the amount that the owner still has
  // Sum that the job's trickles have paid to the owner, as far as posted to this team.
  credit::MicroCredit paid_micro = 0;
  std::uint32_t repriced = 0;  // number of repricings of the job before

  friend bool operator==(const JobReversal&, const JobReversal&) = default;
};

// One owner's credit from a running job that was posted to one team.
struct RepricedShare {
  std::optional<LedgerEntry> entry;  // the amount that the owner still has
  credit::MicroCredit paid_micro = 0;
  credit::MicroCredit taken_micro = 0;           // the part of it that operators reversed
  credit::MicroCredit repriced_paid_micro = 0;   // `paid_micro` at the new price
  credit::MicroCredit repriced_taken_micro = 0;  // `taken_micro` at the new price

  friend bool operator==(const RepricedShare&, const RepricedShare&) = default;
};

// A running job gets the price that this policy version would have given it at dispatch.
struct JobRepricing {
  HostId host;
  ResultId result;
  std::string reason;
  std::uint32_t policy_version = 0;
  std::vector<RepricedShare> shares;  // everything that the job has paid

  friend bool operator==(const JobRepricing&, const JobRepricing&) = default;
};

// All values are cumulative.
struct ResourceCounter {
  credit::Resource resource = credit::Resource::kUnknown;
  double credit = 0;       // Cobblestones
  double run_time = 0;     // s; including failed jobs
  std::uint64_t jobs = 0;  // ended jobs, including failed jobs
  std::uint64_t failed_jobs = 0;
  double failed_run_time = 0;  // s

  friend bool operator==(const ResourceCounter&, const ResourceCounter&) = default;
};

// Maps an account manager's machine to a host of the event's project.
struct MachineHost {
  std::uint64_t machine = 0;  // the manager's number, the same for every project
  HostId host;
  UserId user;        // 0: no owner
  bool gone = false;  // the machine is no longer this host

  friend bool operator==(const MachineHost&, const MachineHost&) = default;
};

struct EstimatedCredit {
  HostId host;
  std::vector<ResourceCounter> counters;
  std::uint64_t machine = 0;
  // The machine's own description.
  double cpus = 0;
  double cpu_flops = 0;  // of one CPU, FLOP/s
  double gpus = 0;
  double gpu_flops = 0;  // of one GPU, FLOP/s

  friend bool operator==(const EstimatedCredit&, const EstimatedCredit&) = default;
};

// New name of the project; an empty text leaves the old one.
struct ProjectName {
  std::string name;
  std::string url;

  friend bool operator==(const ProjectName&, const ProjectName&) = default;
};

// One of the kinds above.
using EventBodyVariant =
    std::variant<std::monostate, Completion, credit::ValidationFacts, Dispatch, Trickle, HostMember,
                 UserMember, TeamMember, HostMerge, AccountFacts, AppChange, AppVersionChange, SettingsChange,
                 ValidatorRestart, Tick, PlanClassFactor, Barrier, Watermark, ProjectProfile, OpeningTotal,
                 OpeningHostVersion, OpeningAppVersion, OpeningApp, Reversal, Repricing, EstimatedCredit,
                 MachineHost, ProjectName, HostAsked, JobReversal, JobRepricing, HeldResult, HandedEvent,
                 DecidedResult, FeedProject, FeedEdition, FeedVersions, FeedHealth, FeedAccount,
                 OwnershipProof, IdentityDecision>;

// The variant, with copying, moving and destruction out of line: they have a case for each kind, and every file that
// used them would compile all cases.
struct EventBody : EventBodyVariant {
  using EventBodyVariant::EventBodyVariant;
  using EventBodyVariant::operator=;

  EventBody() noexcept;
  EventBody(const EventBody&);
  EventBody(EventBody&&) noexcept;
  EventBody& operator=(const EventBody&);
  EventBody& operator=(EventBody&&) noexcept;
  ~EventBody();
};

// Invariant after decoding: facts.event_time of a completion or dispatch is head.time; id and now of a
// validation are head.id and head.time; a watermark's project is head.project. Encoders write the head and
// ignore these copies.
struct Event {
  EventHead head;
  EventBody body;

  [[nodiscard]] EventKind kind() const;
};

}  // namespace cobblestone::wire
