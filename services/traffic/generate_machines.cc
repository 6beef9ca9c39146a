// Machines of account managers and their reports: the part of Generator for GenerateOptions::machines.
//
// A machine has the number of its host. Files of several projects from one seed therefore describe the same
// machines, and the limit of each machine then applies to all projects together.
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "common/credit/model/flops.h"
#include "common/wire/events/event_codec.h"
#include "services/traffic/generate.h"

namespace cobblestone::traffic {
namespace {

// Frozen, as the salts of generate.cc, which end far below these numbers.
enum MachineSalt : std::uint32_t {
  kMachine = 2001,
  kBadReport,
  kMachineFate,
  kBusy,
  kJobs,
  kFails,
  kFailedPart
};

constexpr std::uint64_t kBadMachineFates = 7;
constexpr double kGreed = 1e4;  // times the machine's work
constexpr double kGreedyGpus = 1e6;
// Share of the machine's capacity that this project uses.
constexpr double kMinBusy = 0.1;
constexpr double kMaxBusy = 0.5;
constexpr std::uint64_t kMaxJobs = 4;  // of a device, between two reports
constexpr double kFailing = 0.2;       // share of reports with a job that has failed

std::uint64_t DrawOf(std::uint64_t host, std::uint32_t report) { return host * kMaxReports + report; }

}  // namespace

enum class Generator::ReportFate : std::uint8_t {
  kGood,
  kLate,      // sent after the next report
  kRepeated,  // sent again after the next report
  kLost,
  kRestarted,  // the client was reinstalled before, so its counters restart
  kGreedy,     // 10,000 times the machine's work, on a million GPUs
  kWrongHost,
  kNegative
};

bool Generator::IsMachine(std::uint64_t host) const { return Chance(options_.machines, host, kMachine); }

Generator::ReportFate Generator::FateOf(std::uint64_t host, std::uint32_t report) const {
  const std::uint64_t draw = DrawOf(host, report);
  if (!Chance(options_.bad_reports, draw, kBadReport)) return ReportFate::kGood;
  return static_cast<ReportFate>(1 + Below(draw, kMachineFate, kBadMachineFates));
}

// Evenly spaced over the span: report n of every host comes before report n + 1 of any host.
double Generator::TimeOfReport(std::uint64_t host, std::uint32_t report) const {
  const std::uint64_t number = report * options_.hosts + host - 1;
  return std::floor(options_.start_time +
                    options_.span * (static_cast<double>(number + 1) / static_cast<double>(reports_ + 1)));
}

std::string Generator::MachineEvent(std::uint64_t host, std::uint64_t user, std::uint64_t id,
                                    double time) const {
  return wire::EncodeEvent(
      {.head = {.id = id, .project = ProjectId(options_.project), .time = time},
       .body = wire::MachineHost{.machine = host, .host = HostId(host), .user = UserId(user)}});
}

// Adds the machine's work between this report and the previous one.
void Generator::AddWork(std::uint64_t host, std::uint32_t report, ReportFate fate, Reporter* machine) const {
  if (fate == ReportFate::kRestarted) machine->cpu = machine->gpu = {};
  const double since = report > 0 ? TimeOfReport(host, report - 1) : options_.start_time;
  const double passed = TimeOfReport(host, report) - since;
  const std::uint64_t draw = DrawOf(host, report);
  const auto add = [&](bool cpu, wire::ResourceCounter& counter) {
    const std::uint64_t of_device = draw * 2 + (cpu ? 0 : 1);
    const double busy = kMinBusy + (kMaxBusy - kMinBusy) * Unit(of_device, kBusy);
    const double run_time =
        passed * busy * (cpu ? CpusOf(host) : 1) * (fate == ReportFate::kGreedy ? kGreed : 1);
    const std::uint64_t jobs = 1 + Below(of_device, kJobs, kMaxJobs);
    counter.credit +=
        credit::CreditOfFlops(run_time * (cpu ? CpuFlopsOf(host) : GpuFlopsOf(host)), credit::Constants{});
    counter.run_time += run_time;
    counter.jobs += jobs;
    if (!Chance(kFailing, of_device, kFails)) return;
    counter.failed_jobs += 1;
    counter.failed_run_time += run_time / static_cast<double>(jobs) * Unit(of_device, kFailedPart);
  };
  add(true, machine->cpu);
  if (IsGpuHost(host)) add(false, machine->gpu);
}

std::string Generator::ReportEvent(std::uint64_t host, std::uint32_t report, ReportFate fate,
                                   const Reporter& machine) const {
  wire::EstimatedCredit body;
  body.machine = host;
  body.host = HostId(fate == ReportFate::kWrongHost ? host % options_.hosts + 1 : host);
  body.cpus = CpusOf(host);
  body.cpu_flops = CpuFlopsOf(host);
  body.counters.push_back(machine.cpu);
  body.counters.back().resource = credit::Resource::kCpu;
  if (IsGpuHost(host)) {
    body.gpus = 1;
    body.gpu_flops = GpuFlopsOf(host);
    body.counters.push_back(machine.gpu);
    body.counters.back().resource = credit::Resource::kNvidia;
  }
  if (fate == ReportFate::kGreedy) body.gpus = kGreedyGpus;
  if (fate == ReportFate::kNegative) body.counters[0].credit = -1;
  return wire::EncodeEvent(
      {.head = {.id = report + 1, .project = ProjectId(options_.project), .time = TimeOfReport(host, report)},
       .body = std::move(body)});
}

// Sends the next report in turn, and the report that was held back before.
void Generator::NextReport() {
  const std::uint64_t host = 1 + reports_made_ % options_.hosts;
  const auto report = static_cast<std::uint32_t>(reports_made_ / options_.hosts);
  ++reports_made_;
  if (host == 1) reporter_ = 0;
  if (!IsMachine(host)) return;
  if (report == 0) reporters_.emplace_back();
  Reporter& machine = reporters_[reporter_++];
  const ReportFate fate = FateOf(host, report);
  AddWork(host, report, fate, &machine);
  std::string held = std::exchange(machine.held, {});
  if (fate != ReportFate::kLost) {
    std::string event = ReportEvent(host, report, fate, machine);
    const bool last = report + 1 == options_.reports;
    if (!last && (fate == ReportFate::kLate || fate == ReportFate::kRepeated)) machine.held = event;
    if (last || fate != ReportFate::kLate) extra_.push_back(std::move(event));
  }
  if (!held.empty()) extra_.push_back(std::move(held));
}

}  // namespace cobblestone::traffic
