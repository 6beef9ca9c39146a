#include "services/backup/backup_set.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/base/check.h"
#include "common/base/failpoint.h"
#include "common/base/private_directory.h"
#include "services/backup/copy_file.h"

namespace cobblestone::backup {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kRemoved = ".removed";
constexpr std::string_view kTimeShape = "00000000T000000Z-";  // a digit for each 0

// The number of a backup; none if the name is not that of a backup.
std::optional<std::uint64_t> NumberOf(std::string_view name) {
  if (name.size() <= kTimeShape.size()) return std::nullopt;
  for (std::size_t i = 0; i < kTimeShape.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9';
    if (kTimeShape[i] == '0' ? !digit : name[i] != kTimeShape[i]) return std::nullopt;
  }
  std::uint64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + kTimeShape.size(), end, number);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

struct Entry {
  std::string name;  // without suffix
  std::uint64_t number = 0;
  std::string_view suffix;  // empty: complete
};

// Everything in the directory that a backup has made, by number.
Result<std::vector<Entry>> EntriesOf(const std::string& directory) {
  std::vector<Entry> entries;
  std::error_code error;
  if (!fs::exists(directory, error) && !error) return entries;
  for (auto it = fs::directory_iterator(directory, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    Entry entry{.name = it->path().filename().string()};
    for (const std::string_view suffix : {kPartial, kRemoved}) {
      if (!entry.name.ends_with(suffix)) continue;
      entry.suffix = suffix;
      entry.name.erase(entry.name.size() - suffix.size());
    }
    const auto number = NumberOf(entry.name);
    if (!number) continue;
    entry.number = *number;
    entries.push_back(std::move(entry));
  }
  if (error) return Status::Fatal("cannot list " + directory + ": " + error.message());
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.number < b.number; });
  return entries;
}

std::string TimeText(double now) {
  const auto seconds = static_cast<std::time_t>(std::floor(now));
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  return {text, length};
}

Status Remove(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return Status::Fatal("cannot delete " + path + ": " + error.message() + "; delete it by hand");
  return Status::Ok();
}

Status Rename(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error)
    return Status::Unwritten(error.value(), "cannot rename " + from + " to " + to + ": " + error.message());
  return Status::Ok();
}

}  // namespace

Result<std::vector<std::string>> CompleteBackups(const std::string& directory) {
  auto entries = EntriesOf(directory);
  if (!entries.ok()) return entries.status();
  std::vector<std::string> names;
  for (Entry& entry : *entries)
    if (entry.suffix.empty()) names.push_back(std::move(entry.name));
  return names;
}

Result<BackupSet> BackupSet::Open(const std::string& directory,
                                  const std::function<void(const std::string&)>& report) {
  if (Status s = MakePrivateDirectory(directory, report); !s.ok()) return s;
  auto lock = stream::embedded::LockFile::Take(directory + "/lock");
  if (lock.status().code() == StatusCode::kFenced)
    return Status::Fenced("another backup is being made in " + directory + "; wait until it ends");
  if (!lock.ok()) return lock.status();
  BackupSet set(directory, *std::move(lock));
  if (Status s = set.RemoveLeftOvers(report); !s.ok()) return s;
  return set;
}

Status BackupSet::RemoveLeftOvers(const std::function<void(const std::string&)>& report) {
  const auto entries = EntriesOf(directory_);
  if (!entries.ok()) return entries.status();
  for (const Entry& entry : *entries) {
    last_number_ = std::max(last_number_, entry.number);
    if (entry.suffix.empty()) {
      complete_.push_back(entry.name);
      continue;
    }
    const std::string path = directory_ + "/" + entry.name + std::string(entry.suffix);
    if (report)
      report(path + (entry.suffix == kPartial
                         ? " was left by a backup that was interrupted, and is deleted"
                         : " is an old backup whose deletion was interrupted, and is deleted"));
    if (Status s = Remove(path); !s.ok()) return s;
  }
  return Status::Ok();
}

std::string BackupSet::Newest() const {
  return complete_.empty() ? std::string() : directory_ + "/" + complete_.back();
}

Result<std::string> BackupSet::Begin(double now) {
  COBBLESTONE_CHECK(name_.empty(), "one backup at a time");
  const std::string name = TimeText(now) + "-" + std::to_string(last_number_ + 1);
  const std::string path = directory_ + "/" + name + std::string(kPartial);
  std::error_code error;
  fs::create_directory(path, error);
  if (error)
    return Status::Unwritten(error.value(), "cannot make " + path + ": " + error.message() +
                                                "; free disk space there, or check the permissions");
  ++last_number_;
  name_ = name;
  return path;
}

void BackupSet::Abandon() {
  // What cannot be deleted now, the next backup deletes.
  if (!name_.empty()) static_cast<void>(Remove(directory_ + "/" + name_ + std::string(kPartial)));
  name_.clear();
}

Result<std::string> BackupSet::Complete() {
  COBBLESTONE_CHECK(!name_.empty(), "no backup was begun");
  const std::string partial = directory_ + "/" + name_ + std::string(kPartial);
  const std::string final_path = directory_ + "/" + name_;
  if (Status s = SyncDirectories(partial); !s.ok()) return s;
  Failpoint("B3");
  if (Status s = Rename(partial, final_path); !s.ok()) return s;
  complete_.push_back(std::exchange(name_, {}));
  if (Status s = SyncDirectory(directory_); !s.ok()) return s;
  Failpoint("B4");
  return final_path;
}

Result<std::vector<std::string>> BackupSet::DeleteOldest(std::size_t keep) {
  COBBLESTONE_CHECK(keep > 0, "the newest backup is always kept");
  std::vector<std::string> deleted;
  while (complete_.size() > keep) {
    const std::string path = directory_ + "/" + complete_.front();
    // Renamed first: half a backup must not look like a whole one.
    if (Status s = Rename(path, path + std::string(kRemoved)); !s.ok()) return s;
    if (Status s = SyncDirectory(directory_); !s.ok()) return s;
    Failpoint("B5");
    if (Status s = Remove(path + std::string(kRemoved)); !s.ok()) return s;
    deleted.push_back(complete_.front());
    complete_.erase(complete_.begin());
  }
  return deleted;
}

}  // namespace cobblestone::backup
