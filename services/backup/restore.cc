#include "services/backup/restore.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "common/base/failpoint.h"
#include "common/base/private_directory.h"
#include "common/stream/embedded/lock_file.h"
#include "services/backup/backup_set.h"
#include "services/backup/copy_file.h"
#include "services/backup/data_directory_check.h"
#include "services/embedded/engine.h"

namespace cobblestone::backup {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = "/restore.lock";

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// What to do about a damaged backup: which others there are.
std::string Others(const std::string& directory) {
  const fs::path path(directory);
  const std::string parent = path.has_parent_path() ? path.parent_path().string() : ".";
  const auto names = CompleteBackups(parent);
  std::string text;
  for (std::size_t i = names.ok() ? names->size() : 0; i > 0; --i)
    if ((*names)[i - 1] != path.filename())
      text += (text.empty() ? "" : ", ") + parent + "/" + (*names)[i - 1];
  if (text.empty()) return "there is no other backup beside it";
  return "other backups, newest first: " + text +
         ". Later backups share its unchanged files; `restore --check` says which backups are complete";
}

Status Differs(const FoundBackup& backup, const BackupFile& file, const std::string& how) {
  return Status::Corrupted("the backup " + backup.directory + " is damaged: " + file.path + " " + how +
                           "; nothing was restored from it. Check the disk that holds it; " +
                           Others(backup.directory));
}

// What was read of a file against what the manifest says.
Status Compare(const FoundBackup& backup, const BackupFile& file, const Result<FileCopy>& read) {
  if (read.status().code() == StatusCode::kNotFound) return Differs(backup, file, "is missing");
  if (!read.ok()) return read.status();
  if (read->bytes != file.bytes)
    return Differs(backup, file,
                   "has " + std::to_string(read->bytes) + " bytes instead of " + std::to_string(file.bytes));
  if (read->sha256 != file.sha256)
    return Differs(backup, file, "does not have the checksum that was recorded when it was written");
  return Status::Ok();
}

// A file system of its own has this directory at its root.
bool BelongsToTheFileSystem(const fs::path& entry) { return entry.filename() == "lost+found"; }

// The folder in the data directory in which the copy is made. While it has the lock file, the pipeline does not open the
// data directory. It is made within, because the user of the pipeline may own the data directory alone, or the data
// directory may be a mount point.
class Staging {
 public:
  explicit Staging(const std::string& to) : to_(to), path_(embedded::RestoreFolderOf(to)) {}
  ~Staging() {
    std::error_code stays;  // and the next restore removes it
    if (lock_ && !publishing_) fs::remove_all(path_, stays);
    if (lock_ && !publishing_ && made_) fs::remove(to_, stays);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Makes `to` if it does not exist. What a restore that died left in it is deleted.
  Status Open() {
    std::error_code error;
    made_ = !fs::exists(to_, error);
    const bool unfinished = fs::exists(path_ + kLock, error);
    if (!made_ && !unfinished)
      if (Status s = CheckEmpty(); !s.ok()) return s;
    if (Status s = MakePrivateDirectory(to_, [](const std::string&) {}); !s.ok()) return s;
    fs::create_directory(path_, error);
    if (error) return Status::Unwritten(error.value(), "cannot make " + path_ + ": " + error.message());
    const bool was_there = fs::exists(path_ + kLock);
    auto lock = stream::embedded::LockFile::Take(path_ + kLock);
    if (lock.status().code() == StatusCode::kFenced)
      return Status::Fenced("another `restore` writes to " + to_ + "; wait until it ends");
    if (!lock.ok()) return lock.status();
    lock_.emplace(*std::move(lock));
    // Another restore may have ended since the first look, and its lock file with it.
    if (Status s = unfinished && was_there ? Status::Ok() : CheckEmpty(); !s.ok()) return s;
    std::vector<fs::path> left;
    for (const std::string& directory : {to_, path_})
      for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
           entry.increment(error))
        if (!BelongsToTheFileSystem(*entry) && entry->path() != path_ && entry->path() != path_ + kLock)
          left.push_back(entry->path());
    for (const fs::path& entry : left)
      if (!error) fs::remove_all(entry, error);
    if (error) return Status::Fatal("cannot empty " + to_ + ": " + error.message() + "; delete it by hand");
    return Status::Ok();
  }

  // Moves the copy to its place. The lock file goes last: without it, the data directory is whole.
  Status Publish() {
    if (Status s = SyncDirectories(path_); !s.ok()) return s;
    publishing_ = true;
    std::error_code error;
    std::vector<fs::path> entries;
    for (fs::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error))
      if (entry->path() != path_ + kLock) entries.push_back(entry->path());
    for (const fs::path& entry : entries) {
      Failpoint("B7");
      if (!error) fs::rename(entry, fs::path(to_) / entry.filename(), error);
    }
    if (!error)
      if (Status s = SyncDirectory(to_); !s.ok()) return s;
    if (!error) fs::remove_all(path_, error);
    if (error)
      return Status::Unwritten(error.value(), "cannot move the copy from " + path_ + " to " + to_ + ": " +
                                                  error.message() + "; run `restore` again");
    const fs::path parent = fs::path(to_).parent_path();
    if (Status s = SyncDirectory(to_); !s.ok()) return s;
    return SyncDirectory(parent.empty() ? "." : parent.string());
  }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] Status CheckEmpty() const {
    std::error_code error;
    bool empty = fs::is_directory(to_, error);
    for (fs::directory_iterator entry(to_, error), end; !error && entry != end; entry.increment(error))
      empty = empty && (BelongsToTheFileSystem(*entry) || (entry->path() == path_ && IsOurs()));
    if (empty && !error) return Status::Ok();
    return Status::InvalidArgument(to_ + " is not an empty directory" +
                                   (error ? " (" + error.message() + ")" : "") +
                                   "; move it aside, or name another one with --data");
  }

  // A folder of this name without the lock file is somebody else's, unless it is empty.
  [[nodiscard]] bool IsOurs() const {
    std::error_code error;
    return fs::exists(path_ + kLock, error) || fs::is_empty(path_, error);
  }

  const std::string to_;
  const std::string path_;
  bool made_ = false;
  bool publishing_ = false;
  std::optional<stream::embedded::LockFile> lock_;
};

std::string InData(const BackupFile& file) {
  const std::string prefix = std::string(kDataFolder) + "/";
  return file.path.starts_with(prefix) ? file.path.substr(prefix.size()) : std::string();
}

}  // namespace

Result<FoundBackup> FindBackup(const std::string& from) {
  const std::string path = WithoutSlash(from);
  std::error_code error;
  FoundBackup found{.directory = path, .manifest = {}};
  if (!fs::exists(path + "/" + kManifestFile, error) && !fs::exists(path + "/" + kSumsFile, error)) {
    const auto names = CompleteBackups(path);
    if (!names.ok()) return names.status();
    if (names->empty())
      return Status::NotFound(
          "there is no complete backup in " + path +
          "; name the directory that `cobblestone backup --to` wrote to, or a backup in it");
    found.directory = path + "/" + names->back();
  }
  auto manifest = ReadManifest(found.directory);
  if (manifest.status().code() == StatusCode::kNotFound)
    return Status::Corrupted("the backup " + found.directory + " is damaged: " + manifest.status().message() +
                             "; " + Others(found.directory));
  if (manifest.status().code() == StatusCode::kCorrupted)
    return Status::Corrupted(manifest.status().message() + "; " + Others(found.directory));
  if (!manifest.ok()) return manifest.status();
  found.manifest = *std::move(manifest);
  return found;
}

Status CheckBackup(const FoundBackup& backup, const Progress& progress) {
  LowerPriorities();
  const std::uint64_t all = backup.manifest.bytes();
  std::uint64_t done = 0;
  for (const BackupFile& file : backup.manifest.files) {
    const auto read = ReadFile(backup.directory + "/" + file.path, [&](std::uint64_t bytes) {
      done += bytes;
      if (progress) progress(done, std::max(all, done));
    });
    if (Status s = Compare(backup, file, read); !s.ok()) return s;
  }
  return Status::Ok();
}

Status Restore(const FoundBackup& backup, const std::string& wanted, const Progress& progress) {
  Staging staging(WithoutSlash(wanted));
  if (Status s = staging.Open(); !s.ok()) return s;
  std::uint64_t all = 0;
  for (const BackupFile& file : backup.manifest.files)
    if (!InData(file).empty()) all += 2 * file.bytes;
  std::uint64_t done = 0;
  for (const BackupFile& file : backup.manifest.files) {
    if (InData(file).empty()) continue;  // the configuration stays in the backup
    const fs::path path = staging.path() + "/" + InData(file);
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error)
      return Status::Unwritten(error.value(),
                               "cannot make " + path.parent_path().string() + ": " + error.message());
    const auto copied = CopyFile(backup.directory + "/" + file.path, path.string(), [&](std::uint64_t bytes) {
      done += bytes;
      if (progress) progress(done, std::max(all, done));
    });
    if (Status s = Compare(backup, file, copied); !s.ok()) return s;
    Failpoint("B6");
  }
  if (const auto figures = CheckDataDirectory(staging.path(), backup.manifest.partitions); !figures.ok())
    return Status(figures.status().code(),
                  "the backup " + backup.directory +
                      " has the right checksums but does not open; nothing was restored: " +
                      figures.status().message() + ". " + Others(backup.directory));
  return staging.Publish();
}

}  // namespace cobblestone::backup
