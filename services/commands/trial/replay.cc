#include "services/replay/replay.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "services/commands/command.h"
#include "services/replay/comparison.h"

namespace cobblestone::commands {

using replay::DescribeComparison;
using replay::PolicyTotals;
using replay::Replay;
using replay::ReplayOptions;

namespace {

struct ReplayArguments {
  ReplayOptions replay;
  bool as_json = false;
};

// A 128-bit amount with six decimals.
std::string CreditText(credit::MicroTotal micro) {
  const bool negative = micro < 0;
  auto rest = negative ? -static_cast<unsigned __int128>(micro) : static_cast<unsigned __int128>(micro);
  std::string text;
  for (int digit = 0; digit < 7 || rest != 0; ++digit, rest /= 10) {
    if (digit == 6) text.insert(text.begin(), '.');
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  return (negative ? "-" : "") + text;
}

nlohmann::json TotalsJson(const PolicyTotals& totals) {
  nlohmann::json apps = nlohmann::json::array();
  for (const auto& [app, micro] : totals.by_app)
    apps.push_back({{"app", app}, {"credit", CreditText(micro)}});
  return {{"policy", totals.policy},
          {"grants", totals.grants},
          {"credit", CreditText(totals.micro)},
          {"partial_grants", totals.partials},
          {"partial_credit", CreditText(totals.partial_micro)},
          {"reversals", totals.reversals},
          {"reversed_credit", CreditText(totals.reversal_micro)},
          {"apps", apps},
          {"devices",
           {{"cpu", CreditText(totals.by_device[0])},
            {"gpu", CreditText(totals.by_device[1])},
            {"anonymous", CreditText(totals.by_device[2])}}}};
}

nlohmann::json ChangesJson(const replay::Changes& changes) {
  nlohmann::json json = {{"number", changes.all}, {"bins", changes.bins}};
  if (std::isfinite(changes.median)) json["median"] = changes.median;
  return json;
}

nlohmann::json ComparisonJson(const replay::Comparison& comparison) {
  return {{"limits", replay::kChangeLimits},
          {"users", ChangesJson(comparison.users)},
          {"hosts", ChangesJson(comparison.hosts)},
          {"hosts_by_device",
           {{"cpu", ChangesJson(comparison.hosts_by_device[0])},
            {"gpu", ChangesJson(comparison.hosts_by_device[1])},
            {"anonymous", ChangesJson(comparison.hosts_by_device[2])}}},
          {"users_gaining_relatively", comparison.users_above},
          {"users_losing_relatively", comparison.users_below}};
}

int RunReplay(const ReplayArguments& options) {
  ReplayOptions replay = options.replay;
  Progress progress("bytes", options.as_json);
  replay.progress = [&](std::uint64_t done, std::uint64_t all) {
    progress.Show({.done = done, .all = all, .counted = done});
  };
  const auto summary = Replay(replay);
  progress.Finish();
  if (!summary.ok()) return ReportError(summary.status());
  const bool compared = options.replay.compares();
  if (options.as_json) {
    nlohmann::json json = {{"lines", summary->lines},
                           {"bad_lines", summary->bad_lines},
                           {"refused", summary->refused},
                           {"events", summary->events},
                           {"first", TotalsJson(summary->first)}};
    if (compared) {
      json["second"] = TotalsJson(summary->second);
      json["comparison"] = ComparisonJson(replay::Compare(*summary));
    }
    PrintJson(json);
  } else {
    if (options.replay.switch_at > 0)
      std::printf("counted from event time %.0f on:\n", options.replay.switch_at);
    std::printf("%s events in %s lines; %s results granted %s Cobblestones (policy: %s)\n",
                WithCommas(summary->events).c_str(), WithCommas(summary->lines).c_str(),
                WithCommas(summary->first.grants).c_str(), CreditText(summary->first.micro).c_str(),
                summary->first.policy.c_str());
    if (summary->first.partials > 0) {
      std::printf(
          "partial grants: %s Cobblestones in %s grants; reversed: %s in %s reversals\n",
          CreditText(summary->first.partial_micro).c_str(), WithCommas(summary->first.partials).c_str(),
          CreditText(-summary->first.reversal_micro).c_str(), WithCommas(summary->first.reversals).c_str());
    }
    if (summary->bad_lines > 0)
      std::printf("%s lines are not events\n", WithCommas(summary->bad_lines).c_str());
    if (summary->refused > 0) std::printf("%s events were refused\n", WithCommas(summary->refused).c_str());
    if (compared) std::printf("\n%s", DescribeComparison(*summary).c_str());
  }
  return summary->bad_lines > 0 || summary->refused > 0 ? kExitProblems : kExitOk;
}

}  // namespace

void AddReplay(Program& program) {
  AddVerb<ReplayArguments>(
      program, "replay",
      "What-if analysis: processes a file of events in memory, under a policy of your choice",
      [](Verb& verb, ReplayArguments& options) {
        ReplayOptions& replay = options.replay;
        verb.Add("FILE", replay.file, "file of events, in any format of `ingest`").Required();
        verb.Add("--policy", replay.policy, "policy of every app (default: the policies in the file)")
            .Type("NAME");
        verb.Add(
                "--compare-policy", replay.compare_policy,
                "policy of a second run on the same events; the command says who gains and who loses: users, "
                "hosts, kinds of devices, apps")
            .Type("NAME");
        verb.Add(
                "--switch-at", replay.switch_at,
                "the second run changes its policy and apps at this event time, with the averages of before, as a "
                "running project would; only credit from then on counts in both runs")
            .Type("UNIX-S");
        verb.Add("--apps", replay.apps,
                 "file of app events that replace the app events of the input, for example with other "
                 "trickle rules or another trickle_settlement")
            .Type("FILE");
        verb.Add("--compare-apps", replay.compare_apps,
                 "as --apps, for a second run that is compared with the first run")
            .Type("FILE");
        verb.Add("--partitions", replay.partitions, "number of partitions; the results do not depend on it")
            .Type("N")
            .ShowDefault();
        verb.Add("--project", replay.project, "number of the project, for golden files")
            .Type("P")
            .ShowDefault();
        verb.Add("--tick-period", replay.tick_period,
                 "seconds of event time between generated ticks; 0: only the ticks in the file")
            .Type("S")
            .ShowDefault();
        verb.Add("--grants-out", replay.grants_out, "output file: every granted result, as JSON Lines")
            .Type("FILE");
        verb.Add("--state-out", replay.state_out,
                 "output file: the averages and totals at the end, as JSON Lines")
            .Type("FILE");
        verb.Flag("--json", options.as_json, "print the summary as JSON");
        verb.Footer(
            "Replay writes only the files of --grants-out and --state-out; docs/guides/what-if.md describes them.\n"
            "Exit code 1: some lines were not events, or some events were refused.\n\n"
            "Example:  cobblestone replay events.jsonl.gz --compare-policy robust --switch-at 1751328000\n"
            "          cobblestone replay events.jsonl.gz --compare-apps other-trickles.jsonl");
      },
      RunReplay);
}

}  // namespace cobblestone::commands
