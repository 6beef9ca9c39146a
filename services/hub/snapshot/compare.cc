#include "services/hub/snapshot/compare.h"

#include <algorithm>
#include <map>
#include <set>

#include "services/hub/snapshot/canonical_text.h"
#include "services/hub/snapshot/snapshot_files.h"

namespace cobblestone::hub {
namespace {

constexpr const char* kAbsent = "absent";

ComparedItem ItemOf(const std::string& what, const std::vector<std::string>& values) {
  std::map<std::string, std::vector<std::size_t>> by_value;
  for (std::size_t i = 0; i < values.size(); ++i) by_value[values[i]].push_back(i);
  ComparedItem item{.what = what};
  for (auto& [value, snapshots] : by_value) item.camps.push_back({value, std::move(snapshots)});
  std::sort(item.camps.begin(), item.camps.end(), [](const Camp& a, const Camp& b) {
    return a.snapshots.size() != b.snapshots.size() ? a.snapshots.size() > b.snapshots.size()
                                                    : a.snapshots.front() < b.snapshots.front();
  });
  return item;
}

std::string StateText(const Project* project) {
  if (project == nullptr) return kAbsent;
  std::string text = std::string(NameOf(project->state)) + " since " + project->since + ", " + project->url +
                     ", " + std::to_string(project->not_shown.users) + " users with " +
                     MicroText(project->not_shown.total) + " micro-credits not shown";
  if (project->account_manager) text += ", an account manager";
  if (!project->why.empty()) text += ": " + project->why;
  return text;
}

std::string PartText(const Project* project, PartKind kind) {
  if (project == nullptr) return kAbsent;
  for (const Part& part : project->parts) {
    if (part.kind == kind)
      return "tree " + ToHex(part.tree) + ", " + std::to_string(part.records) + " records, " +
             MicroText(part.total) + " micro-credits";
  }
  return kAbsent;
}

const Project* Find(const Manifest& manifest, const std::string& key) {
  const auto at = std::find_if(manifest.projects.begin(), manifest.projects.end(),
                               [&](const Project& project) { return project.key == key; });
  return at == manifest.projects.end() ? nullptr : &*at;
}

}  // namespace

bool Comparison::agreed() const {
  return std::all_of(items.begin(), items.end(), [](const ComparedItem& item) { return item.agreed(); });
}

std::size_t Comparison::agreement() const {
  std::size_t least = snapshots;
  for (const ComparedItem& item : items) least = std::min(least, item.camps.front().snapshots.size());
  return least;
}

Result<Comparison> CompareSnapshots(const std::vector<std::string>& directories) {
  if (directories.size() < 2) return Status::InvalidArgument("a comparison needs two snapshots or more");
  std::vector<Manifest> manifests;
  std::set<std::string> keys;
  for (const std::string& directory : directories) {
    const auto files = SnapshotFiles::Open(directory);
    if (!files.ok()) return files.status();
    auto read = ReadManifestOf(*files);
    if (!read.ok()) return Status(read.status().code(), directory + "/" + read.status().message());
    if (!read->signature_valid)
      return Status::InvalidArgument(directory + ": the signature of the manifest is missing or wrong");
    for (const Project& project : read->manifest.projects) keys.insert(project.key);
    manifests.push_back(std::move(read->manifest));
  }
  Comparison comparison{.snapshots = manifests.size()};
  const auto compare = [&](const std::string& what, const auto& value_of) {
    std::vector<std::string> values;
    for (const Manifest& manifest : manifests) values.push_back(value_of(manifest));
    comparison.items.push_back(ItemOf(what, values));
  };
  compare("date", [](const Manifest& manifest) { return manifest.date; });
  compare("consent", [](const Manifest& manifest) { return manifest.consent; });
  for (const std::string& key : keys) {
    compare(key + " state", [&](const Manifest& manifest) { return StateText(Find(manifest, key)); });
    for (const PartKind kind : kPartKinds)
      compare(key + " " + std::string(NameOf(kind)),
              [&](const Manifest& manifest) { return PartText(Find(manifest, key), kind); });
  }
  return comparison;
}

}  // namespace cobblestone::hub
