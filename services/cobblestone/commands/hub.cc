#include <cstdio>
#include <vector>

#include "services/cobblestone/commands/command.h"
#include "services/hub/snapshot/canonical_text.h"
#include "services/hub/snapshot/compare.h"
#include "services/hub/snapshot/verify.h"

namespace cobblestone {
namespace {

struct VerifyOptions {
  std::string directory;
  std::string previous;
  std::string key;
};

int RunVerify(const VerifyOptions& options) {
  hub::VerifyOptions wanted{.previous = options.previous, .key = hub::FromHex(options.key)};
  if (!options.key.empty() && wanted.key.size() != 32)
    return ReportError(
        Status::InvalidArgument("--key: an Ed25519 public key has 64 lower-case hexadecimal digits"));
  const auto verdict = hub::VerifySnapshot(options.directory, wanted);
  if (!verdict.ok()) return ReportError(verdict.status());
  const hub::Manifest& manifest = verdict->manifest;
  for (const std::string& problem : verdict->problems) std::printf("%s\n", TerminalText(problem).c_str());
  std::uint64_t records = 0;
  for (const hub::Project& project : manifest.projects) {
    for (const hub::Part& part : project.parts) records += part.records;
  }
  std::printf("snapshot %s of %s by %s, key %s: %s\n", WithCommas(manifest.sequence).c_str(),
              manifest.date.c_str(), TerminalText(manifest.hub).c_str(), hub::ToHex(manifest.key).c_str(),
              verdict->problems.empty() ? "intact" : "NOT intact");
  std::printf("%s projects, %s records, manifest SHA-256 %s\n", WithCommas(manifest.projects.size()).c_str(),
              WithCommas(records).c_str(), hub::ToHex(verdict->sha256).c_str());
  if (manifest.continues)
    std::printf("This key continues the chain of key %s: %s\n", hub::ToHex(manifest.continues->key).c_str(),
                TerminalText(manifest.continues->statement).c_str());
  if (!verdict->chain_checked && manifest.previous)
    std::printf("The chain was not checked; name the snapshot before with --previous.\n");
  return verdict->problems.empty() ? kExitOk : kExitProblems;
}

struct CompareOptions {
  std::vector<std::string> directories;
  std::uint32_t least = 0;
};

int RunCompare(const CompareOptions& options) {
  const auto comparison = hub::CompareSnapshots(options.directories);
  if (!comparison.ok()) return ReportError(comparison.status());
  if (options.least > comparison->snapshots)
    return ReportError(Status::InvalidArgument("--least is larger than the number of snapshots"));
  std::size_t equal = 0;
  for (const hub::ComparedItem& item : comparison->items) {
    if (item.agreed()) {
      ++equal;
      continue;
    }
    std::printf("%s: %zu of %zu agree\n", item.what.c_str(), item.camps.front().snapshots.size(),
                comparison->snapshots);
    for (const hub::Camp& camp : item.camps) {
      std::string names;
      for (const std::size_t i : camp.snapshots)
        names += (names.empty() ? "" : ", ") + options.directories[i];
      std::printf("  %s: %s\n", TerminalText(names).c_str(), TerminalText(camp.value).c_str());
    }
  }
  std::printf("%zu of %zu items are equal in all %zu snapshots; in each item, at least %zu agree\n", equal,
              comparison->items.size(), comparison->snapshots, comparison->agreement());
  const bool enough = options.least == 0 ? comparison->agreed() : comparison->agreement() >= options.least;
  return enough ? kExitOk : kExitProblems;
}

}  // namespace

void AddHub(Program& program) {
  Verb verb = program.root.Sub("hub", "Snapshots of a hub for several projects: verify, compare");
  AddVerb<VerifyOptions>(
      program, verb, "verify-snapshot",
      "Verifies every file, hash, sum and the signature of a snapshot, offline",
      [](Verb& sub, VerifyOptions& options) {
        sub.Add("DIR", options.directory, "directory of the snapshot").Required();
        sub.Add("--previous", options.previous,
                "the snapshot before: also verify that this one continues its chain")
            .Type("DIR");
        sub.Add("--key", options.key,
                "public key that must have signed, in hexadecimal (default: the snapshot's own)")
            .Type("KEY");
        sub.Footer(
            "docs/design/snapshot.md describes the format. Exit code 1: the snapshot is not intact; each line names a\n"
            "file and a problem.\n\n"
            "Example:  cobblestone hub verify-snapshot 2026-11-27 --previous 2026-11-26");
      },
      RunVerify);
  AddVerb<CompareOptions>(
      program, verb, "compare-snapshots",
      "Compares snapshots of several hubs: how many agree about each project",
      [](Verb& sub, CompareOptions& options) {
        sub.Add("DIR", options.directories, "directories of two snapshots or more").Required();
        sub.Add("--least", options.least,
                "number of snapshots that must agree in every item (default: all of them)")
            .Positive()
            .Type("N");
        sub.Footer(
            "Compares manifests and their signatures; verify each snapshot for its files. Exit code 1: fewer\n"
            "snapshots agree.\n\n"
            "Example:  cobblestone hub compare-snapshots hub-a/2026-11-27 hub-b/2026-11-27 hub-c/2026-11-27 --least 2");
      },
      RunCompare);
}

}  // namespace cobblestone
