#include "services/hub/snapshot/verify.h"

#include <algorithm>

#include "services/hub/snapshot/canonical_text.h"
#include "services/hub/snapshot/snapshot_files.h"

namespace cobblestone::hub {
namespace {

// What the lines of a part give.
struct PartFigures {
  Part part;
  std::uint64_t last_id = 0;
  std::string problem;  // the first
};

Status ReadPart(const SnapshotFiles& files, const std::string& name, PartFigures* figures) {
  HashTree tree;
  Sha256 sum;
  Part& part = figures->part;
  Status s = ReadLines(files, name, [&](std::string_view line, std::uint64_t number) {
    tree.Add(line);
    sum.Add(line);
    sum.Add("\n");
    part.bytes += line.size() + 1;
    const auto record = ParseRecord(part.kind, line);
    std::string problem;
    if (!record.ok()) {
      problem = record.status().message();
    } else {
      if (record->id <= figures->last_id)
        problem = "record " + std::to_string(record->id) + " comes after " + std::to_string(figures->last_id);
      figures->last_id = record->id;
      part.total += record->total;
    }
    if (!problem.empty() && figures->problem.empty())
      figures->problem = "line " + std::to_string(number) + ": " + problem;
    return Status::Ok();
  });
  part.records = tree.size();
  part.tree = tree.Root();
  part.sha256 = sum.Finish();
  return s;
}

std::string Differs(const std::string& what, const std::string& found, const std::string& expected) {
  return what + " " + found + ", but the manifest has " + expected;
}

// kFatal, if the file cannot be read.
Status VerifyPart(const SnapshotFiles& files, const std::string& name, const Part& expected,
                  std::vector<std::string>* problems) {
  PartFigures figures{.part = {.kind = expected.kind}};
  Status s = ReadPart(files, name, &figures);
  if (s.code() == StatusCode::kNotFound || s.code() == StatusCode::kInvalidArgument) {
    problems->push_back(s.message());
    return Status::Ok();
  }
  if (!s.ok()) return s;
  const auto report = [&](const std::string& problem) { problems->push_back(name + ": " + problem); };
  const Part& found = figures.part;
  if (!figures.problem.empty()) report(figures.problem);
  if (found.records != expected.records)
    report(Differs("records:", std::to_string(found.records), std::to_string(expected.records)));
  if (found.bytes != expected.bytes)
    report(Differs("bytes:", std::to_string(found.bytes), std::to_string(expected.bytes)));
  if (found.total != expected.total)
    report(Differs("the totals add up to", MicroText(found.total), MicroText(expected.total)));
  if (found.sha256 != expected.sha256)
    report(Differs("its SHA-256 is", ToHex(found.sha256), ToHex(expected.sha256)));
  if (found.tree != expected.tree)
    report(Differs("its hash tree has the root", ToHex(found.tree), ToHex(expected.tree)));
  return Status::Ok();
}

}  // namespace

std::vector<std::string> ProblemsOfChain(const Manifest& next, const Manifest& before, const Hash& sha256) {
  std::vector<std::string> problems;
  const auto report = [&](const std::string& problem) {
    problems.push_back(std::string(kManifestFile) + ": " + problem);
  };
  if (!next.previous) {
    report("begins a chain, so that it does not follow the other snapshot");
    return problems;
  }
  if (next.previous->sequence != before.sequence)
    report("follows sequence " + std::to_string(next.previous->sequence) + ", but the other snapshot has " +
           std::to_string(before.sequence));
  if (next.previous->sha256 != sha256) report("follows another manifest than the one of the other snapshot");
  if (next.date < before.date) report("is of " + next.date + ", before the other snapshot of " + before.date);
  if (next.key == before.key) {
    if (next.continues) report("continues a chain of another key, but the other snapshot has the same key");
  } else if (!next.continues) {
    report("is signed by another key, and does not say which chain it continues");
  } else if (next.continues->key != before.key) {
    report("continues a chain of another key than the one of the other snapshot");
  }
  return problems;
}

Result<Verdict> VerifySnapshot(const std::string& directory, const VerifyOptions& options) {
  const auto files = SnapshotFiles::Open(directory);
  if (!files.ok()) return files.status();
  auto read = ReadManifestOf(*files);
  if (!read.ok()) return read.status();
  Verdict verdict{.manifest = std::move(read->manifest), .sha256 = read->sha256};
  std::vector<std::string>& problems = verdict.problems;
  if (!read->signature_valid)
    problems.push_back(std::string(kSignatureFile) +
                       ": missing, or no signature of manifest.json by its key");
  if (!options.key.empty() && options.key != verdict.manifest.key)
    problems.push_back(std::string(kManifestFile) + ": is signed by key " + ToHex(verdict.manifest.key));

  std::vector<std::string> expected = {kManifestFile, kSignatureFile};
  for (const Project& project : verdict.manifest.projects) {
    for (const Part& part : project.parts) {
      expected.push_back(FileNameOf(project, part.kind));
      if (Status s = VerifyPart(*files, expected.back(), part, &problems); !s.ok()) return s;
    }
  }
  const auto names = files->Names();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (std::find(expected.begin(), expected.end(), name) == expected.end())
      problems.push_back(name + ": is not part of the snapshot");
  }

  if (!options.previous.empty()) {
    const auto before_files = SnapshotFiles::Open(options.previous);
    if (!before_files.ok()) return before_files.status();
    const auto before = ReadManifestOf(*before_files);
    if (!before.ok()) return before.status();
    verdict.chain_checked = true;
    if (!before->signature_valid)
      problems.push_back(options.previous + ": the signature of the snapshot before is wrong");
    for (std::string& problem : ProblemsOfChain(verdict.manifest, before->manifest, before->sha256))
      problems.push_back(std::move(problem));
  }
  return verdict;
}

}  // namespace cobblestone::hub
