#include "services/commands/trial/lab.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/credit/policies/policy.h"
#include "services/commands/trial/lab_ledger.h"
#include "services/lab/fitted_world.h"
#include "services/lab/report.h"
#include "services/lab/search.h"

namespace cobblestone::commands {
namespace {

constexpr std::uint64_t kDefaultJobs = 1000;

struct LabRunOptions {
  lab::LabOptions lab;
  std::vector<std::string> attacks;
  LedgerPlaceOptions ledger;
  std::vector<std::string> policies;      // none: boinc, creditnew
  std::vector<std::string> replications;  // none: all
  std::uint64_t jobs = 0;                 // 0: kDefaultJobs
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

// The policy that priced the fitted results, and robust.
Result<std::vector<std::string>> PoliciesOf(const history::Fit& fit) {
  std::string names;
  for (const std::string& policy : fit.policies) names += (names.empty() ? "" : ", ") + policy;
  const std::string app = "app " + std::to_string(fit.app);
  if (fit.policies.size() != 1)
    return Status::InvalidArgument(app + " has had several policies: " + names +
                                   "; name those to compare with --policy");
  const std::string& policy = fit.policies.front();
  if (policy == "assigned" || policy == "reported-flops" || policy == "none")
    return Status::InvalidArgument(
        app + " has policy " + policy +
        ", which the laboratory cannot price; name policies to compare with --policy");
  if (policy == "robust") return std::vector<std::string>{policy};
  return std::vector<std::string>{policy, "robust"};
}

Result<lab::LabOptions> LabOptionsOf(const LabRunOptions& options, const std::optional<history::Fit>& fit) {
  lab::LabOptions wanted = options.lab;
  auto attacks = lab::ReadAttacks(options.attacks);
  if (!attacks.ok()) return attacks.status();
  wanted.attacks = *std::move(attacks);
  wanted.parameters = lab::LabParameters();
  std::vector<std::string> policies = Words(options.policies);
  std::vector<std::string> replications = Words(options.replications);
  if (fit) {
    lab::UseFit(*fit, &wanted);
    if (replications.empty()) replications = {lab::NameOf(lab::ReplicationOf(*fit))};
    if (policies.empty()) {
      auto own = PoliciesOf(*fit);
      if (!own.ok()) return own.status();
      policies = *std::move(own);
    }
  }
  if (policies.empty()) policies = {"boinc", "creditnew"};
  if (replications.empty()) replications = {"single", "double", "adaptive", "advised"};
  wanted.jobs = options.jobs > 0 ? options.jobs : fit ? lab::JobsOf(*fit) : kDefaultJobs;
  if (Status status = ReadParameters(options.parameters, &wanted); !status.ok()) return status;
  for (const std::string& policy : policies) {
    for (const std::string& replication : replications) {
      for (const std::string& sizes : Words(options.sizes)) {
        for (const std::string& world : Words(options.worlds)) {
          auto condition = ConditionOf(policy, replication, sizes, world);
          if (!condition.ok()) return condition.status();
          if (fit) condition->sizes = fleet::SizeModel::kMeasured;
          wanted.conditions.push_back(*std::move(condition));
        }
      }
    }
  }
  return wanted;
}

int RunLab(const LabRunOptions& options) {
  std::optional<history::Fit> fit;
  if (!options.ledger.path.empty()) {
    LedgerPlaceOptions place = options.ledger;
    place.quiet = options.quiet;
    auto fitted = FitLedger(place);
    if (!fitted.ok()) return ReportError(fitted.status());
    fit = *std::move(fitted);
  }
  auto wanted = LabOptionsOf(options, fit);
  if (!wanted.ok()) return ReportError(wanted.status());
  // A report that cannot be written is known before hours of simulation.
  for (const std::string& path : {options.json, options.html}) {
    if (path.empty()) continue;
    if (Status status = WriteReport(path, ""); !status.ok()) return ReportError(status);
  }
  if (fit) {
    std::fputs((cli::TerminalLines(lab::FitText(*fit)) + "\n" + std::to_string(wanted->jobs) +
                " results of each attacker count\n\n")
                   .c_str(),
               stdout);
    std::fflush(stdout);
  }
  Progress progress("worlds", options.quiet);
  wanted->progress = [&](std::uint64_t done, std::uint64_t all) {
    progress.Show({.done = done, .all = all, .counted = done});
  };
  const auto measured = lab::RunLaboratory(*wanted);
  progress.Finish();
  if (!measured.ok()) return ReportError(measured.status());
  std::fputs(lab::ReportTable(*measured).c_str(), stdout);
  if (fit) std::fputs(("\n" + lab::PayingText(*measured)).c_str(), stdout);
  if (!options.json.empty()) {
    nlohmann::json report = lab::ReportJson(*wanted, *measured);
    if (fit) report["ledger"] = history::FitJson(*fit);
    const Status status = WriteReport(options.json, report.dump(2) + "\n");
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
  wanted.lab.parameters = lab::LabParameters();
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
  const std::string text =
      "# The best of " + std::to_string(wanted.attacks) + " attacks on policy " + options.policy + ", " +
      options.replication + " replication, " + options.sizes + " sizes, search " +
      std::to_string(wanted.seed) + ": gain " + lab::FigureText(found->figures.gain) + ", income " +
      lab::FigureText(found->figures.income) + ".\n" +
      lab::AttackText({.id = "S" + std::to_string(wanted.seed),
                       .name = "found by search " + std::to_string(wanted.seed),
                       .share = wanted.lab.share > 0 ? wanted.lab.share : lab::NamedAttack().share,
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
        sub.Add("--from-ledger", options.ledger.path,
                "a project's data directory, configuration (.yaml) or file of events: attacks its own\n"
                "population and app, and compares its policy with robust")
            .Type("PLACE");
        sub.Add("--project", options.ledger.project, "number of the project of --from-ledger")
            .ShowDefault()
            .Type("P");
        sub.Add("--app", options.ledger.app, "app of --from-ledger (default: the only one with results)")
            .Type("A");
        sub.Add(
               "--policy", options.policies,
               "policies, separated by commas (default: boinc,creditnew; with --from-ledger the app's, robust)")
            .OneEach()
            .Type("NAME,...");
        sub.Add("--replication", options.replications,
                "of single, double, adaptive, advised (default: all; with --from-ledger the app's)")
            .OneEach()
            .Type("NAME,...");
        sub.Add("--sizes", options.sizes,
                "how true sizes deviate from estimates: of accurate, noisy, bimodal (default: noisy)")
            .OneEach()
            .Excludes("--from-ledger")
            .Type("NAME,...");
        sub.Add("--world", options.worlds, "of " + lab::WorldNames() + " (default: uniform)")
            .OneEach()
            .Excludes("--from-ledger")
            .Type("NAME,...");
        sub.Add("--seeds", options.lab.seeds, "number of seeds, from 1")
            .ShowDefault()
            .Between(1, 10000)
            .Type("N");
        sub.Add("--hosts", options.lab.hosts, "number of honest hosts").ShowDefault().Positive().Type("N");
        sub.Add(
               "--jobs", options.jobs,
               "granted results of each attacker that count (default: 1000; with --from-ledger those of its\n"
               "busiest tenth of hosts, from 100 to 1000)")
            .Between(20, 1000000)
            .Type("N");
        sub.Add("--share", options.lab.share, "attackers / honest hosts (default: that of each attack)")
            .Between(1e-6, 10.0)
            .Type("S");
        sub.Add("--join", options.lab.join, "day on which the attackers join; the other hosts begin on day 0")
            .ShowDefault()
            .Between(0, 3650)
            .Type("D");
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
      "           cobblestone lab run config/attacks --from-ledger /var/lib/cobblestone --app 5");
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
        sub.Add("--share", options.search.lab.share, "as in `lab run` (default: 0.01)")
            .Between(1e-6, 10.0)
            .Type("S");
        sub.Add("--join", options.search.lab.join, "as in `lab run`")
            .ShowDefault()
            .Between(0, 3650)
            .Type("D");
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
