#include "services/traffic/generate.h"

#include <cstdint>
#include <string>
#include <vector>

#include "services/cobblestone/commands/command.h"
#include "services/events/event_file.h"

namespace cobblestone {

using events::EventWriter;
using traffic::CheckGenerateOptions;
using traffic::GenerateOptions;
using traffic::Generator;

namespace {

struct Options {
  GenerateOptions traffic;
  std::string file = "-";
  bool quiet = false;
};

int Run(const Options& options) {
  if (Status status = CheckGenerateOptions(options.traffic); !status.ok()) return ReportError(status);
  auto writer = EventWriter::Open(options.file);
  if (!writer.ok()) return ReportError(writer.status());
  Generator generator(options.traffic);
  Progress progress("events", options.quiet);
  std::string envelope;
  for (std::uint64_t events = 0; generator.Next(&envelope);) {
    if (Status status = (*writer)->Write(envelope); !status.ok()) return ReportError(status);
    if ((++events & 0x3ff) == 0)
      progress.Show({.done = generator.results_sent(), .all = generator.results(), .counted = events});
  }
  progress.Finish();
  const Status closed = (*writer)->Close();
  return closed.ok() ? kExitOk : ReportError(closed);
}

void AddOptions(Verb& verb, Options& options) {
  GenerateOptions& traffic = options.traffic;
  verb.Add(
      "FILE", options.file,
      "output file: .jsonl or .pb, optionally with .gz or .zst (default: -, JSON Lines to standard output)");
  const auto number = [&](const char* name, auto& value, const char* what, const char* group) {
    verb.Add(name, value, what).ShowDefault().Type("N").Group(group);
  };
  const auto share = [&](const char* name, double& value, const char* what, const char* group) {
    verb.Add(name, value, what).ShowDefault().Type("0..1").Group(group);
  };
  const auto time = [&](const char* name, double& value, const char* what) {
    verb.Add(name, value, what).ShowDefault().Type("S").Group("Time");
  };
  number("--seed", traffic.seed, "seed; the same seed and options give the same bytes", "Size");
  number("--results", traffic.results, "results validated in time, without failed and late results", "Size");
  number("--hosts", traffic.hosts, "hosts", "Size");
  number("--users", traffic.users, "users; 0: two for every three hosts", "Size");
  number("--teams", traffic.teams, "teams; 0: one for every ten users", "Size");
  number("--project", traffic.project, "number of the project", "Size");

  number("--apps", traffic.apps, "apps", "Work");
  verb.Add("--policy", traffic.policies, "policies of the apps, in turn; repeatable")
      .OneEach()
      .ShowDefault()
      .Type("NAME")
      .Group("Work");
  number("--versions", traffic.versions, "versions of each app; three in eight are for GPUs", "Work");
  number("--replication", traffic.replication, "results per workunit", "Work");
  share("--gpu-hosts", traffic.gpu_hosts, "hosts with a GPU", "Work");
  share("--anonymous-hosts", traffic.anonymous_hosts, "hosts with anonymous platform applications", "Work");
  share("--ownerless-hosts", traffic.ownerless_hosts, "hosts without an owner", "Work");
  share("--errors", traffic.errors, "results that fail on another host first", "Work");
  share("--timeouts", traffic.timeouts, "results that time out on another host first", "Work");
  share("--invalid", traffic.invalid, "invalid results", "Work");
  share("--inconclusive", traffic.inconclusive, "workunits that need a second validation", "Work");
  share("--late", traffic.late, "workunits with one more result after the decision", "Work");
  share("--cheats", traffic.cheats, "results that report thirty times their run time", "Work");

  share("--out-of-order", traffic.out_of_order, "validations delivered before their completion", "Delivery");
  share("--duplicates", traffic.duplicates, "events delivered twice with the same bytes", "Delivery");
  share("--conflicts", traffic.conflicts, "events delivered twice with different contents", "Delivery");
  share("--lost", traffic.lost, "events that are never delivered", "Delivery");
  share("--bad-lines", traffic.bad_lines, "invalid lines per result", "Delivery");
  verb.FlagOff("--no-members", traffic.members,
               "results only, without events of the catalogue, teams, users and hosts")
      .Group("Delivery");
  verb.Flag("--dispatches", traffic.dispatches, "an event for each dispatch of a result to a host")
      .Group("Delivery");
  number("--trickles", traffic.trickles, "trickle messages of each running result; needs --dispatches",
         "Delivery");
  share("--bad-trickles", traffic.bad_trickles,
        "trickles that are late, repeated, lost, rewound, forged or wrong", "Delivery");
  share("--machines", traffic.machines, "hosts with estimated credit reported by an account manager",
        "Delivery");
  number("--reports", traffic.reports, "reports of each machine, evenly spread over the time", "Delivery");
  share("--bad-reports", traffic.bad_reports,
        "reports that are late, repeated, lost, with restarted counters, beyond all limits or wrong",
        "Delivery");
  share("--team-changes", traffic.team_changes, "users that change teams", "Delivery");
  share("--owner-changes", traffic.owner_changes, "hosts that change owners", "Delivery");

  time("--start-time", traffic.start_time, "time of the first result, UNIX seconds");
  time("--span", traffic.span,
       "seconds of event time from the first result sent to the last result returned");
  time("--tick-period", traffic.tick_period,
       "seconds between tick events; 0: no ticks in the file (the pipeline creates ticks)");
  time("--delay-bound", traffic.delay_bound, "delay bound of every app, seconds");
  time("--result-window", traffic.result_window,
       "result window of every app, seconds; 0: the default of the rules");
  verb.Flag("--quiet", options.quiet, "do not show progress");
}

}  // namespace

void AddGenerate(Program& program) {
  Verb verb = AddVerb<Options>(program, "generate",
                               "Generates synthetic traffic of a project, for trials and load tests",
                               AddOptions, Run);
  verb.Footer(
      "Examples:  cobblestone generate --results 100000 --hosts 5000 traffic.pb.zst\n"
      "           cobblestone generate --bad-lines 0.01 | cobblestone ingest --source try --data try");
}

}  // namespace cobblestone
