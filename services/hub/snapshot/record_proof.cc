#include "services/hub/snapshot/record_proof.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "services/hub/snapshot/canonical_text.h"
#include "services/hub/snapshot/snapshot_files.h"

namespace cobblestone::hub {
namespace {

// More levels than any tree has.
constexpr std::size_t kMostHashes = 64;

const Part* PartOf(const Manifest& manifest, const std::string& key, PartKind kind) {
  for (const Project& project : manifest.projects) {
    if (project.key != key) continue;
    for (const Part& part : project.parts) {
      if (part.kind == kind) return &part;
    }
  }
  return nullptr;
}

// The index of the record, and its line.
Result<RecordProof> FindRecord(const SnapshotFiles& files, const std::string& name, PartKind kind,
                               std::uint64_t id) {
  std::optional<RecordProof> found;
  Status s = ReadLines(files, name, [&](std::string_view line, std::uint64_t number) {
    const auto record = ParseRecord(kind, line);
    if (record.ok() && record->id == id)
      found = RecordProof{.kind = kind, .index = number - 1, .line = std::string(line)};
    return Status::Ok();
  });
  if (!s.ok()) return s;
  if (!found) return Status::NotFound(name + " has no record " + std::to_string(id));
  return *found;
}

}  // namespace

Result<RecordProof> ProveRecord(const std::string& directory, const std::string& project, PartKind kind,
                                std::uint64_t id) {
  const auto files = SnapshotFiles::Open(directory);
  if (!files.ok()) return files.status();
  const auto read = ReadManifestOf(*files);
  if (!read.ok()) return read.status();
  const Part* part = PartOf(read->manifest, project, kind);
  if (part == nullptr)
    return Status::NotFound("the snapshot has no " + std::string(NameOf(kind)) + " of project " + project);
  const std::string name = FileNameOf({.key = project}, kind);
  auto proof = FindRecord(*files, name, kind, id);
  if (!proof.ok()) return proof.status();
  HashTree tree(proof->index);
  Status s = ReadLines(*files, name, [&](std::string_view line, std::uint64_t /*number*/) {
    tree.Add(line);
    return Status::Ok();
  });
  if (!s.ok()) return s;
  proof->project = project;
  proof->records = tree.size();
  proof->path = tree.Path();
  return proof;
}

Status CheckRecordProof(const RecordProof& proof, const Manifest& manifest) {
  const Part* part = PartOf(manifest, proof.project, proof.kind);
  if (part == nullptr || part->records != proof.records)
    return Status::InvalidArgument("the proof is of another snapshot: the manifest has no such part");
  const auto root = RootFromPath(proof.line, proof.index, proof.records, proof.path);
  if (!root || *root != part->tree)
    return Status::InvalidArgument(
        "the record is not in this snapshot: its hashes do not lead to the tree of the part");
  return Status::Ok();
}

std::string RenderRecordProof(const RecordProof& proof) {
  nlohmann::json path = nlohmann::json::array();
  for (const Hash& hash : proof.path) path.push_back(ToHex(hash));
  return nlohmann::json{{"project", proof.project}, {"kind", NameOf(proof.kind)}, {"index", proof.index},
                        {"records", proof.records}, {"line", proof.line},         {"path", path}}
             .dump() +
         "\n";
}

Result<RecordProof> ParseRecordProof(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  try {
    RecordProof proof{.project = json.at("project").get<std::string>(),
                      .index = json.at("index").get<std::uint64_t>(),
                      .records = json.at("records").get<std::uint64_t>(),
                      .line = json.at("line").get<std::string>()};
    const auto kind = std::find_if(std::begin(kPartKinds), std::end(kPartKinds), [&](PartKind k) {
      return NameOf(k) == json.at("kind").get<std::string>();
    });
    for (const auto& hash : json.at("path")) proof.path.push_back(FromHex(hash.get<std::string>()));
    const bool hashes =
        std::all_of(proof.path.begin(), proof.path.end(), [](const Hash& h) { return h.size() == 32; });
    if (kind != std::end(kPartKinds) && hashes && proof.path.size() <= kMostHashes) {
      proof.kind = *kind;
      return proof;
    }
  } catch (const nlohmann::json::exception&) {
    // reported below
  }
  return Status::InvalidArgument("this is not a proof of a record");
}

}  // namespace cobblestone::hub
