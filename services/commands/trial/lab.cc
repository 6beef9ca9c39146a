#include "services/commands/trial/lab.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "common/credit/policies/policy.h"
#include "services/lab/report.h"
#include "services/lab/search.h"

namespace cobblestone::commands {
namespace {

struct LabRunOptions {
  lab::LabOptions lab;
  std::vector<std::string> attacks;
  std::vector<std::string> policies = {"boinc", "creditnew"};
  std::vector<std::string> replications = {"single", "double", "adaptive", "advised"};
  std::vector<std::string> sizes = {"noisy"};
  std::vector<std::string> worlds = {"uniform"};
  std::vector<std::string> parameters;
  std::string json;
  std::string html;
  bool quiet = false;
};

Status WriteReport(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return Status::Ok();
  return Status::Unwritten(
      errno, "cannot write " + path + "; check the directory, the permissions and the free space");
}

// "a,b c" -> a, b, c.
std::vector<std::string> Words(const std::vector<std::string>& lists) {
  std::vector<std::string> words;
  for (const std::string& list : lists) {
    for (std::size_t begin = 0; begin <= list.size();) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      words.push_back(list.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return words;
}

Status ReadParameters(const std::vector<std::string>& assignments, lab::LabOptions* options) {
  options->parameters = lab::LabParameters();
  options->changes = assignments;
  fleet::Parameters changed = options->parameters;
  for (const std::string& assignment : assignments) {
    if (Status status = fleet::SetParameter(assignment, &changed); !status.ok()) return status;
  }
  return Status::Ok();
}

Result<lab::Condition> ConditionOf(const std::string& policy, const std::string& replication,
                                   const std::string& sizes, const std::string& world) {
  if (!credit::PolicyKindByName(policy))
    return Status::InvalidArgument("unknown policy '" + policy + "'; docs/rules.md lists the policies");
  const auto results = lab::ReplicationByName(replication);
  if (!results.ok()) return results.status();
  const auto model = lab::SizesByName(sizes);
  if (!model.ok()) return model.status();
  const auto population = lab::WorldByName(world);
  if (!population.ok()) return population.status();
  return lab::Condition{policy, *results, *model, *population};
}

Result<lab::LabOptions> LabOptionsOf(const LabRunOptions& options) {
  lab::LabOptions wanted = options.lab;
  auto attacks = lab::ReadAttacks(options.attacks);
  if (!attacks.ok()) return attacks.status();
  wanted.attacks = *std::move(attacks);
  if (Status status = ReadParameters(options.parameters, &wanted); !status.ok()) return status;
  for (const std::string& policy : Words(options.policies)) {
    for (const std::string& replication : Words(options.replications)) {
      for (const std::string& sizes : Words(options.sizes)) {
        for (const std::string& world : Words(options.worlds)) {
          auto condition = ConditionOf(policy, replication, sizes, world);
          if (!condition.ok()) return condition.status();
          wanted.conditions.push_back(*std::move(condition));
        }
      }
    }
  }
  return wanted;
}

int RunLab(const LabRunOptions& options) {
  auto wanted = LabOptionsOf(options);
  if (!wanted.ok()) return ReportError(wanted.status());
  // A report that cannot be written is known before hours of simulation.
  for (const std::string& path : {options.json, options.html}) {
    if (path.empty()) continue;
    if (Status status = WriteReport(path, ""); !status.ok()) return ReportError(status);
  }
  Progress progress("worlds", options.quiet);
  wanted->progress = [&](std::uint64_t done, std::uint64_t all) {
    progress.Show({.done = done, .all = all, .counted = done});
  };
  const auto measured = lab::RunLaboratory(*wanted);
  progress.Finish();
  if (!measured.ok()) return ReportError(measured.status());
  std::fputs(lab::ReportTable(*measured).c_str(), stdout);
  if (!options.json.empty()) {
    const Status status = WriteReport(options.json, lab::ReportJson(*wanted, *measured).dump(2) + "\n");
    if (!status.ok()) return ReportError(status);
  }
  if (!options.html.empty()) {
    const Status status = WriteReport(options.html, lab::ReportPage(*wanted, *measured));
    if (!status.ok()) return ReportError(status);
  }
  return kExitOk;
}

struct LabSearchOptions {
  lab::SearchOptions search = {.lab = {.hosts = 100, .jobs = 300, .seeds = 2}};
  std::string policy = "robust";
  std::string replication = "single";
  std::string sizes = "noisy";
  std::string world = "uniform";
  std::vector<std::string> parameters;
  std::string out;
  bool quiet = false;
};

int SearchLab(const LabSearchOptions& options) {
  lab::SearchOptions wanted = options.search;
  if (Status status = ReadParameters(options.parameters, &wanted.lab); !status.ok())
    return ReportError(status);
  const auto condition = ConditionOf(options.policy, options.replication, options.sizes, options.world);
  if (!condition.ok()) return ReportError(condition.status());
  wanted.lab.conditions = {*condition};
  Progress progress("attacks", options.quiet);
  wanted.progress = [&](std::uint32_t tried, double) {
    progress.Show({.done = tried, .all = wanted.attacks, .counted = tried});
  };
  const auto found = lab::SearchAttack(wanted);
  progress.Finish();
  if (!found.ok()) return ReportError(found.status());
  const std::string text = "# The best of " + std::to_string(wanted.attacks) + " attacks on policy " +
                           options.policy + ", " + options.replication + " replication, " + options.sizes +
                           " sizes, search " + std::to_string(wanted.seed) + ": gain " +
                           lab::FigureText(found->figures.gain) + ", income " +
                           lab::FigureText(found->figures.income) + ".\n" +
                           lab::AttackText({.id = "S" + std::to_string(wanted.seed),
                                            .name = "found by search " + std::to_string(wanted.seed),
                                            .attack = found->attack});
  std::fputs(text.c_str(), stdout);
  if (options.out.empty()) return kExitOk;
  if (Status status = WriteReport(options.out, text); !status.ok()) return ReportError(status);
  return kExitOk;
}

}  // namespace

void AddLab(Program& program) {
  Verb verb =
      program.root.Sub("lab", "Measures what attackers gain under a policy, and what honest hosts lose");
  Verb run = AddVerb<LabRunOptions>(
      program, verb, "run",
      "Runs attacks and their attack-free twins through the pipeline, and compares them",
      [](Verb& sub, LabRunOptions& options) {
        sub.Add("ATTACK", options.attacks, "files of attacks, or directories of such files").Required();
        sub.Add("--policy", options.policies, "policies, separated by commas (default: boinc,creditnew)")
            .OneEach()
            .Type("NAME,...");
        sub.Add("--replication", options.replications, "of single, double, adaptive, advised (default: all)")
            .OneEach()
            .Type("NAME,...");
        sub.Add("--sizes", options.sizes,
                "how true sizes deviate from estimates: of accurate, noisy, bimodal (default: noisy)")
            .OneEach()
            .Type("NAME,...");
        sub.Add("--world", options.worlds, "of " + lab::WorldNames() + " (default: uniform)")
            .OneEach()
            .Type("NAME,...");
        sub.Add("--seeds", options.lab.seeds, "number of seeds, from 1")
            .ShowDefault()
            .Between(1, 10000)
            .Type("N");
        sub.Add("--hosts", options.lab.hosts, "number of honest hosts").ShowDefault().Positive().Type("N");
        sub.Add("--jobs", options.lab.jobs, "granted results of each attacker that count")
            .ShowDefault()
            .Between(20, 1000000)
            .Type("N");
        sub.Add("--threads", options.lab.threads, "worlds that run at once, from 1 (default: one per core)")
            .Between(1, 1024)
            .Type("N");
        sub.Add("--set", options.parameters,
                "changes a parameter of the population; repeatable. `cobblestone fleet parameters` lists all")
            .OneEach()
            .Type("NAME=VALUE");
        sub.Add("--json", options.json, "also write all figures of all seeds").Type("FILE");
        sub.Add("--html", options.html, "also write a page with plots, which needs no network").Type("FILE");
        sub.Flag("--quiet", options.quiet, "show no progress");
      },
      RunLab);
  run.Footer(
      "docs/lab.md describes the files of attacks and defines each figure.\n\n"
      "Examples:  cobblestone lab run config/attacks --html fairness.html\n"
      "           cobblestone lab run config/attacks/a03-time-ramp.yaml --policy boinc --sizes noisy,bimodal");
  Verb search = AddVerb<LabSearchOptions>(
      program, verb, "search", "Searches for the attack that gains most under a policy",
      [](Verb& sub, LabSearchOptions& options) {
        sub.Add("--policy", options.policy, "policy under attack").ShowDefault().Type("NAME");
        sub.Add("--replication", options.replication, "as in `lab run`").ShowDefault().Type("NAME");
        sub.Add("--sizes", options.sizes, "as in `lab run`").ShowDefault().Type("NAME");
        sub.Add("--world", options.world, "as in `lab run`").ShowDefault().Type("NAME");
        sub.Add("--attacks", options.search.attacks,
                "attacks to try: half of them at random, then changes of the best")
            .ShowDefault()
            .Between(1, 1000000)
            .Type("N");
        sub.Add("--seed", options.search.seed, "seed of the search").ShowDefault().Type("N");
        sub.Add("--seeds", options.search.lab.seeds, "worlds for each attack")
            .ShowDefault()
            .Between(1, 10000)
            .Type("N");
        sub.Add("--hosts", options.search.lab.hosts, "number of honest hosts")
            .ShowDefault()
            .Positive()
            .Type("N");
        sub.Add("--jobs", options.search.lab.jobs, "granted results of each attacker that count")
            .ShowDefault()
            .Between(20, 1000000)
            .Type("N");
        sub.Flag("--reported-only", options.search.reported_only,
                 "attackers end every job that they do not compute: none is withheld or detached");
        sub.Add("--set", options.parameters, "as in `lab run`").OneEach().Type("NAME=VALUE");
        sub.Add("--out", options.out, "also write the found attack to a file that `lab run` reads")
            .Type("FILE");
        sub.Flag("--quiet", options.quiet, "show no progress");
      },
      SearchLab);
  search.Footer(
      "Only work that a scheduler replicates is checked: with --replication advised the scheduler follows\n"
      "the policy's advice.\n\n"
      "Example:  cobblestone lab search --policy boinc --attacks 100 --out found.yaml");
}

}  // namespace cobblestone::commands
