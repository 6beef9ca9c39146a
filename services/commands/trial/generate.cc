#include "services/traffic/generate.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "services/commands/command.h"
#include "services/events/event_file.h"
#include "services/traffic/federation.h"

namespace cobblestone::commands {

using events::EventWriter;
using traffic::CheckGenerateOptions;
using traffic::GenerateOptions;
using traffic::Generator;

namespace {

struct GenerateArguments {
  GenerateOptions traffic;
  // Of a project or of a federation, with different defaults.
  std::optional<std::uint64_t> hosts;
  std::optional<std::uint64_t> users;
  bool federation = false;
  traffic::FederationOptions files;
  bool uncompressed = false;
  std::string directory;
  std::string file = "-";
  bool quiet = false;
};

int RunFederation(const GenerateArguments& options) {
  traffic::FederationOptions files = options.files;
  files.seed = options.traffic.seed;
  files.users = options.users.value_or(files.users);
  files.hosts = options.hosts.value_or(files.hosts);
  files.start_time = static_cast<std::uint64_t>(std::clamp(options.traffic.start_time, 0.0, 1e12));
  files.compress = !options.uncompressed;
  if (options.directory.empty())
    return ReportError(Status::InvalidArgument("--federation needs a directory for its files: --to DIR"));
  Progress progress("records", options.quiet);
  const Status written =
      WriteFederation(files, options.directory, std::max(1u, std::thread::hardware_concurrency()),
                      [&](const traffic::FederationPoint& point) {
                        progress.Show({.done = point.done, .all = point.all, .counted = point.done});
                      });
  progress.Finish();
  return written.ok() ? kExitOk : ReportError(written);
}

int RunGenerate(const GenerateArguments& options) {
  if (options.federation) return RunFederation(options);
  GenerateOptions wanted = options.traffic;
  wanted.hosts = options.hosts.value_or(wanted.hosts);
  wanted.users = options.users.value_or(wanted.users);
  if (Status status = CheckGenerateOptions(wanted); !status.ok()) return ReportError(status);
  auto writer = EventWriter::Open(options.file);
  if (!writer.ok()) return ReportError(writer.status());
  Generator generator(wanted);
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

void AddFederationOptions(Verb& verb, GenerateArguments& options) {
  constexpr const char* kGroup = "Federation";
  verb.Flag(
          "--federation", options.federation,
          "write statistics files of many BOINC projects instead, for a federation hub; of the options above only\n"
          "--seed, --users, --hosts and --start-time count")
      .Group(kGroup);
  verb.Add("--to", options.directory,
           "directory of the files: day-D/project-P/, and hub.yaml for a hub of them")
      .Type("DIR")
      .Group(kGroup);
  verb.Add("--projects", options.files.projects, "number of projects").ShowDefault().Type("N").Group(kGroup);
  verb.Add("--days", options.files.days, "number of days; on each one record in 20 changes")
      .ShowDefault()
      .Type("N")
      .Group(kGroup);
  verb.Add("--scale", options.files.scale, "multiplies the numbers of users and hosts")
      .ShowDefault()
      .Type("X")
      .Group(kGroup);
  verb.Add("--base-url", options.files.base_url, "URL under which the directory of a day will be served")
      .ShowDefault()
      .Type("URL")
      .Group(kGroup);
  verb.Flag("--uncompressed", options.uncompressed, "write .xml files instead of .gz").Group(kGroup);
}

void AddOptions(Verb& verb, GenerateArguments& options) {
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
  number("--results", traffic.results,
         "number of results validated in time; failed and late results are additional", "Size");
  verb.Add("--hosts", options.hosts, "number of hosts (default: 1,000; of a federation 30 million)")
      .Type("N")
      .Group("Size");
  verb.Add("--users", options.users,
           "number of users (default: two for every three hosts; of a federation 10 million)")
      .Type("N")
      .Group("Size");
  number("--teams", traffic.teams, "number of teams; 0: one for every ten users", "Size");
  number("--project", traffic.project, "number of the project", "Size");

  number("--apps", traffic.apps, "number of apps", "Work");
  verb.Add("--policy", traffic.policies, "policies of the apps, in rotation; repeatable")
      .OneEach()
      .ShowDefault()
      .Type("NAME")
      .Group("Work");
  number("--versions", traffic.versions, "versions per app; three in eight are for GPUs", "Work");
  number("--replication", traffic.replication, "results per workunit", "Work");
  share("--gpu-hosts", traffic.gpu_hosts, "share of hosts with a GPU", "Work");
  share("--anonymous-hosts", traffic.anonymous_hosts, "share of hosts on the anonymous platform", "Work");
  share("--ownerless-hosts", traffic.ownerless_hosts, "share of hosts without an owner", "Work");
  share("--errors", traffic.errors, "share of results that first fail on another host", "Work");
  share("--timeouts", traffic.timeouts, "share of results that first time out on another host", "Work");
  share("--invalid", traffic.invalid, "share of invalid results", "Work");
  share("--inconclusive", traffic.inconclusive, "share of workunits that need a second validation", "Work");
  share("--late", traffic.late, "share of workunits with one more result after the decision", "Work");
  share("--cheats", traffic.cheats, "share of results that report thirty times their real run time", "Work");

  share("--out-of-order", traffic.out_of_order, "share of validations sent before their completion",
        "Delivery");
  share("--duplicates", traffic.duplicates, "share of events sent twice with the same bytes", "Delivery");
  share("--conflicts", traffic.conflicts, "share of events sent twice with different contents", "Delivery");
  share("--lost", traffic.lost, "share of events that are never sent", "Delivery");
  share("--bad-lines", traffic.bad_lines, "number of invalid lines per result", "Delivery");
  verb.FlagOff("--no-members", traffic.members,
               "only events of results, without the catalogue, teams, users and hosts")
      .Group("Delivery");
  verb.Flag("--dispatches", traffic.dispatches, "send an event for each dispatch of a result to a host")
      .Group("Delivery");
  number("--trickles", traffic.trickles, "trickle messages per running result; needs --dispatches",
         "Delivery");
  share("--bad-trickles", traffic.bad_trickles,
        "share of trickles that are late, repeated, lost, rewound, forged or wrong", "Delivery");
  share("--machines", traffic.machines, "share of hosts whose work an account manager reports", "Delivery");
  number("--reports", traffic.reports, "reports per machine, evenly spread over the time", "Delivery");
  share("--bad-reports", traffic.bad_reports,
        "share of reports that are late, repeated, lost, restarted from 0, beyond all limits or wrong",
        "Delivery");
  share("--team-changes", traffic.team_changes, "share of users who change their team", "Delivery");
  share("--owner-changes", traffic.owner_changes, "changes of owner per host", "Delivery");

  time("--start-time", traffic.start_time, "time of the first result, UNIX seconds");
  time("--span", traffic.span,
       "seconds of event time from the first dispatch to the last return of a result");
  time("--tick-period", traffic.tick_period,
       "seconds between tick events; 0: no ticks in the file (the pipeline creates ticks)");
  time("--delay-bound", traffic.delay_bound, "delay bound of every app, seconds");
  time("--result-window", traffic.result_window,
       "result window of every app, seconds; 0: the default of the rules");
  AddFederationOptions(verb, options);
  verb.Flag("--quiet", options.quiet, "do not show progress");
}

}  // namespace

void AddGenerate(Program& program) {
  Verb verb = AddVerb<GenerateArguments>(
      program, "generate", "Generates synthetic traffic of a project, for trials and load tests", AddOptions,
      RunGenerate);
  verb.Footer(
      "Examples:  cobblestone generate --results 100000 --hosts 5000 traffic.pb.zst\n"
      "           cobblestone generate --bad-lines 0.01 | cobblestone ingest --source try --data try\n"
      "           cobblestone generate --federation --scale 0.01 --days 2 --to feeds");
}

}  // namespace cobblestone::commands
