#include "services/claims/machines.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/claims/kept_events.h"
#include "services/stage/refuse.h"

namespace cobblestone::claims {

using stream::Emitter;
using stream::Key;
using stream::RecordView;
using wire::RefusalReason;

namespace {

constexpr double kMicro = 1e6;

Key MachineKey(std::uint64_t machine) { return {.project = 0, .id = machine, .sub = 0}; }
Key WaitingKey(ProjectId project, std::uint64_t machine) {
  return {.project = project.value, .id = machine, .sub = 0};
}
Key LimitsKey(ProjectId project) { return {.project = project.value, .id = 0, .sub = 0}; }

const MachineProject* FindProject(const MachineState* machine, ProjectId project) {
  if (machine == nullptr) return nullptr;
  for (const MachineProject& one : machine->projects)
    if (one.project == project.value) return &one;
  return nullptr;
}

MachineProject& ProjectOf(MachineState& machine, ProjectId project) {
  for (MachineProject& one : machine.projects)
    if (one.project == project.value) return one;
  MachineProject& fresh = machine.projects.emplace_back();
  fresh.project = project.value;
  return fresh;
}

// The counters of a report, or the reason of its refusal.
std::optional<wire::Refusal> CountersOf(const wire::EstimatedCredit& event,
                                        std::vector<credit::ResourceUse>* uses) {
  for (const wire::ResourceCounter& counter : event.counters) {
    if (counter.resource == credit::Resource::kUnknown)
      return wire::Refusal{RefusalReason::kMissingField, "counters.resource"};
    const auto micro = credit::CountOf(counter.credit);
    const auto run_time = credit::CountOf(counter.run_time);
    const auto failed = credit::CountOf(counter.failed_run_time);
    if (!micro || !run_time || !failed)
      return wire::Refusal{RefusalReason::kOutOfRange, "a counter exceeds 64 bits of millionths"};
    uses->push_back({.resource = counter.resource,
                     .counters = {.credit = *micro,
                                  .run_time = *run_time,
                                  .jobs = counter.jobs,
                                  .failed_jobs = counter.failed_jobs,
                                  .failed_run_time = *failed}});
  }
  return std::nullopt;
}

}  // namespace

const MachineLink* MachineProject::At(double time) const {
  const MachineLink* in_force = links.empty() ? nullptr : &links.front();
  for (const MachineLink& one : links) {
    if (one.stamp.time > time) break;
    in_force = &one;
  }
  return in_force;
}

Machines::Machines(std::uint32_t partition, std::uint32_t partitions, stream::TableHost& tables)
    : partition_(partition),
      partitions_(partitions),
      machines_(tables, kMachinesTable, false),
      waiting_(tables, kWaitingReportsTable, false),
      limits_(tables, kEstimateLimitsTable, true) {
  waiting_.MarkWaiting("reports");
}

void Machines::OnSettings(ProjectId project, const wire::SettingsChange& change) {
  const wire::EstimateLimitChanges& event = change.estimates;
  if (event == wire::EstimateLimitChanges{}) return;
  credit::EstimateLimits& limits = limits_.Mutable(LimitsKey(project));
  limits.cpus = event.cpus.value_or(limits.cpus);
  limits.cpu_flops = event.cpu_flops.value_or(limits.cpu_flops);
  limits.gpus = event.gpus.value_or(limits.gpus);
  limits.gpu_flops = event.gpu_flops.value_or(limits.gpu_flops);
  limits.saved_time = event.saved_time.value_or(limits.saved_time);
}

credit::EstimateLimits Machines::LimitsOf(ProjectId project) {
  const credit::EstimateLimits* limits = limits_.Find(LimitsKey(project));
  return limits != nullptr ? *limits : credit::EstimateLimits{};
}

void Machines::OnMachineHost(const RecordView& record, const wire::EventHead& head,
                             const wire::MachineHost& event, Emitter& out) {
  const wire::EventStamp stamp = wire::StampOf(head, record.value);
  const Key key = MachineKey(event.machine);
  if (const MachineProject* known = FindProject(machines_.Find(key), head.project)) {
    for (const MachineLink& one : known->links) {
      if (one.stamp.id != stamp.id) continue;
      if (wire::CompareStamps(stamp, one.stamp) == wire::StampOrder::kRepeat) {
        ++duplicates_;
        return;
      }
      return stage::Refuse(record, head.project, RefusalReason::kDuplicateWithOtherContents,
                           "another event of this machine has this id", out);
    }
  }
  MachineState& machine = machines_.Mutable(key);
  machine.allowance.StartAt(head.time, LimitsOf(head.project));
  auto& links = ProjectOf(machine, head.project).links;
  const auto newer = [](const MachineLink& a, const MachineLink& b) {
    return std::tie(a.stamp.time, a.stamp.id) < std::tie(b.stamp.time, b.stamp.id);
  };
  const MachineLink fresh{.stamp = stamp, .host = event.host, .user = event.user, .gone = event.gone};
  links.insert(std::upper_bound(links.begin(), links.end(), fresh, newer), fresh);
  if (links.size() > kMachineLinks) links.erase(links.begin());
  const Key waits = WaitingKey(head.project, event.machine);
  const WaitingReports* row = waiting_.Find(waits);
  if (row == nullptr) return;
  const WaitingReports waiting = *row;
  waiting_.Erase(waits);
  for (const WaitingEvent& one : waiting.events) {
    const auto report = ParseKept<wire::EstimatedCredit>(waiting_, waits, one.bytes);
    Take(one.Record(partition_), report.head, std::get<wire::EstimatedCredit>(report.body), out);
  }
}

std::optional<double> Machines::OnReport(const RecordView& record, const wire::EventHead& head,
                                         const wire::EstimatedCredit& event, double now, Emitter& out) {
  const MachineProject* known = FindProject(machines_.Find(MachineKey(event.machine)), head.project);
  if (known != nullptr && !known->links.empty()) {
    Take(record, head, event, out);
    return std::nullopt;
  }
  WaitingReports& waiting = waiting_.Mutable(WaitingKey(head.project, event.machine));
  const auto same = [&](const WaitingEvent& one) { return one.bytes == record.value; };
  if (std::any_of(waiting.events.begin(), waiting.events.end(), same)) {
    ++duplicates_;
    return std::nullopt;
  }
  if (waiting.events.size() >= kMaxWaitingReports) {
    stage::Refuse(record, head.project, RefusalReason::kOutOfRange,
                  std::to_string(kMaxWaitingReports) + " reports of this machine already wait for its host",
                  out);
    return std::nullopt;
  }
  // The event time of a report may lie long before its arrival; its wait starts at the arrival.
  if (waiting.events.empty()) waiting.since = std::max(head.time, now);
  waiting.events.emplace_back().Keep(record);
  return waiting.since;
}

// A report of a machine that has a link at its project.
void Machines::Take(const RecordView& record, const wire::EventHead& head, const wire::EstimatedCredit& event,
                    Emitter& out) {
  const Key key = MachineKey(event.machine);
  const MachineProject& known = *FindProject(machines_.Find(key), head.project);
  const wire::EventStamp stamp = wire::StampOf(head, record.value);
  switch (wire::CompareStamps(stamp, known.report)) {
    case wire::StampOrder::kRepeat: ++duplicates_; return;
    case wire::StampOrder::kOtherContents:
      return stage::Refuse(record, head.project, RefusalReason::kDuplicateWithOtherContents,
                           "another report of this machine has this id", out);
    default: break;
  }
  const MachineLink in_force = *known.At(head.time);
  if (in_force.gone)
    return stage::Refuse(record, head.project, RefusalReason::kUnknownHost,
                         "the machine is no longer a host of this project", out);
  if (in_force.host != event.host)
    return stage::Refuse(record, head.project, RefusalReason::kWrongHost,
                         "the machine is host " + std::to_string(in_force.host.value), out);
  credit::EstimateReport report{.time = head.time,
                                .size = {.cpus = event.cpus,
                                         .cpu_flops = event.cpu_flops,
                                         .gpus = event.gpus,
                                         .gpu_flops = event.gpu_flops},
                                .uses = {},
                                .event = head.id};
  if (auto refusal = CountersOf(event, &report.uses))
    return stage::Refuse(record, head.project, refusal->reason, std::move(refusal->detail), out);
  const credit::EstimateLimits limits = LimitsOf(head.project);
  MachineState& machine = machines_.Mutable(key);
  MachineProject& project = ProjectOf(machine, head.project);
  const credit::EstimateDecision decision =
      credit::Decide(report, limits, project.standing, machine.allowance);
  if (decision.grown) {
    if (wire::CompareStamps(stamp, project.report) == wire::StampOrder::kNewer) project.report = stamp;
    EmitEstimate(event.machine, project, decision, record.line, out);
  } else {
    ++duplicates_;
  }
  std::vector<MachineProject*> all;
  for (MachineProject& one : machine.projects)
    if (one.standing.cut) all.push_back(&one);
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->project < b->project; });
  for (MachineProject* one : all) {
    // A newer link may say that the machine was no longer a host of the project.
    if (one->At(one->standing.cut->time)->gone) continue;
    const credit::EstimateDecision revived = credit::Revive(one->standing, machine.allowance);
    if (revived.grown) EmitEstimate(event.machine, *one, revived, record.line, out);
  }
}

void Machines::EmitEstimate(std::uint64_t machine, const MachineProject& project,
                            const credit::EstimateDecision& decision, std::uint64_t line,
                            Emitter& out) const {
  const MachineLink& in_force = *project.At(decision.time);
  wire::Estimate estimate{.event = decision.event,
                          .machine = machine,
                          .asked_micro = decision.asked,
                          .allowed_micro = decision.allowed,
                          .bounds = decision.bounds,
                          .since = decision.since,
                          .flops = decision.flops,
                          .uses = {}};
  for (const credit::ResourceUse& use : decision.uses)
    estimate.uses.push_back({.resource = use.resource,
                             .credit_micro = use.counters.credit,
                             .run_time = static_cast<double>(use.counters.run_time) / kMicro,
                             .jobs = use.counters.jobs,
                             .failed_jobs = use.counters.failed_jobs,
                             .failed_run_time = static_cast<double>(use.counters.failed_run_time) / kMicro});
  const ProjectId id{project.project};
  std::string bytes;
  wire::EncodeGrant({.project = id,
                     .user = in_force.user,
                     .host = in_force.host,
                     .time = decision.time,
                     .kind = wire::GrantKind::kEstimate},
                    {.line = line}, {}, {}, &bytes, {.estimate = &estimate});
  out.Emit(wire::kGrants, wire::OwnerPartition(id, in_force.user, in_force.host, partitions_), bytes);
}

bool Machines::Expire(std::size_t number, ProjectId project, stage::Expiry& expiry,
                      stage::CommitBudget& budget, Emitter& out) {
  return expiry.Rows(number, waiting_, budget, DueAfterDefaultWindow,
                     [&](const stream::Key&, const WaitingReports& waiting) {
                       std::uint64_t bytes = 0;
                       for (const WaitingEvent& one : waiting.events) {
                         stage::Refuse(one.Record(partition_), project, RefusalReason::kUnknownHost,
                                       "the host of this machine is unknown", out);
                         bytes += one.bytes.size();
                       }
                       return bytes;
                     });
}

}  // namespace cobblestone::claims
