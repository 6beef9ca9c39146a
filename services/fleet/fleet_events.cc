// The events of the simulation as bytes: the part of Fleet that knows the wire format.
#include <array>
#include <string>

#include "common/credit/model/flops.h"
#include "common/wire/events/event_codec.h"
#include "services/fleet/fleet.h"

namespace cobblestone::fleet {
namespace {

// Results of a workunit: its numbers are 32 apart (max_total <= 32).
constexpr std::uint64_t kPlaces = 32;
constexpr const char* kVariety = "progress";
constexpr double kFalseElapsed = 100 * 3600.0;  // s
constexpr double kThirtyDays = 30 * 86400.0;

}  // namespace

void Fleet::EndEvent() {
  ends_.push_back(bytes_.size());
  ++counts_.events;
}

void Fleet::RepeatEvent(const Job& job, std::size_t begin) {
  constexpr std::size_t kReplayedAfter = 40;  // events about attackers' results
  if (options_.attack.repeat == 0 || !IsAttacker(job.slot)) return;
  replays_.push_back(bytes_.substr(begin));
  for (std::uint32_t i = 0; i < options_.attack.repeat; ++i) {
    bytes_ += replays_.back();
    EndEvent();
  }
  if (replays_.size() <= kReplayedAfter) return;
  bytes_ += replays_.front();
  EndEvent();
  replays_.pop_front();
}

void Fleet::Emit(const wire::Event& event) {
  bytes_ += wire::EncodeEvent(event);
  EndEvent();
}

std::uint64_t Fleet::ResultOf(const Job& job) const {
  return (workunits_[job.workunit].number - 1) * kPlaces + job.place + 1;
}

// ---- Catalogue and members -----------------------------------------------------------------------------

void Fleet::EmitCatalogue() {
  for (std::uint32_t i = 0; i < apps_.size(); ++i) {
    App& app = apps_[i];
    wire::AppChange change;
    change.app = AppId(app.id);
    change.name = app.model->name;
    change.policy = options_.policy;
    change.target_nresults =
        app.model->replication == Replication::kSingle ? 1 : static_cast<std::uint32_t>(parameters_.quorum);
    change.host_scale_check = parameters_.host_scale_check > 0;
    change.delay_bound = app.delay_bound;
    // The last result of a workunit may be sent 5 delay bounds after the first, and return 4 later.
    constexpr double kWindow = 12;
    change.result_window = std::max(kThirtyDays, kWindow * app.delay_bound);
    if (app.model->trickles)
      change.trickles.push_back({.variety = kVariety, .kind = "elapsed", .measure = "elapsed_time"});
    Emit({.head = {.id = 1, .project = ProjectOf(app.project), .time = Unix(now_)},
          .body = std::move(change)});
    Release(i);
  }
}

void Fleet::EmitVersion(const App& app, const Version& version) {
  wire::AppVersionChange change;
  change.row.id = version.id;
  change.row.app = AppId(app.id);
  change.row.version_num = 100 + app.releases;
  change.row.platform = 1;
  change.row.resource = version.resource;
  switch (version.resource) {
    case credit::Resource::kNvidia: change.row.plan_class = "cuda"; break;
    case credit::Resource::kAmd: change.row.plan_class = "opencl_ati"; break;
    case credit::Resource::kIntelGpu: change.row.plan_class = "opencl_intel_gpu"; break;
    default:
      if (version.second) change.row.plan_class = "avx";
      if (app.model->threads > 1) change.row.plan_class = version.second ? "mt_avx" : "mt";
      if (version.variant > 0) change.row.plan_class = "v" + std::to_string(version.variant);
  }
  Emit({.head = {.id = 1, .project = ProjectOf(app.project), .time = Unix(now_)}, .body = std::move(change)});
}

void Fleet::EmitTeams() {
  for (std::uint32_t project = 0; project < options_.projects; ++project) {
    for (std::uint64_t team = 1; team <= teams_; ++team) {
      wire::TeamMember member;
      member.team = TeamId(team);
      member.name = "team" + std::to_string(team);
      member.create_time = options_.start_time;
      member.present = wire::TeamMember::kName | wire::TeamMember::kCreateTime;
      Emit({.head = {.id = 1, .project = ProjectOf(project), .time = Unix(now_)}, .body = std::move(member)});
    }
  }
}

// The host at each of its projects, and its user at all projects before its first host.
void Fleet::EmitMembers(std::uint32_t number, const HostTraits& traits) {
  const Slot& slot = slots_[number];
  const std::uint64_t user_number = UserOf(number, slot.generation);
  const std::uint64_t host_number = HostOf(number, slot.generation);
  if (slot.first_of_user) {
    const auto [without, team] = draws_.Uniforms(Stream::kUser, user_number, 1);
    wire::UserMember user;
    user.user = UserId(user_number);
    if (without >= parameters_.teamless_users)
      user.team = TeamId(1 + static_cast<std::uint64_t>(team * static_cast<double>(teams_)));
    user.create_time = Unix(now_);
    user.name = "user" + std::to_string(user_number);
    user.present = wire::UserMember::kTeam | wire::UserMember::kCreateTime | wire::UserMember::kName;
    for (std::uint32_t project = 0; project < options_.projects; ++project)
      Emit({.head = {.id = 1, .project = ProjectOf(project), .time = Unix(now_)}, .body = user});
  }
  wire::HostMember host;
  host.host = HostId(host_number);
  host.user = UserId(user_number);
  host.whetstone = slot.whetstone;
  constexpr double kDhrystoneRatio = 1.75;  // 2064/1179, the means of Heien, Kondo, Anderson for 2006
  host.dhrystone = kDhrystoneRatio * slot.whetstone;
  host.cpus = slot.cores;
  host.gpus = slot.gpu_flops > 0 ? 1 : 0;
  host.create_time = Unix(now_);
  host.present =
      wire::HostMember::kAllFields & ~(wire::HostMember::kCrossProjectId | wire::HostMember::kName);
  for (std::uint32_t i = 0; i < slot.projects; ++i) {
    const wire::EventHead head{
        .id = 1, .project = ProjectOf(slot.attachments[i].project), .time = Unix(now_)};
    Emit({.head = head, .body = host});
    if (!traits.managed) continue;
    Emit({.head = head,
          .body = wire::MachineHost{
              .machine = host_number, .host = HostId(host_number), .user = UserId(user_number)}});
  }
}

// ---- Results -------------------------------------------------------------------------------------------

credit::CompletionFacts Fleet::FactsOf(const Job& job) const {
  const Workunit& workunit = workunits_[job.workunit];
  const App& app = apps_[workunit.app];
  const Version& version = app.versions[job.version];
  credit::CompletionFacts facts;
  facts.result = ResultId(ResultOf(job));
  facts.host = HostId(HostOf(job.reporter, job.host_generation));
  facts.workunit = WorkunitId(workunit.number);
  facts.app = AppId(app.id);
  facts.version = AppVersionId(job.anonymous ? -static_cast<std::int64_t>(version.resource) - 1
                                             : static_cast<std::int64_t>(version.id));
  facts.peak_flops = job.peak;
  facts.sent_time = Unix(job.sent);
  facts.delay_bound = app.delay_bound;
  return facts;
}

void Fleet::EmitDispatch(Job& job) {
  const Workunit& workunit = workunits_[job.workunit];
  wire::Dispatch dispatch;
  dispatch.facts = FactsOf(job);
  dispatch.fpops_est = EstimateOf(workunit);
  dispatch.fpops_bound = parameters_.bound_factor * dispatch.fpops_est;
  const App& app = apps_[workunit.app];
  const credit::Resource resource = app.versions[job.version].resource;
  const double count = job.threads;
  dispatch.usage.push_back(
      {.resource = resource, .count = count, .peak_flops = dispatch.facts.peak_flops / count});
  Emit({.head = {.id = ResultOf(job) * 256 + ++job.notes,
                 .project = ProjectOf(app.project),
                 .time = Unix(now_)},
        .body = std::move(dispatch)});
}

void Fleet::EmitCompletion(Job& job, credit::Outcome outcome) {
  const App& app = apps_[workunits_[job.workunit].app];
  credit::CompletionFacts facts = FactsOf(job);
  facts.outcome = outcome;
  if (outcome != credit::Outcome::kTimeout) {
    facts.elapsed_time = job.elapsed;
    const double u =
        draws_.Uniforms(Stream::kReturn, MachineOf(job.slot, job.host_generation), job.ordinal).second;
    // A GPU job keeps a core busy for a part of its time.
    const double efficiency = job.gpu ? 0.05 + 0.25 * u : parameters_.cpu_efficiency * (0.95 + 0.1 * u);
    facts.cpu_time = job.elapsed * job.threads * std::min(1.0, efficiency);
  }
  facts.received_time = Unix(now_);
  const credit::Resource resource = app.versions[job.version].resource;
  const double count = job.threads;
  const std::array usage = {
      wire::DeviceUsage{.resource = resource, .count = count, .peak_flops = facts.peak_flops / count}};
  const std::size_t begin = bytes_.size();
  wire::EncodeCompletion(
      {.id = ResultOf(job) * 256 + ++job.notes, .project = ProjectOf(app.project), .time = Unix(now_)}, facts,
      usage, &bytes_);
  EndEvent();
  RepeatEvent(job, begin);
}

void Fleet::EmitValidation(const Job& job, credit::ValidateState state, std::uint32_t claims, bool late) {
  const Workunit& workunit = workunits_[job.workunit];
  const App& app = apps_[workunit.app];
  credit::ValidationFacts facts;
  facts.result = ResultId(ResultOf(job));
  facts.host = HostId(HostOf(job.reporter, job.host_generation));
  facts.workunit = WorkunitId(workunit.number);
  facts.app = AppId(app.id);
  facts.fpops_est = EstimateOf(workunit);
  facts.fpops_bound = parameters_.bound_factor * facts.fpops_est;
  facts.state = state;
  facts.pass = workunit.pass;
  facts.claims = claims;
  facts.late = late;
  facts.unreplicated = workunit.single && (app.model->replication == Replication::kAdaptive ||
                                           app.model->replication == Replication::kAdvised);
  if (workunit.decided)
    facts.canonical_result = ResultId((workunit.number - 1) * kPlaces + workunit.canonical + 1);
  const std::size_t begin = bytes_.size();
  wire::EncodeValidation(
      {.id = facts.result.value * 256 + workunit.pass, .project = ProjectOf(app.project), .time = Unix(now_)},
      facts, &bytes_);
  EndEvent();
  RepeatEvent(job, begin);
}

void Fleet::EmitTrickle(std::uint32_t at) {
  Job& job = jobs_[at];
  const Slot& slot = slots_[job.slot];
  const double interval = parameters_.trickle_interval * 3600;
  ++job.trickles;
  ++counts_.trickles;
  const App& app = apps_[workunits_[job.workunit].app];
  wire::Trickle trickle;
  trickle.result = ResultId(ResultOf(job));
  trickle.host = HostId(HostOf(job.slot, job.host_generation));
  trickle.variety = kVariety;
  trickle.elapsed_time = interval * job.trickles;
  const std::uint32_t false_ones = IsAttacker(job.slot) ? options_.attack.trickles : 0;
  constexpr std::uint32_t kMostNotes = 250;  // Job::notes has 8 bits
  for (std::uint32_t i = 0; i < std::max(1u, false_ones) && job.notes < kMostNotes; ++i) {
    if (false_ones > 0) *trickle.elapsed_time += kFalseElapsed;
    Emit({.head = {.id = ResultOf(job) * 256 + ++job.notes,
                   .project = ProjectOf(app.project),
                   .time = Unix(now_)},
          .body = trickle});
  }
  if (interval * (job.trickles + 1) >= job.elapsed || job.trickles == 100) return;
  Availability ahead = slot.available;
  Put(What::kTrickle, ahead.After(parameters_, draws_, now_, interval), at, job.generation);
}

// An account manager's report about a machine, one event for each of its projects.
void Fleet::EmitReport(std::uint32_t number) {
  Slot& slot = slots_[number];
  const double factor = IsAttacker(number) ? options_.attack.reports : 1;
  ++slot.reports;
  for (std::uint32_t i = 0; i < slot.projects; ++i) {
    wire::EstimatedCredit report;
    report.machine = HostOf(number, slot.generation);
    report.host = HostId(report.machine);
    report.cpus = factor * slot.cores;
    report.cpu_flops = factor * slot.whetstone;
    report.gpus = slot.gpu_flops > 0 ? 1 : 0;
    report.gpu_flops = slot.gpu_flops;
    for (const std::size_t r : {0, 1}) {
      if (r == 1 && slot.gpu_flops <= 0) continue;
      const Counters& counters = (*slot.reported)[i][r];
      report.counters.push_back({.resource = r == 0 ? credit::Resource::kCpu : slot.gpu,
                                 .credit = factor * factor * counters.credit,
                                 .run_time = factor * counters.run_time,
                                 .jobs = counters.jobs,
                                 .failed_jobs = counters.failed,
                                 .failed_run_time = counters.failed_run_time});
    }
    ++counts_.reports;
    Emit({.head = {.id = slot.reports, .project = ProjectOf(slot.attachments[i].project), .time = Unix(now_)},
          .body = std::move(report)});
  }
  Put(What::kReport, now_ + parameters_.report_period * 3600, number, slot.generation);
}

}  // namespace cobblestone::fleet
