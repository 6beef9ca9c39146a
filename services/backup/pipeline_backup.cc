#include "services/backup/pipeline_backup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "common/base/failpoint.h"
#include "common/stream/embedded/lock_file.h"
#include "services/access/client.h"
#include "services/backup/copy_file.h"
#include "services/backup/data_directory_check.h"

namespace cobblestone::backup {

using access::Client;
using access::Purpose;
using embedded::BackupCopyOf;
using embedded::BackupLockOf;

namespace {

namespace fs = std::filesystem;

double WallClock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string UtcText(double now) {
  const auto seconds = static_cast<std::time_t>(now);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text, length};
}

// Removes the engine's copy when the backup ends in any way but a death.
class CopyOfEngine {
 public:
  explicit CopyOfEngine(std::string directory) : directory_(std::move(directory)) {}
  ~CopyOfEngine() {
    std::error_code stays;  // and the next backup removes it
    fs::remove_all(directory_, stays);
  }
  CopyOfEngine(const CopyOfEngine&) = delete;
  CopyOfEngine& operator=(const CopyOfEngine&) = delete;

 private:
  const std::string directory_;
};

// A file of the source, and how it comes into the backup.
struct Planned {
  std::string from;
  BackupFile file;
  std::string link_to;  // file of the backup before that is the same; empty: copied
};

std::int64_t NanosOf(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

class Making {
 public:
  Making(BackupManifest manifest, BackupSet& set, const BackupOptions& options)
      : manifest_(std::move(manifest)), set_(set), options_(options) {}
  ~Making() { set_.Abandon(); }
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;

  Result<BackupOutcome> Run(const std::string& directory) {
    const double now = options_.clock ? options_.clock() : WallClock();
    auto begun = set_.Begin(now);
    if (!begun.ok()) return begun.status();
    to_ = *begun;
    manifest_.made_at = UtcText(now);
    FindBase();
    if (Status s = Plan(directory); !s.ok()) return s;
    for (const Planned& planned : planned_)
      if (Status s = Bring(planned); !s.ok()) return s;
    if (Status s = AddConfiguration(); !s.ok()) return s;
    const auto figures = CheckDataDirectory(to_ + "/" + kDataFolder, manifest_.partitions);
    if (!figures.ok())
      return Status(figures.status().code(),
                    "the copy does not open, so no backup was made: " + figures.status().message());
    manifest_.commit = figures->commit;
    manifest_.records = figures->records;
    manifest_.sources = figures->sources;
    manifest_.state_commits = figures->state_commits;
    std::sort(manifest_.files.begin(), manifest_.files.end(),
              [](const BackupFile& a, const BackupFile& b) { return a.path < b.path; });
    if (Status s = WriteManifest(manifest_, to_); !s.ok()) return s;
    auto complete = set_.Complete();
    if (!complete.ok()) return complete.status();
    outcome_.directory = *complete;
    outcome_.manifest = std::move(manifest_);
    return std::move(outcome_);
  }

 private:
  // One that cannot be read is no base: all is copied, which heals the set.
  void FindBase() {
    base_directory_ = options_.full ? std::string() : set_.Newest();
    if (base_directory_.empty()) return;
    auto base = ReadManifest(base_directory_);
    if (base.ok()) {
      base_ = *std::move(base);
    } else {
      options_.report(base.status().message() + ". No file is linked to it");
    }
  }

  Status Plan(const std::string& directory) {
    std::error_code error;
    fs::create_directory(to_ + "/" + kDataFolder, error);
    for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end;
         it.increment(error)) {
      const std::string path = std::string(kDataFolder) + it->path().string().substr(directory.size());
      if (it->is_directory(error)) {
        fs::create_directory(to_ + "/" + path, error);
        if (error)
          return Status::Unwritten(error.value(), "cannot make " + to_ + "/" + path + ": " + error.message());
        continue;
      }
      if (it->path().filename() == "LOCK") continue;
      struct stat about {};
      if (::stat(it->path().c_str(), &about) != 0)
        return Status::Fatal(it->path().string() + " disappeared while it was being copied");
      Planned planned{.from = it->path().string(),
                      .file = {.path = path,
                               .bytes = static_cast<std::uint64_t>(about.st_size),
                               .source_inode = about.st_ino,
                               .source_changed_ns = NanosOf(about.st_mtim)}};
      if (const BackupFile* before = base_ ? base_->Find(path) : nullptr;
          before != nullptr && before->bytes == planned.file.bytes &&
          before->source_inode == planned.file.source_inode &&
          before->source_changed_ns == planned.file.source_changed_ns) {
        planned.file.sha256 = before->sha256;
        planned.link_to = base_directory_ + "/" + path;
      } else {
        all_ += 2 * planned.file.bytes;
      }
      planned_.push_back(std::move(planned));
    }
    if (error) return Status::Fatal("cannot list " + directory + ": " + error.message());
    return Status::Ok();
  }

  Status Bring(const Planned& planned) {
    const std::string to = to_ + "/" + planned.file.path;
    BackupFile file = planned.file;
    if (!planned.link_to.empty() && Link(planned.link_to, to, file.bytes)) {
      file.linked = true;
      ++outcome_.linked_files;
      outcome_.linked_bytes += file.bytes;
    } else {
      const auto copied = CopyFile(planned.from, to, [this](std::uint64_t bytes) { Advance(bytes); });
      if (!copied.ok()) return copied.status();
      file.bytes = copied->bytes;
      file.sha256 = copied->sha256;
      Count(*copied);
    }
    manifest_.files.push_back(std::move(file));
    Failpoint("B2");
    return Status::Ok();
  }

  // False where the backup before has lost the file, or the file system makes no more links to it.
  static bool Link(const std::string& from, const std::string& to, std::uint64_t bytes) {
    struct stat about {};
    return ::stat(from.c_str(), &about) == 0 && static_cast<std::uint64_t>(about.st_size) == bytes &&
           ::link(from.c_str(), to.c_str()) == 0;
  }

  Status AddConfiguration() {
    const std::string made_with = std::string(kDataFolder) + "/made_with.yaml";
    if (!options_.made_with.empty())
      if (Status s = Add(made_with, WriteFile(options_.made_with, to_ + "/" + made_with)); !s.ok()) return s;
    if (options_.configuration.empty()) return Status::Ok();
    std::error_code error;
    fs::create_directory(to_ + "/" + kConfigurationFolder, error);
    const std::string path =
        std::string(kConfigurationFolder) + "/" + fs::path(options_.configuration).filename().string();
    return Add(path, CopyFile(options_.configuration, to_ + "/" + path, {}));
  }

  Status Add(const std::string& path, const Result<FileCopy>& written) {
    if (!written.ok()) return written.status();
    manifest_.files.push_back({.path = path, .bytes = written->bytes, .sha256 = written->sha256});
    Count(*written);
    return Status::Ok();
  }

  void Count(const FileCopy& copied) {
    ++outcome_.copied_files;
    outcome_.copied_bytes += copied.bytes;
  }

  void Advance(std::uint64_t bytes) {
    done_ += bytes;
    if (options_.progress) options_.progress(done_, std::max(all_, done_));
  }

  BackupManifest manifest_;
  BackupSet& set_;
  const BackupOptions& options_;
  std::string to_;  // directory of the new backup
  std::string base_directory_;
  std::optional<BackupManifest> base_;  // of the backup before
  std::vector<Planned> planned_;
  BackupOutcome outcome_;
  std::uint64_t done_ = 0;
  std::uint64_t all_ = 0;
};

// A backup below what it is a backup of would contain itself, and go with it.
Status CheckOutside(const std::string& data, const std::string& to) {
  std::error_code error;
  const std::string inner = fs::weakly_canonical(to, error).string() + "/";
  const std::string outer = fs::weakly_canonical(data, error).string() + "/";
  if (inner.starts_with(outer))
    return Status::InvalidArgument(to + " lies in the data directory " + data +
                                   "; name a directory elsewhere with --to, best on another disk");
  return Status::Ok();
}

void WarnOfOneDisk(const std::string& data, const BackupOptions& options) {
  struct stat of_data {};
  struct stat of_to {};
  if (::stat(data.c_str(), &of_data) == 0 && ::stat(options.to.c_str(), &of_to) == 0 &&
      of_data.st_dev == of_to.st_dev)
    options.report(options.to + " is on the same file system as " + data +
                   ": a backup there does not survive the loss of the disk");
}

// The engine's copy: log and states as of one commit.
Result<std::string> CopyOf(const settings::RunSettings& settings, const BackupOptions& options) {
  auto client = Client::Open(settings, Purpose::kAsk, options.report);
  if (!client.ok()) return client.status();
  const auto copied = (*client)->Ask({.path = "/backup/copy"});
  if (!copied.ok()) return copied.status();
  // The client goes here, and with it the data directory, if nobody runs it: `run` may start meanwhile.
  return copied->at("directory").get<std::string>();
}

}  // namespace

Result<BackupOutcome> BackUpDirectory(const std::string& directory, BackupManifest manifest, BackupSet& set,
                                      const BackupOptions& options) {
  auto outcome = Making(std::move(manifest), set, options).Run(directory);
  if (!outcome.ok()) return outcome;
  auto deleted = set.DeleteOldest(options.keep);
  if (!deleted.ok())
    return Status(deleted.status().code(), outcome->directory + " is complete, but an older backup stays: " +
                                               deleted.status().message());
  outcome->deleted = *std::move(deleted);
  return outcome;
}

Result<BackupOutcome> BackUpPipeline(const settings::RunSettings& settings, const BackupOptions& options) {
  const std::string& data = settings.data_directory;
  std::error_code ignored;  // a directory that cannot even be looked at is not there for us
  if (!fs::exists(data + "/log", ignored))
    return Status::NotFound("there is no data directory " + data + "; name it with --data or --config");
  if (Status s = CheckOutside(data, options.to); !s.ok()) return s;
  auto set = BackupSet::Open(options.to, options.report);
  if (!set.ok()) return set.status();
  WarnOfOneDisk(data, options);
  auto lock = stream::embedded::LockFile::Take(BackupLockOf(data));
  if (lock.status().code() == StatusCode::kFenced)
    return Status::Fenced("another backup of " + data + " is being made; wait until it ends");
  if (!lock.ok()) return lock.status();
  LowerPriorities();
  const CopyOfEngine removes(BackupCopyOf(data));
  const auto copy = CopyOf(settings, options);
  if (!copy.ok()) return copy.status();
  Failpoint("B1");
  return BackUpDirectory(*copy, {.backend = "embedded", .source = data, .partitions = settings.partitions},
                         *set, options);
}

}  // namespace cobblestone::backup
