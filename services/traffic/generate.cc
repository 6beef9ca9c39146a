#include "services/traffic/generate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

#include "common/base/check.h"
#include "common/base/exp.h"
#include "common/credit/policies/policy.h"
#include "common/wire/events/event_codec.h"

namespace cobblestone::traffic {
namespace {

constexpr std::uint32_t kMaxReplication = 16;
constexpr double kGpuShareOfVersions = 0.375;
constexpr double kGpuHostRunsGpu = 0.7;  // the rest of its results are for its CPUs
constexpr double kCheatFactor = 30;
constexpr double kBoundFactor = 100;  // bound / E: an honest PFC is 1 to 20 times E
constexpr std::uint64_t kUnknownApp = 999'999;
constexpr std::uint64_t kBadResults = std::uint64_t{1} << 40;  // results of bad lines only

// Several values are drawn for one number; the salt distinguishes them. Frozen: the salts
// determine the traffic.
enum Salt : std::uint32_t {
  kDelay = 1,
  kDecide,
  kEarly,
  kFirstHost,
  kOtherHost,
  kAppSalt,
  kFail,
  kFailDelay,
  kFailHost,
  kHostVersionSalt,
  kResultVersion,
  kHostSpeed,
  kEfficiency,
  kElapsed,
  kCpu,
  kTurnaround,
  kInvalidSalt,
  kTwice,
  kLateSalt,
  kLateDelay,
  kLateDecide,
  kCheat,
  kLostSalt,
  kRepeatSalt,
  kRepeatDelay,
  kConflictSalt,
  kConflictDelay,
  kBadSalt,
  kBadKind,
  kGpuHostSalt,
  kGpuRun,
  kAnonymousSalt,
  kOwnerless,
  kOwner,
  kUserTeam,
  kChangeUser,
  kChangeTeam,
  kCpus,
  kNoBenchmark,
  kReported,
  kLookAgain,
  kArrive,
  kOutcome,
  kGpuSpeed,
  kAssignedSalt,
  kNameless,
  kMovingHost,
  kNewOwner
};

// Places of a plan after the replicas: the copies that failed first (place +
// kMaxReplication), and the late result.
constexpr std::uint32_t kLatePlace = 2 * kMaxReplication;
constexpr std::uint32_t kPlaces = 2 * kMaxReplication + 1;

std::string Number(double v) { return std::to_string(v); }

Status BadOption(const std::string& name, const std::string& value, const std::string& allowed) {
  return Status::InvalidArgument(name + " is " + value + "; it must be " + allowed);
}

std::uint64_t ResultOf(std::uint64_t workunit, std::uint32_t place) { return 1 + workunit * kPlaces + place; }

double WholeSeconds(double time) { return std::floor(time); }

}  // namespace

Status CheckGenerateOptions(const GenerateOptions& options) {
  struct Share {
    const char* name;
    double value;
  };
  const Share shares[] = {{"gpu_hosts", options.gpu_hosts},
                          {"anonymous_hosts", options.anonymous_hosts},
                          {"ownerless_hosts", options.ownerless_hosts},
                          {"errors", options.errors},
                          {"timeouts", options.timeouts},
                          {"invalid", options.invalid},
                          {"inconclusive", options.inconclusive},
                          {"late", options.late},
                          {"cheats", options.cheats},
                          {"out_of_order", options.out_of_order},
                          {"duplicates", options.duplicates},
                          {"conflicts", options.conflicts},
                          {"lost", options.lost},
                          {"bad_lines", options.bad_lines},
                          {"bad_trickles", options.bad_trickles},
                          {"machines", options.machines},
                          {"bad_reports", options.bad_reports},
                          {"team_changes", options.team_changes},
                          {"owner_changes", options.owner_changes}};
  for (const Share& share : shares) {
    if (!(share.value >= 0 && share.value <= 1)) {
      return BadOption(share.name, Number(share.value), "a share, from 0 to 1");
    }
  }
  if (options.project == 0) return BadOption("project", "0", "at least 1");
  // Result numbers are workunit x places, and must stay below the numbers of bad lines.
  constexpr std::uint64_t kMaxResults = 10'000'000'000;
  if (options.results == 0 || options.results > kMaxResults) {
    return BadOption("results", std::to_string(options.results), "from 1 to 10^10");
  }
  constexpr std::uint64_t kMaxHosts = 100'000'000;
  if (options.hosts < 2 || options.hosts > kMaxHosts) {
    return BadOption("hosts", std::to_string(options.hosts), "from 2 to 10^8");
  }
  if (options.users > kMaxHosts) return BadOption("users", std::to_string(options.users), "at most 10^8");
  if (options.teams > kMaxHosts) return BadOption("teams", std::to_string(options.teams), "at most 10^8");
  if (options.apps == 0 || options.apps > 1000)
    return BadOption("apps", std::to_string(options.apps), "from 1 to 1000");
  if (options.versions == 0 || options.versions > 1000) {
    return BadOption("versions", std::to_string(options.versions), "from 1 to 1000");
  }
  if (options.replication == 0 || options.replication > kMaxReplication) {
    return BadOption("replication", std::to_string(options.replication), "from 1 to 16");
  }
  if (options.policies.empty()) return BadOption("policies", "empty", "at least one name of a policy");
  for (const std::string& policy : options.policies) {
    if (!credit::PolicyKindByName(policy)) {
      return BadOption(
          "policies", "'" + policy + "'",
          "of benchmark, reported-flops, creditnew-v2, creditnew, robust, boinc, runtime, assigned, none");
    }
  }
  if (options.trickles > 255) return BadOption("trickles", std::to_string(options.trickles), "at most 255");
  if (options.trickles > 0 && !options.dispatches)
    return BadOption("trickles", std::to_string(options.trickles), "0 where there are no dispatches");
  if (options.reports > kMaxReports)
    return BadOption("reports", std::to_string(options.reports), "at most 1000");
  if (!(options.start_time >= 1e8 && options.start_time <= 1e11)) {
    return BadOption("start_time", Number(options.start_time), "UNIX seconds from 1e8 to 1e11");
  }
  if (!(options.span > 0 && options.span <= 1e10)) {
    return BadOption("span", Number(options.span), "more than 0 and at most 1e10 seconds");
  }
  if (!(options.tick_period == 0 || (options.tick_period >= 1 && options.tick_period <= 1e8))) {
    return BadOption("tick_period", Number(options.tick_period), "0 or from 1 to 1e8 seconds");
  }
  for (const auto& [name, value] :
       {std::pair{"delay_bound", options.delay_bound}, std::pair{"result_window", options.result_window}}) {
    if (!(value >= 0 && value <= 1e10)) return BadOption(name, Number(value), "from 0 to 1e10 seconds");
  }
  return Status::Ok();
}

Generator::Generator(const GenerateOptions& options) : options_(options) {
  const Status good = CheckGenerateOptions(options);
  COBBLESTONE_CHECK(good.ok(), good.message());
  if (options_.users == 0) options_.users = std::max<std::uint64_t>(1, options_.hosts * 2 / 3);
  if (options_.teams == 0) options_.teams = std::max<std::uint64_t>(1, options_.users / 10);
  workunits_ = (options_.results + options_.replication - 1) / options_.replication;
  // Results in progress: half the number of hosts (at least 1000), but at most a quarter of all results (or 8),
  // so that short runs also have results that are decided early.
  window_ =
      std::min(std::max<std::uint64_t>(results() / 4, 8), std::max<std::uint64_t>(1000, options_.hosts / 2));
  soon_ = std::max<std::uint64_t>(2, window_ / 50);
  const std::uint64_t horizon = 4 * window_ + 6 * soon_ + 64;
  last_position_ = results() + horizon;
  const auto gpu_versions = static_cast<std::uint32_t>(options_.versions * kGpuShareOfVersions);
  cpu_versions_ = options_.versions - gpu_versions;
  team_changes_ = static_cast<std::uint64_t>(options_.team_changes * static_cast<double>(options_.users));
  owner_changes_ = static_cast<std::uint64_t>(options_.owner_changes * static_cast<double>(options_.hosts));
  if (options_.machines > 0) reports_ = options_.hosts * options_.reports;
  if (options_.tick_period > 0) {
    next_tick_ = (std::floor(options_.start_time / options_.tick_period) + 1) * options_.tick_period;
  }
  members_done_ = !options_.members;
  buckets_.resize(std::bit_ceil(horizon));
  plan_.slots.resize(options_.replication);
}

// ---- Chance --------------------------------------------------------------------------------------------

std::uint64_t Generator::Hash(std::uint64_t x, std::uint32_t salt) const {
  // splitmix64's finalizer over a sum with three odd multipliers.
  std::uint64_t z =
      options_.seed * 0x9E3779B97F4A7C15ull + x * 0xD1342543DE82EF95ull + salt * 0xF1357AEA2E62A9C5ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

std::uint64_t Generator::Below(std::uint64_t x, std::uint32_t salt, std::uint64_t bound) const {
  return Hash(x, salt) % bound;
}

double Generator::Unit(std::uint64_t x, std::uint32_t salt) const {
  return static_cast<double>(Hash(x, salt) >> 11) * 0x1p-53;
}

bool Generator::Chance(double share, std::uint64_t x, std::uint32_t salt) const {
  return share > 0 && Unit(x, salt) < share;
}

double Generator::TimeAt(std::uint64_t position) const {
  return options_.start_time +
         options_.span * (static_cast<double>(position) / static_cast<double>(last_position_));
}

// ---- Assignment of work --------------------------------------------------------------------------------

std::uint64_t Generator::AppOf(std::uint64_t workunit) const {
  return 1 + Below(workunit, kAppSalt, options_.apps);
}

const std::string& Generator::PolicyOf(std::uint64_t app) const {
  return options_.policies[(app - 1) % options_.policies.size()];
}

bool Generator::IsGpuHost(std::uint64_t host) const {
  return cpu_versions_ < options_.versions && Chance(options_.gpu_hosts, host, kGpuHostSalt);
}

std::uint32_t Generator::CpusOf(std::uint64_t host) const { return 1u << Below(host, kCpus, 5); }

// 1 to 4.5 GFLOPS.
double Generator::CpuFlopsOf(std::uint64_t host) const { return 1e9 * Exp(1.5 * Unit(host, kHostSpeed)); }

// 50 to 600 GFLOPS.
double Generator::GpuFlopsOf(std::uint64_t host) const { return 5e10 * Exp(2.5 * Unit(host, kGpuSpeed)); }

// `place`: the copy of the workunit's result. `back_at`: position at which the result returned or failed.
Generator::Run Generator::RunOf(std::uint64_t workunit, std::uint32_t place, std::uint64_t back_at) const {
  Run run;
  const std::uint64_t draw = workunit * kPlaces + place;
  run.result = ResultOf(workunit, place);
  run.app = AppOf(workunit);
  const std::uint64_t first = Below(workunit, kFirstHost, options_.hosts);
  const std::uint64_t host =
      place == 0 ? first : (first + 1 + Below(draw, kOtherHost, options_.hosts - 1)) % options_.hosts;
  run.host = 1 + host;

  const bool gpu = IsGpuHost(run.host) && Chance(kGpuHostRunsGpu, draw, kGpuRun);
  const std::uint32_t of_kind = gpu ? options_.versions - cpu_versions_ : cpu_versions_;
  // For each app, a host has a fixed version, and uses the next version for every second result on average.
  const auto number = static_cast<std::uint32_t>(
      (Below(run.host * 1000 + run.app, kHostVersionSalt, of_kind) + (Hash(draw, kResultVersion) & 1)) %
      of_kind);
  const std::uint32_t version = gpu ? cpu_versions_ + number : number;
  run.version = static_cast<std::int64_t>((run.app - 1) * options_.versions + version + 1);
  run.resource =
      !gpu ? credit::Resource::kCpu
           : static_cast<credit::Resource>(static_cast<int>(credit::Resource::kNvidia) + number % 3);
  if (Chance(options_.anonymous_hosts, run.host, kAnonymousSalt)) {
    run.version = gpu ? -static_cast<std::int64_t>(run.resource) - 1 : -2;
  }

  const double fpops_est = 1e13 * static_cast<double>(1 + workunit % 4);
  double efficiency = 0;
  if (gpu) {
    run.peak_flops = GpuFlopsOf(run.host);
    efficiency = 0.05 + 0.25 * Unit(run.host * 1000 + version, kEfficiency);
  } else {
    run.peak_flops = CpuFlopsOf(run.host);
    efficiency = 0.3 + 0.6 * Unit(run.host * 1000 + version, kEfficiency);
  }
  run.elapsed = fpops_est / (run.peak_flops * efficiency) * (0.9 + 0.2 * Unit(draw, kElapsed));
  run.cpu_time = run.elapsed * (gpu ? 0.05 + 0.25 * Unit(draw, kCpu) : 0.9 + 0.1 * Unit(draw, kCpu));
  if (Chance(options_.cheats, draw, kCheat)) run.elapsed *= kCheatFactor;
  run.received = WholeSeconds(TimeAt(back_at));
  run.sent = WholeSeconds(run.received - run.elapsed * (1 + 3 * Unit(draw, kTurnaround)) - 60);
  // The longer elapsed time of a cheat does not move the sent time beyond the delay bound.
  run.sent = std::max(run.sent, run.received - options_.delay_bound);
  return run;
}

// All positions of a workunit's events. Recomputed for each event, so that only a node is kept in memory.
void Generator::MakePlan(std::uint64_t workunit, Plan* plan) const {
  plan->workunit = workunit;
  plan->valid = 0;
  const std::uint64_t start = workunit * options_.replication;
  std::uint64_t last = 0;
  for (std::uint32_t i = 0; i < options_.replication; ++i) {
    const std::uint64_t draw = workunit * kPlaces + i;
    Slot& slot = plan->slots[i];
    const double fate = Unit(draw, kFail);
    slot.timed_out = fate < options_.timeouts;
    slot.fails = fate < options_.timeouts + options_.errors;
    slot.failed_at = start + i + Below(draw, kFailDelay, window_);
    slot.sent_at = slot.fails ? slot.failed_at + 1 : start + i;
    slot.back_at = slot.sent_at + Below(draw, kDelay, window_);
    slot.invalid = Chance(options_.invalid, draw, kInvalidSalt);
    slot.out_of_order = Chance(options_.out_of_order, draw, kEarly);
    plan->valid += slot.invalid ? 0 : 1;
    last = std::max(last, slot.back_at);
  }
  plan->first_look_at = last + 1 + Below(workunit, kDecide, soon_);
  plan->twice = Chance(options_.inconclusive, workunit, kTwice);
  plan->decided_at = plan->first_look_at + (plan->twice ? 1 + Below(workunit, kLookAgain, soon_) : 0);
  plan->has_late = plan->valid > 0 && Chance(options_.late, workunit, kLateSalt);
  plan->late_back_at = plan->decided_at + 1 + Below(workunit, kLateDelay, window_);
  plan->late_decided_at = plan->late_back_at + 1 + Below(workunit, kLateDecide, soon_);
}

void Generator::Launch(std::uint64_t workunit) {
  MakePlan(workunit, &plan_);
  const std::uint64_t start = workunit * options_.replication;
  for (std::uint32_t i = 0; i < options_.replication; ++i) {
    const Slot& slot = plan_.slots[i];
    const std::uint64_t draw = workunit * kPlaces + i;
    if (slot.fails) Put(slot.failed_at, workunit, i, What::kFailure);
    if (options_.dispatches)
      Put(slot.sent_at + DispatchDelay(ResultOf(workunit, i)), workunit, i, What::kDispatch);
    if (options_.trickles > 0) {
      const auto place = static_cast<std::uint8_t>(i);
      if (slot.fails) {
        Put(start + i, workunit, i, What::kFailedDispatch);
        PutTrickles(start + i, slot.failed_at, ResultOf(workunit, i + kMaxReplication),
                    {.workunit = workunit, .slot = place, .what = What::kFailedTrickle});
      }
      PutTrickles(slot.sent_at, slot.back_at, ResultOf(workunit, i),
                  {.workunit = workunit, .slot = place, .what = What::kTrickle});
    }
    const std::uint64_t arrives =
        slot.out_of_order ? plan_.decided_at + 1 + Below(draw, kArrive, soon_) : slot.back_at;
    Put(arrives, workunit, i, What::kCompletion);
    if (plan_.twice) Put(plan_.first_look_at, workunit, i, What::kFirstLook);
    Put(plan_.decided_at, workunit, i, What::kValidation);
  }
  if (!plan_.has_late) return;
  if (options_.dispatches) Put(plan_.decided_at, workunit, 0, What::kLateDispatch);
  if (options_.trickles > 0)
    PutTrickles(plan_.decided_at, plan_.late_back_at, ResultOf(workunit, kLatePlace),
                {.workunit = workunit, .slot = 0, .what = What::kLateTrickle});
  Put(plan_.late_back_at, workunit, 0, What::kLateCompletion);
  Put(plan_.late_decided_at, workunit, 0, What::kLateValidation);
}

void Generator::Put(std::uint64_t position, std::uint64_t workunit, std::uint32_t slot, What what) {
  const std::uint64_t draw = (workunit * kPlaces + slot) * 16 + static_cast<std::uint64_t>(what);
  if (Chance(options_.lost, draw, kLostSalt)) return;
  PutNode(position, {.workunit = workunit, .slot = static_cast<std::uint8_t>(slot), .what = what});
  const bool repeats = what == What::kCompletion || what == What::kValidation ||
                       what == What::kLateCompletion || what == What::kLateValidation ||
                       what == What::kFailure;
  if (!repeats) return;
  if (Chance(options_.duplicates, draw, kRepeatSalt)) {
    PutNode(
        position + 1 + Below(draw, kRepeatDelay, window_),
        {.workunit = workunit, .slot = static_cast<std::uint8_t>(slot), .what = what, .copy = Copy::kRepeat});
  }
  if (Chance(options_.conflicts, draw, kConflictSalt)) {
    PutNode(position + 1 + Below(draw, kConflictDelay, window_), {.workunit = workunit,
                                                                  .slot = static_cast<std::uint8_t>(slot),
                                                                  .what = what,
                                                                  .copy = Copy::kConflict});
  }
}

void Generator::PutNode(std::uint64_t position, const Node& node) {
  COBBLESTONE_CHECK(position - position_ < buckets_.size(), "an event beyond the horizon");
  std::uint32_t at = free_;
  if (at == 0) {
    nodes_.emplace_back();
    at = static_cast<std::uint32_t>(nodes_.size());
  } else {
    free_ = nodes_[at - 1].next;
  }
  nodes_[at - 1] = node;
  nodes_[at - 1].next = 0;
  Bucket& bucket = buckets_[position & (buckets_.size() - 1)];
  if (bucket.last != 0) {
    nodes_[bucket.last - 1].next = at;
  } else {
    bucket.first = at;
  }
  bucket.last = at;
  ++waiting_;
}

// ---- The stream ----------------------------------------------------------------------------------------

void Generator::StartPosition() {
  position_started_ = true;
  if (position_ % options_.replication == 0 && launched_ < workunits_) Launch(launched_++);

  const double now = TimeAt(position_);
  while (options_.tick_period > 0 && next_tick_ <= now) {
    extra_.push_back(wire::EncodeEvent(
        {.head = {.id = ++ticks_, .project = ProjectId(options_.project), .time = next_tick_},
         .body = wire::Tick{.time = next_tick_}}));
    next_tick_ += options_.tick_period;
  }
  // Evenly over all positions: change k comes at part k + 1 of team_changes + 1.
  while (changes_made_ < team_changes_ &&
         position_ >= static_cast<std::uint64_t>(static_cast<double>(last_position_) *
                                                 (static_cast<double>(changes_made_ + 1) /
                                                  static_cast<double>(team_changes_ + 1)))) {
    const std::uint64_t k = changes_made_++;
    extra_.push_back(UserEvent(1 + Below(k, kChangeUser, options_.users),
                               Below(k, kChangeTeam, options_.teams + 1), 2 + k, now));
  }
  while (owners_changed_ < owner_changes_ &&
         position_ >= static_cast<std::uint64_t>(static_cast<double>(last_position_) *
                                                 (static_cast<double>(owners_changed_ + 1) /
                                                  static_cast<double>(owner_changes_ + 1))))
    ChangeOwner(owners_changed_++, now);
  while (reports_made_ < reports_ &&
         position_ >= static_cast<std::uint64_t>(
                          static_cast<double>(last_position_) *
                          (static_cast<double>(reports_made_ + 1) / static_cast<double>(reports_ + 1))))
    NextReport();
  if (position_ < results() && Chance(options_.bad_lines, position_, kBadSalt))
    extra_.push_back(BadLine(bad_made_++));
}

bool Generator::Next(std::string* envelope) {
  if (!members_done_ && NextMember(envelope)) return true;
  members_done_ = true;
  while (!ended_) {
    if (!position_started_) StartPosition();
    if (!extra_.empty()) {
      *envelope = std::move(extra_.front());
      extra_.pop_front();
      return true;
    }
    Bucket& bucket = buckets_[position_ & (buckets_.size() - 1)];
    if (bucket.first != 0) {
      const std::uint32_t at = bucket.first;
      const Node node = nodes_[at - 1];
      bucket.first = node.next;
      if (bucket.first == 0) bucket.last = 0;
      nodes_[at - 1].next = free_;
      free_ = at;
      --waiting_;
      WriteNode(node, envelope);
      return true;
    }
    ++position_;
    position_started_ = false;
    // Remaining ticks, changes and reports follow the last result.
    ended_ = launched_ == workunits_ && waiting_ == 0 && position_ > last_position_;
  }
  if (options_.tick_period > 0 && ticks_ != std::numeric_limits<std::uint64_t>::max()) {
    // One more tick closes the last period.
    *envelope = wire::EncodeEvent(
        {.head = {.id = ticks_ + 1, .project = ProjectId(options_.project), .time = next_tick_},
         .body = wire::Tick{.time = next_tick_}});
    ticks_ = std::numeric_limits<std::uint64_t>::max();
    return true;
  }
  return false;
}

// ---- Members and catalogue -----------------------------------------------------------------------------

std::string Generator::AppEvent(std::uint64_t app) const {
  wire::AppChange change;
  change.app = AppId(app);
  change.name = "app" + std::to_string(app);
  change.policy = PolicyOf(app);
  change.target_nresults = options_.replication;
  change.delay_bound = options_.delay_bound;
  change.result_window = options_.result_window;
  if (options_.trickles > 0) {
    static constexpr const char* kSettlements[] = {"keep", "settle", "cap"};
    change.trickles = TrickleRulesOf(app);
    change.trickle_settlement = kSettlements[(app - 1) % std::size(kSettlements)];
  }
  return wire::EncodeEvent(
      {.head = {.id = 1, .project = ProjectId(options_.project), .time = options_.start_time},
       .body = std::move(change)});
}

std::string Generator::VersionEvent(std::uint64_t app, std::uint32_t number) const {
  wire::AppVersionChange change;
  change.row.id = (app - 1) * options_.versions + number + 1;
  change.row.app = AppId(app);
  change.row.version_num = 100 + number;
  change.row.platform = 1;
  // Every version has a plan class of its own, so that no version inherits the statistics of another.
  if (number >= cpu_versions_) {
    static constexpr const char* kGpuClasses[] = {"cuda", "ati", "intel_gpu"};
    const std::uint32_t of_kind = number - cpu_versions_;
    change.row.plan_class = std::string(kGpuClasses[of_kind % 3]) + "_" + std::to_string(of_kind);
    change.row.resource =
        static_cast<credit::Resource>(static_cast<int>(credit::Resource::kNvidia) + of_kind % 3);
  } else {
    if (number > 0) change.row.plan_class = "cpu_" + std::to_string(number);
    change.row.resource = credit::Resource::kCpu;
  }
  return wire::EncodeEvent(
      {.head = {.id = 1, .project = ProjectId(options_.project), .time = options_.start_time},
       .body = std::move(change)});
}

std::string Generator::UserEvent(std::uint64_t user, std::uint64_t team, std::uint64_t id,
                                 double time) const {
  wire::UserMember member;
  member.user = UserId(user);
  member.team = TeamId(team);
  member.create_time = options_.start_time;
  member.name = "user" + std::to_string(user);
  member.present = wire::UserMember::kTeam | wire::UserMember::kCreateTime | wire::UserMember::kName;
  return wire::EncodeEvent(
      {.head = {.id = id, .project = ProjectId(options_.project), .time = time}, .body = std::move(member)});
}

std::uint64_t Generator::FirstOwner(std::uint64_t host) const {
  return Chance(options_.ownerless_hosts, host, kOwnerless) ? 0 : 1 + Below(host, kOwner, options_.users);
}

// Two consecutive changes concern one host; the second often returns the host to its first owner.
void Generator::ChangeOwner(std::uint64_t number, double time) {
  const std::uint64_t host = 1 + Below(number / 2, kMovingHost, options_.hosts);
  const bool back = number % 2 == 1 && (Hash(number, kNewOwner) & 1) != 0;
  const bool nobody = Chance(options_.ownerless_hosts, number, kOwnerless);
  const std::uint64_t owner = back     ? FirstOwner(host)
                              : nobody ? 0
                                       : 1 + Below(number, kNewOwner, options_.users);
  extra_.push_back(HostEvent(host, owner, 2 + number, time));
  if (IsMachine(host)) extra_.push_back(MachineEvent(host, owner, 2 + number, time));
}

std::string Generator::HostEvent(std::uint64_t host, std::uint64_t user, std::uint64_t id,
                                 double time) const {
  wire::HostMember member;
  member.host = HostId(host);
  member.user = UserId(user);
  const double peak = CpuFlopsOf(host);
  // Some clients never ran their benchmark.
  const bool measured = Below(host, kNoBenchmark, 64) != 0;
  member.whetstone = measured ? 0.6 * peak : 0;
  member.dhrystone = measured ? 1.5 * peak : 0;
  member.cpus = CpusOf(host);
  member.gpus = IsGpuHost(host) ? 1 : 0;
  member.create_time = options_.start_time;
  member.present =
      wire::HostMember::kAllFields & ~(wire::HostMember::kCrossProjectId | wire::HostMember::kName);
  return wire::EncodeEvent(
      {.head = {.id = id, .project = ProjectId(options_.project), .time = time}, .body = std::move(member)});
}

bool Generator::NextMember(std::string* envelope) {
  std::uint64_t n = member_++;
  if (n < options_.apps) {
    *envelope = AppEvent(1 + n);
    return true;
  }
  n -= options_.apps;
  const std::uint64_t versions = std::uint64_t{options_.apps} * options_.versions;
  if (n < versions) {
    *envelope = VersionEvent(1 + n / options_.versions, static_cast<std::uint32_t>(n % options_.versions));
    return true;
  }
  n -= versions;
  if (n < options_.teams) {
    wire::TeamMember team;
    team.team = TeamId(1 + n);
    team.name = "team" + std::to_string(1 + n);
    team.create_time = options_.start_time;
    team.present = wire::TeamMember::kName | wire::TeamMember::kCreateTime;
    *envelope = wire::EncodeEvent(
        {.head = {.id = 1, .project = ProjectId(options_.project), .time = options_.start_time},
         .body = std::move(team)});
    return true;
  }
  n -= options_.teams;
  if (n < options_.users) {
    const std::uint64_t user = 1 + n;
    // One in eight is in no team.
    const std::uint64_t team =
        Below(user, kUserTeam, 8) == 0 ? 0 : 1 + Hash(user, kUserTeam) / 8 % options_.teams;
    *envelope = UserEvent(user, team, 1, options_.start_time);
    return true;
  }
  n -= options_.users;
  if (n < options_.hosts) {
    *envelope = HostEvent(1 + n, FirstOwner(1 + n), 1, options_.start_time);
    return true;
  }
  n -= options_.hosts;
  if (options_.machines == 0) return false;
  while (n < options_.hosts && !IsMachine(1 + n)) {
    ++n;
    ++member_;
  }
  if (n < options_.hosts) {
    *envelope = MachineEvent(1 + n, FirstOwner(1 + n), 1, options_.start_time);
    return true;
  }
  return false;
}

// ---- Results -------------------------------------------------------------------------------------------

void Generator::WriteNode(const Node& node, std::string* envelope) {
  MakePlan(node.workunit, &plan_);
  const Slot& slot = plan_.slots[node.slot];
  switch (node.what) {
    case What::kFailure: return WriteFailure(plan_, node, envelope);
    case What::kDispatch:
    case What::kCompletion:
      return WriteRun(RunOf(node.workunit, node.slot, slot.back_at), node, node.workunit, envelope);
    case What::kLateDispatch:
    case What::kLateCompletion:
      return WriteRun(RunOf(node.workunit, kLatePlace, plan_.late_back_at), node, node.workunit, envelope);
    case What::kFailedDispatch:
      return WriteRun(RunOf(node.workunit, node.slot + kMaxReplication, slot.failed_at), node, node.workunit,
                      envelope);
    case What::kTrickle:
      return WriteTrickle(RunOf(node.workunit, node.slot, slot.back_at), node.message, envelope);
    case What::kFailedTrickle:
      return WriteTrickle(RunOf(node.workunit, node.slot + kMaxReplication, slot.failed_at), node.message,
                          envelope);
    case What::kLateTrickle:
      return WriteTrickle(RunOf(node.workunit, kLatePlace, plan_.late_back_at), node.message, envelope);
    case What::kFirstLook:
    case What::kValidation:
    case What::kLateValidation: return WriteValidation(plan_, node, envelope);
  }
}

void Generator::WriteRun(const Run& run, const Node& node, std::uint64_t workunit, std::string* envelope) {
  credit::CompletionFacts facts;
  facts.result = ResultId(run.result);
  facts.host = HostId(run.host);
  facts.workunit = WorkunitId(workunit + 1);
  facts.app = AppId(run.app);
  facts.version = AppVersionId(run.version);
  facts.peak_flops = run.peak_flops;
  facts.sent_time = run.sent;
  facts.delay_bound = options_.delay_bound;
  const wire::DeviceUsage usage[] = {{.resource = run.resource, .count = 1, .peak_flops = run.peak_flops}};
  wire::EventHead head{.id = run.result, .project = ProjectId(options_.project), .time = run.sent};
  const double fpops_est = 1e13 * static_cast<double>(1 + workunit % 4);
  if (node.what == What::kDispatch || node.what == What::kLateDispatch ||
      node.what == What::kFailedDispatch) {
    wire::Dispatch dispatch{facts, {std::begin(usage), std::end(usage)}};
    if (options_.trickles > 0) {
      dispatch.fpops_est = fpops_est;
      dispatch.fpops_bound = kBoundFactor * fpops_est;
      dispatch.result_name = NameOf(run.result);
    }
    *envelope = wire::EncodeEvent({.head = head, .body = std::move(dispatch)});
    return;
  }
  head.time = run.received;
  facts.outcome = credit::Outcome::kSuccess;
  facts.elapsed_time = run.elapsed;
  facts.cpu_time = run.cpu_time;
  facts.received_time = run.received;
  const std::string& policy = PolicyOf(run.app);
  if (policy == "reported-flops" && Below(run.result, kReported, 4) != 0) {
    facts.reported_flops = fpops_est * (0.8 + 0.4 * Unit(run.result, kReported));
  }
  if (policy == "assigned" && Below(run.result, kReported, 4) != 0) {
    facts.reported_credit = 10 + 10 * Unit(run.result, kReported);
  }
  if (node.copy == Copy::kConflict) facts.elapsed_time += 1;
  envelope->clear();
  wire::EncodeCompletion(head, facts, usage, envelope);
}

// A copy of the result that failed on another host first. One failure in four is identified
// only by (host, app version).
void Generator::WriteFailure(const Plan& plan, const Node& node, std::string* envelope) {
  const Slot& slot = plan.slots[node.slot];
  const Run run = RunOf(plan.workunit, node.slot + kMaxReplication, slot.failed_at);
  credit::CompletionFacts facts;
  if (Below(run.result, kNameless, 4) != 0) {
    facts.result = ResultId(run.result);
    facts.workunit = WorkunitId(plan.workunit + 1);
  }
  facts.host = HostId(run.host);
  facts.app = AppId(run.app);
  facts.version = AppVersionId(run.version);
  facts.outcome = slot.timed_out                        ? credit::Outcome::kTimeout
                  : !facts.result                       ? credit::Outcome::kClientError
                  : Below(run.result, kOutcome, 4) != 0 ? credit::Outcome::kClientError
                  : Below(run.result, kOutcome, 8) < 4  ? credit::Outcome::kAbortedByUser
                                                        : credit::Outcome::kAbortedByProject;
  if (!slot.timed_out) {
    facts.elapsed_time = run.elapsed / 2;
    facts.cpu_time = run.cpu_time / 2;
  }
  if (node.copy == Copy::kConflict) facts.elapsed_time += 1;
  facts.peak_flops = run.peak_flops;
  facts.sent_time = run.sent;
  facts.received_time = run.received;
  facts.delay_bound = options_.delay_bound;
  const wire::DeviceUsage usage[] = {{.resource = run.resource, .count = 1, .peak_flops = run.peak_flops}};
  envelope->clear();
  wire::EncodeCompletion({.id = run.result, .project = ProjectId(options_.project), .time = run.received},
                         facts, usage, envelope);
}

void Generator::WriteValidation(const Plan& plan, const Node& node, std::string* envelope) {
  const bool late = node.what == What::kLateValidation;
  const bool first = node.what == What::kFirstLook;
  const Slot& slot = plan.slots[node.slot];
  const std::uint64_t at = late ? plan.late_decided_at : first ? plan.first_look_at : plan.decided_at;
  const std::uint64_t back = late ? plan.late_back_at : slot.back_at;
  const Run run = RunOf(plan.workunit, late ? kLatePlace : node.slot, back);
  const std::string& policy = PolicyOf(run.app);

  credit::ValidationFacts facts;
  facts.result = ResultId(run.result);
  facts.host = HostId(run.host);
  facts.workunit = WorkunitId(plan.workunit + 1);
  facts.app = AppId(run.app);
  facts.fpops_est = 1e13 * static_cast<double>(1 + plan.workunit % 4);
  facts.fpops_bound = kBoundFactor * facts.fpops_est;
  facts.state = first                   ? credit::ValidateState::kInconclusive
                : !late && slot.invalid ? credit::ValidateState::kInvalid
                                        : credit::ValidateState::kValid;
  facts.pass = first ? 1 : late ? (plan.twice ? 3 : 2) : (plan.twice ? 2 : 1);
  facts.late = late;
  if (!first && plan.valid > 0) {
    // The first valid result is canonical.
    for (std::uint32_t i = 0; i < options_.replication; ++i) {
      if (plan.slots[i].invalid) continue;
      facts.canonical_result = ResultId(1 + plan.workunit * kPlaces + i);
      break;
    }
    // With policy `runtime`, invalid results count too.
    if (!late) facts.claims = policy == "runtime" ? options_.replication : plan.valid;
    if (policy == "assigned" && Below(plan.workunit, kAssignedSalt, 2) == 0) {
      facts.assigned_credit = 15 + 15 * Unit(plan.workunit, kAssignedSalt);
    }
  }
  if (node.copy == Copy::kConflict) facts.fpops_est += 1e9;
  envelope->clear();
  // Unique for each result: its validations are numbered by pass.
  const std::uint64_t id = run.result * 4 + facts.pass;
  wire::EncodeValidation({.id = id, .project = ProjectId(options_.project), .time = TimeAt(at)}, facts,
                         envelope);
}

// Each kind is refused for a different reason and belongs to a result that no other event names.
std::string Generator::BadLine(std::uint64_t number) const {
  const std::uint64_t draw = kBadResults + number;
  const wire::EventHead head{.id = draw, .project = ProjectId(options_.project), .time = TimeAt(position_)};
  wire::Completion completion;
  credit::CompletionFacts& done = completion.facts;
  done.result = ResultId(draw);
  done.host = HostId(1 + Below(draw, kFirstHost, options_.hosts));
  done.workunit = WorkunitId(draw);
  done.app = AppId(1);
  done.version = AppVersionId(1);
  done.outcome = credit::Outcome::kSuccess;
  done.elapsed_time = 1000;
  done.cpu_time = 900;
  done.peak_flops = 1e9;
  done.sent_time = WholeSeconds(head.time) - 2000;
  done.received_time = WholeSeconds(head.time);
  credit::ValidationFacts checked;
  checked.result = done.result;
  checked.host = done.host;
  checked.workunit = done.workunit;
  checked.app = done.app;
  checked.fpops_est = 1e13;
  checked.fpops_bound = 1e15;
  checked.state = credit::ValidateState::kValid;
  checked.pass = 1;
  checked.claims = 1;
  switch (Below(draw, kBadKind, 8)) {
    case 0:
      return R"({"id": )" + std::to_string(draw) + R"(, "project": 1, "completion": {"resu)";  // cut off
    case 1: done.elapsed_time = std::numeric_limits<double>::quiet_NaN(); break;
    case 2: done.app = AppId(kUnknownApp); break;
    case 3: done.delay_bound = -1; break;
    case 4: done.version = AppVersionId(-9); break;
    case 5: checked.claims = 0; return wire::EncodeEvent({.head = head, .body = checked});
    case 6: checked.workunit = WorkunitId(0); return wire::EncodeEvent({.head = head, .body = checked});
    default: return wire::EncodeEvent({.head = head, .body = std::monostate{}});
  }
  return wire::EncodeEvent({.head = head, .body = std::move(completion)});
}

}  // namespace cobblestone::traffic
