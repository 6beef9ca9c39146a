#include "services/hub/snapshot/archive.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "services/hub/snapshot/manifest.h"

namespace cobblestone::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRemoved = ".removed";
constexpr std::string_view kPartial = ".partial";

// Names of all entries, sorted.
Result<std::vector<std::string>> EntriesOf(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  if (error && error != std::errc::no_such_file_or_directory)
    return Status::Fatal(directory + " cannot be read: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

bool IsLeftOver(std::string_view name) {
  for (const std::string_view ending : {kRemoved, kPartial})
    if (name.ends_with(ending) && IsDate(name.substr(0, name.size() - ending.size()))) return true;
  return false;
}

Status Delete(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return error ? Status::Fatal(path + " cannot be deleted: " + error.message()) : Status::Ok();
}

}  // namespace

Result<std::vector<std::string>> SnapshotsIn(const std::string& directory) {
  auto names = EntriesOf(directory);
  if (!names.ok()) return names.status();
  std::erase_if(*names, [](const std::string& name) { return !IsDate(name); });
  return names;
}

std::optional<double> PublishedTime(const std::string& directory) {
  const auto names = SnapshotsIn(directory);
  if (!names.ok() || names->empty()) return std::nullopt;
  struct stat about {};
  if (::stat((directory + "/" + names->back() + "/" + kManifestFile).c_str(), &about) != 0)
    return std::nullopt;
  return static_cast<double>(about.st_mtim.tv_sec) + static_cast<double>(about.st_mtim.tv_nsec) * 1e-9;
}

Status PruneSnapshots(const std::string& directory, std::size_t keep) {
  const auto entries = EntriesOf(directory);
  if (!entries.ok()) return entries.status();
  for (const std::string& name : *entries)
    if (IsLeftOver(name))
      if (Status s = Delete(directory + "/" + name); !s.ok()) return s;
  const auto names = SnapshotsIn(directory);
  if (!names.ok()) return names.status();
  if (keep == 0) return Status::Ok();
  for (std::size_t i = 0; i + keep < names->size(); ++i) {
    const std::string path = directory + "/" + (*names)[i];
    const std::string removed = path + std::string(kRemoved);
    std::error_code error;
    fs::rename(path, removed, error);
    if (error) return Status::Fatal(path + " cannot be renamed: " + error.message());
    if (Status s = Delete(removed); !s.ok()) return s;
  }
  return Status::Ok();
}

}  // namespace cobblestone::hub
