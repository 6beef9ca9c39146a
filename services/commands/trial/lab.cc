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

Result<lab::LabOptions> LabOptionsOf(const LabRunOptions& options) {
  lab::LabOptions wanted = options.lab;
  auto attacks = lab::ReadAttacks(options.attacks);
  if (!attacks.ok()) return attacks.status();
  wanted.attacks = *std::move(attacks);
  wanted.parameters = lab::LabParameters();
  wanted.changes = options.parameters;
  fleet::Parameters changed = wanted.parameters;
  for (const std::string& assignment : options.parameters) {
    if (Status status = fleet::SetParameter(assignment, &changed); !status.ok()) return status;
  }
  for (const std::string& policy : Words(options.policies)) {
    if (!credit::PolicyKindByName(policy))
      return Status::InvalidArgument("unknown policy '" + policy + "'; docs/rules.md lists the policies");
    for (const std::string& replication : Words(options.replications)) {
      const auto results = lab::ReplicationByName(replication);
      if (!results.ok()) return results.status();
      for (const std::string& sizes : Words(options.sizes)) {
        const auto model = lab::SizesByName(sizes);
        if (!model.ok()) return model.status();
        for (const std::string& name : Words(options.worlds)) {
          const auto world = lab::WorldByName(name);
          if (!world.ok()) return world.status();
          wanted.conditions.push_back({policy, *results, *model, *world});
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
}

}  // namespace cobblestone::commands
