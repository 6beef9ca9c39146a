#include "services/commands/trial/fleet.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "services/events/event_file.h"
#include "services/fleet/fleet.h"
#include "services/fleet/parameters.h"
#include "services/fleet/truth_file.h"

namespace cobblestone::commands {

using events::EventWriter;
using fleet::Fleet;
using fleet::FleetOptions;

namespace {

struct RunOptions {
  FleetOptions fleet;
  std::string like = "einstein";
  std::string attack = "none";
  std::string work_fetch = "simple";
  std::vector<std::string> parameters;
  std::string out = "-";
  std::string truth;
  bool quiet = false;
};

Result<FleetOptions> OptionsOf(const RunOptions& options) {
  FleetOptions wanted = options.fleet;
  const auto preset = fleet::PresetByName(options.like);
  if (!preset) {
    return Status::InvalidArgument("unknown preset '" + options.like + "'; known are einstein, seti, lhc");
  }
  wanted.like = *preset;
  wanted.parameters = fleet::ParametersOf(*preset);
  for (const std::string& assignment : options.parameters) {
    if (Status status = fleet::SetParameter(assignment, &wanted.parameters); !status.ok()) return status;
  }
  const auto attack = fleet::AttackByName(options.attack);
  if (!attack.ok()) return attack.status();
  wanted.attack = *attack;
  wanted.work_fetch = fleet::WorkFetchByName(options.work_fetch);
  if (wanted.work_fetch == nullptr) {
    return Status::InvalidArgument("unknown work fetch '" + options.work_fetch +
                                   "'; known are simple, seed, rec, hybrid");
  }
  if (Status status = CheckFleetOptions(wanted); !status.ok()) return status;
  return wanted;
}

void Summarize(const fleet::FleetCounts& counts, const fleet::FleetMeasures& measures) {
  const auto line = [](const char* what, std::uint64_t count) {
    std::fprintf(stderr, "%-28s %15s\n", what, WithCommas(count).c_str());
  };
  line("events", counts.events);
  line("hosts", counts.hosts);
  line("dispatches", counts.dispatches);
  line("sent again after a loss", counts.resends);
  line("returned with success", counts.results);
  line("failed or aborted", counts.failures);
  line("timed out", counts.timeouts);
  line("judged valid", counts.valid);
  line("judged invalid", counts.invalid);
  line("inconclusive", counts.inconclusive);
  line("returned after the decision", counts.late);
  line("trickles", counts.trickles);
  line("machine reports", counts.reports);
  line("requests for work", counts.requests);
  const auto ratio = [](const char* what, double value) {
    std::fprintf(stderr, "%-28s %15.3f\n", what, value);
  };
  ratio("requests per job", measures.requests_per_job);
  ratio("idle CPUs", measures.idle[0]);
  ratio("idle GPUs", measures.idle[1]);
  ratio("share violation", measures.share_violation);
}

int RunFleet(const RunOptions& options) {
  const auto wanted = OptionsOf(options);
  if (!wanted.ok()) return ReportError(wanted.status());
  auto writer = EventWriter::Open(options.out);
  if (!writer.ok()) return ReportError(writer.status());
  fleet::TruthFile truth;
  if (!options.truth.empty()) {
    if (Status status = truth.Open(options.truth); !status.ok()) return ReportError(status);
  }
  Fleet world(
      *wanted, options.truth.empty() ? std::function<void(const fleet::Truth&)>()
                                     : [&](const fleet::Truth& row) { truth.Write(row); });
  Progress progress("events", options.quiet);
  std::string_view envelope;
  for (std::uint64_t events = 0; world.Next(&envelope);) {
    if (Status status = (*writer)->Write(envelope); !status.ok()) return ReportError(status);
    if ((++events & 0x3ff) == 0) {
      progress.Show({.done = static_cast<std::uint64_t>(world.now()),
                     .all = static_cast<std::uint64_t>(world.end()),
                     .counted = events});
    }
  }
  progress.Finish();
  if (Status status = (*writer)->Close(); !status.ok()) return ReportError(status);
  if (Status status = truth.Close(); !status.ok()) return ReportError(status);
  if (!options.quiet) Summarize(world.counts(), world.measures());
  return kExitOk;
}

struct NoOptions {};

int PrintParameters(const NoOptions&) {
  std::fputs(fleet::ParameterTable().c_str(), stdout);
  return kExitOk;
}

void AddFleetRun(Program& program, Verb& verb) {
  Verb run = AddVerb<RunOptions>(
      program, verb, "run", "Simulates hosts and projects, and writes their events and the truth about them",
      [](Verb& sub, RunOptions& options) {
        FleetOptions& world = options.fleet;
        sub.Add("--hosts", world.hosts, "number of hosts at one time").ShowDefault().Type("N");
        sub.Add("--days", world.days, "days of event time").ShowDefault().Type("D");
        sub.Add("--seed", world.seed, "seed; the same seed and options give the same bytes")
            .ShowDefault()
            .Type("N");
        sub.Add("--like", options.like, "the project whose hosts and jobs are simulated: einstein, seti, lhc")
            .ShowDefault()
            .Type("NAME");
        sub.Add(
               "--out", options.out,
               "file of the events: .jsonl or .pb, optionally with .gz or .zst (default: -, JSON Lines to standard\n"
               "output)")
            .Type("FILE");
        sub.Add("--truth", options.truth, "file of what each returned result deserves, CSV").Type("FILE");
        sub.Add("--projects", world.projects, "number of projects, 1 to 3: that of --like, then others")
            .ShowDefault()
            .Type("N");
        sub.Add("--policy", world.policy, "policy of all apps").ShowDefault().Type("NAME");
        sub.Add("--set", options.parameters,
                "changes a parameter; repeatable. `cobblestone fleet parameters` lists all")
            .OneEach()
            .Type("NAME=VALUE");
        sub.Add("--attackers", world.attackers, "number of additional hosts that attack")
            .ShowDefault()
            .Type("N");
        sub.Add(
               "--attack", options.attack,
               "none (their honest twin), inflate (ten times the elapsed time), fabricate (invented outputs)")
            .ShowDefault()
            .Type("NAME");
        sub.Add(
               "--work-fetch", options.work_fetch,
               "how clients choose the project to ask for work: simple, seed, rec, hybrid (docs/work-fetch.md)")
            .ShowDefault()
            .Type("NAME");
        sub.Add("--start-time", world.start_time, "start of the simulation, UNIX seconds")
            .ShowDefault()
            .Type("S");
        sub.Flag("--quiet", options.quiet, "show neither progress nor summary");
      },
      RunFleet);
  run.Footer(
      "docs/fleet.md describes the simulated world and the file of the truth.\n\n"
      "Example:  cobblestone fleet run --hosts 1000 --days 10 --like lhc --out lhc.pb.zst --truth truth.csv");
}

void AddFleetParameters(Program& program, Verb& verb) {
  AddVerb<NoOptions>(
      program, verb, "parameters",
      "Prints the parameters of `fleet run`, with unit, values and source of each", [](Verb&, NoOptions&) {},
      PrintParameters);
}

}  // namespace

void AddFleet(Program& program) {
  Verb verb =
      program.root.Sub("fleet", "Simulates a fleet of volunteers' hosts, with the truth about each result");
  AddFleetRun(program, verb);
  AddFleetParameters(program, verb);
  AddFleetExample(program, verb);
}

}  // namespace cobblestone::commands
