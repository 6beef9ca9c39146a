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
std::optional<wire::Refusal> CountersOf(const wire::EstimatedCredit& said,
                                        std::vector<credit::ResourceUse>* uses) {
  for (const wire::ResourceCounter& counter : said.counters) {
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

const MachineWord* MachineProject::At(double time) const {
  const MachineWord* in_force = words.empty() ? nullptr : &words.front();
  for (const MachineWord& one : words) {
    if (one.word.time > time) break;
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
  const wire::EstimateLimitChanges& said = change.estimates;
  if (said == wire::EstimateLimitChanges{}) return;
  credit::EstimateLimits& limits = limits_.Mutable(LimitsKey(project));
  limits.cpus = said.cpus.value_or(limits.cpus);
  limits.cpu_flops = said.cpu_flops.value_or(limits.cpu_flops);
  limits.gpus = said.gpus.value_or(limits.gpus);
  limits.gpu_flops = said.gpu_flops.value_or(limits.gpu_flops);
  limits.saved_time = said.saved_time.value_or(limits.saved_time);
}

credit::EstimateLimits Machines::LimitsOf(ProjectId project) {
  const credit::EstimateLimits* said = limits_.Find(LimitsKey(project));
  return said != nullptr ? *said : credit::EstimateLimits{};
}

void Machines::OnWord(const RecordView& record, const wire::EventHead& head, const wire::MachineHost& said,
                      Emitter& out) {
  const wire::Word word = wire::WordOf(head, record.value);
  const Key key = MachineKey(said.machine);
  if (const MachineProject* known = FindProject(machines_.Find(key), head.project)) {
    for (const MachineWord& one : known->words) {
      if (one.word.id != word.id) continue;
      if (wire::StandingOf(word, one.word) == wire::Standing::kRepeat) {
        ++duplicates_;
        return;
      }
      return wire::Refuse(record, head.project, RefusalReason::kDuplicateWithOtherContents,
                          "another event of this machine has this id", out);
    }
  }
  MachineState& machine = machines_.Mutable(key);
  machine.allowance.Hear(head.time, LimitsOf(head.project));
  auto& words = ProjectOf(machine, head.project).words;
  const auto newer = [](const MachineWord& a, const MachineWord& b) {
    return std::tie(a.word.time, a.word.id) < std::tie(b.word.time, b.word.id);
  };
  const MachineWord fresh{.word = word, .host = said.host, .user = said.user, .gone = said.gone};
  words.insert(std::upper_bound(words.begin(), words.end(), fresh, newer), fresh);
  if (words.size() > kMachineWords) words.erase(words.begin());
  const Key waits = WaitingKey(head.project, said.machine);
  const WaitingReports* row = waiting_.Find(waits);
  if (row == nullptr) return;
  const WaitingReports waiting = *row;
  waiting_.Erase(waits);
  for (const WaitingEvent& one : waiting.events) {
    const auto event = ParseKept<wire::EstimatedCredit>(waiting_, waits, one.bytes);
    Take(one.Record(partition_), event.head, std::get<wire::EstimatedCredit>(event.body), out);
  }
}

std::optional<double> Machines::OnReport(const RecordView& record, const wire::EventHead& head,
                                         const wire::EstimatedCredit& said, double now, Emitter& out) {
  const MachineProject* known = FindProject(machines_.Find(MachineKey(said.machine)), head.project);
  if (known != nullptr && !known->words.empty()) {
    Take(record, head, said, out);
    return std::nullopt;
  }
  WaitingReports& waiting = waiting_.Mutable(WaitingKey(head.project, said.machine));
  const auto same = [&](const WaitingEvent& one) { return one.bytes == record.value; };
  if (std::any_of(waiting.events.begin(), waiting.events.end(), same)) {
    ++duplicates_;
    return std::nullopt;
  }
  if (waiting.events.size() >= kMaxWaitingReports) {
    wire::Refuse(record, head.project, RefusalReason::kOutOfRange,
                 std::to_string(kMaxWaitingReports) + " reports of this machine already wait for its host",
                 out);
    return std::nullopt;
  }
  // The event time of a report may lie long before its arrival; its wait starts at the arrival.
  if (waiting.events.empty()) waiting.since = std::max(head.time, now);
  waiting.events.emplace_back().Keep(record);
  return waiting.since;
}

// A report of a machine that has a word at its project.
void Machines::Take(const RecordView& record, const wire::EventHead& head, const wire::EstimatedCredit& said,
                    Emitter& out) {
  const Key key = MachineKey(said.machine);
  const MachineProject& known = *FindProject(machines_.Find(key), head.project);
  const wire::Word word = wire::WordOf(head, record.value);
  switch (wire::StandingOf(word, known.report)) {
    case wire::Standing::kRepeat: ++duplicates_; return;
    case wire::Standing::kOtherContents:
      return wire::Refuse(record, head.project, RefusalReason::kDuplicateWithOtherContents,
                          "another report of this machine has this id", out);
    default: break;
  }
  const MachineWord in_force = *known.At(head.time);
  if (in_force.gone)
    return wire::Refuse(record, head.project, RefusalReason::kUnknownHost,
                        "the machine is no longer a host of this project", out);
  if (in_force.host != said.host)
    return wire::Refuse(record, head.project, RefusalReason::kWrongHost,
                        "the machine is host " + std::to_string(in_force.host.value), out);
  credit::EstimateReport report{.time = head.time,
                                .size = {.cpus = said.cpus,
                                         .cpu_flops = said.cpu_flops,
                                         .gpus = said.gpus,
                                         .gpu_flops = said.gpu_flops},
                                .uses = {},
                                .event = head.id};
  if (auto refusal = CountersOf(said, &report.uses))
    return wire::Refuse(record, head.project, refusal->reason, std::move(refusal->detail), out);
  const credit::EstimateLimits limits = LimitsOf(head.project);
  MachineState& machine = machines_.Mutable(key);
  MachineProject& project = ProjectOf(machine, head.project);
  const credit::EstimateDecision decision =
      credit::Decide(report, limits, project.standing, machine.allowance);
  if (decision.grown) {
    if (wire::StandingOf(word, project.report) == wire::Standing::kNews) project.report = word;
    Tell(said.machine, project, decision, record.line, out);
  } else {
    ++duplicates_;
  }
  std::vector<MachineProject*> all;
  for (MachineProject& one : machine.projects)
    if (one.standing.cut) all.push_back(&one);
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->project < b->project; });
  for (MachineProject* one : all) {
    // A newer word may say that the machine was no longer a host of the project.
    if (one->At(one->standing.cut->time)->gone) continue;
    const credit::EstimateDecision revived = credit::Revive(one->standing, machine.allowance);
    if (revived.grown) Tell(said.machine, *one, revived, record.line, out);
  }
}

void Machines::Tell(std::uint64_t machine, const MachineProject& project,
                    const credit::EstimateDecision& decision, std::uint64_t line, Emitter& out) const {
  const MachineWord& in_force = *project.At(decision.time);
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
                         wire::Refuse(one.Record(partition_), project, RefusalReason::kUnknownHost,
                                      "the host of this machine is unknown", out);
                         bytes += one.bytes.size();
                       }
                       return bytes;
                     });
}

}  // namespace cobblestone::claims
