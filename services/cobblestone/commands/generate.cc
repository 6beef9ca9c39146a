#include "services/traffic/generate.h"

#include <cstdint>
#include <string>
#include <vector>

#include "services/cli/progress.h"
#include "services/cobblestone/commands/command.h"
#include "services/events/event_file.h"

namespace cobblestone {
namespace {

struct Options {
  GenerateOptions traffic;
  std::string file = "-";
  bool quiet = false;
};

int Run(const Options& options) {
  if (Status status = CheckGenerateOptions(options.traffic); !status.ok()) return TellError(status);
  auto writer = EventWriter::Open(options.file);
  if (!writer.ok()) return TellError(writer.status());
  Generator generator(options.traffic);
  Progress progress("events", options.quiet);
  std::string envelope;
  for (std::uint64_t events = 0; generator.Next(&envelope);) {
    if (Status status = (*writer)->Write(envelope); !status.ok()) return TellError(status);
    if ((++events & 0x3ff) == 0)
      progress.Show({.done = generator.results_sent(), .all = generator.results(), .counted = events});
  }
  progress.Finish();
  const Status closed = (*writer)->Close();
  return closed.ok() ? kExitOk : TellError(closed);
}

void AddOptions(CLI::App& verb, Options& options) {
  GenerateOptions& traffic = options.traffic;
  verb.add_option(
      "FILE", options.file,
      "where to: .jsonl, .pb, with .gz or .zst behind it; - or nothing: standard output, JSON Lines");
  const auto number = [&](const char* name, auto& value, const char* what, const char* group) {
    verb.add_option(name, value, what)->capture_default_str()->type_name("N")->group(group);
  };
  const auto share = [&](const char* name, double& value, const char* what, const char* group) {
    verb.add_option(name, value, what)->capture_default_str()->type_name("0..1")->group(group);
  };
  const auto time = [&](const char* name, double& value, const char* what) {
    verb.add_option(name, value, what)->capture_default_str()->type_name("S")->group("Time");
  };
  number("--seed", traffic.seed, "same seed and options: same bytes", "Size");
  number("--results", traffic.results, "validated in time; failed and late ones come on top", "Size");
  number("--hosts", traffic.hosts, "hosts", "Size");
  number("--users", traffic.users, "users; 0: two for three hosts", "Size");
  number("--teams", traffic.teams, "teams; 0: one for ten users", "Size");
  number("--project", traffic.project, "number of the project", "Size");

  number("--apps", traffic.apps, "apps", "Work");
  verb.add_option("--policy", traffic.policies, "of the apps, in turn: repeat it for several")
      ->allow_extra_args(false)
      ->capture_default_str()
      ->type_name("NAME")
      ->group("Work");
  number("--versions", traffic.versions, "of each app; three in eight are for GPUs", "Work");
  number("--replication", traffic.replication, "results for each workunit", "Work");
  share("--gpu-hosts", traffic.gpu_hosts, "hosts with a GPU", "Work");
  share("--anonymous-hosts", traffic.anonymous_hosts, "hosts with applications of their own", "Work");
  share("--ownerless-hosts", traffic.ownerless_hosts, "hosts that belong to nobody", "Work");
  share("--errors", traffic.errors, "results that first fail on another host", "Work");
  share("--timeouts", traffic.timeouts, "results that first time out on another host", "Work");
  share("--invalid", traffic.invalid, "results that are not valid", "Work");
  share("--inconclusive", traffic.inconclusive, "workunits at which the validator must look twice", "Work");
  share("--late", traffic.late, "workunits with one more result after they are decided", "Work");
  share("--cheats", traffic.cheats, "results that claim thirty times their time", "Work");

  share("--out-of-order", traffic.out_of_order, "validations that come before their completion", "Delivery");
  share("--duplicates", traffic.duplicates, "events that come twice, byte by byte", "Delivery");
  share("--conflicts", traffic.conflicts, "events that come twice, with other contents", "Delivery");
  share("--lost", traffic.lost, "events that never come", "Delivery");
  share("--bad-lines", traffic.bad_lines, "lines that must be refused, for each result", "Delivery");
  verb.add_flag_callback(
          "--no-members", [&traffic] { traffic.members = false; },
          "only results: no catalogue, teams, users, hosts before them")
      ->group("Delivery");
  verb.add_flag("--dispatches", traffic.dispatches, "an event for each result that is sent to a host")
      ->group("Delivery");
  number("--trickles", traffic.trickles, "messages of each result while it runs; needs --dispatches",
         "Delivery");
  share("--bad-trickles", traffic.bad_trickles, "of them late, repeated, lost, rewound, forged or wrong",
        "Delivery");
  share("--machines", traffic.machines, "hosts that an account manager reports estimated credit of",
        "Delivery");
  number("--reports", traffic.reports, "of each such machine, evenly over the time", "Delivery");
  share("--bad-reports", traffic.bad_reports,
        "of them late, repeated, lost, of counters begun anew, beyond all limits or wrong", "Delivery");
  share("--team-changes", traffic.team_changes, "users that change their team now and then", "Delivery");
  share("--owner-changes", traffic.owner_changes, "hosts that change their owner now and then", "Delivery");

  time("--start-time", traffic.start_time, "of the first result, UNIX seconds");
  time("--span", traffic.span, "seconds of event time from the first result sent to the last one back");
  time("--tick-period", traffic.tick_period, "seconds between tick events; 0: none, the pipeline makes them");
  time("--delay-bound", traffic.delay_bound, "seconds, of every app");
  time("--result-window", traffic.result_window, "seconds, of every app; 0: the rule");
  verb.add_flag("--quiet", options.quiet, "no progress");
}

}  // namespace

void AddGenerate(Program& program) {
  CLI::App* verb =
      AddVerb<Options>(program, "generate",
                       "Writes synthetic traffic of a project, for trials and load tests", AddOptions, Run);
  verb->footer(
      "Examples:  cobblestone generate --results 100000 --hosts 5000 traffic.pb.zst\n"
      "           cobblestone generate --bad-lines 0.01 | cobblestone ingest --source try --data try");
}

}  // namespace cobblestone
