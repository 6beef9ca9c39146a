#include "services/export/publish.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "common/base/failpoint.h"

namespace cobblestone::statistics {
namespace {

namespace fs = std::filesystem;

// Lies in a directory until it is published: what has it is an export's, and may be deleted.
constexpr const char* kMark = "/.unfinished";

bool Exists(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0;
}

Status Failed(int error, const std::string& what) {
  return Status::Unwritten(error, what + ": " + std::strerror(error));
}

// The mark last: a death on the way leaves what the next export deletes.
Status Remove(const std::string& directory) {
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename() == kMark + 1) continue;
    fs::remove_all(entry->path(), error);
  }
  if (!error) fs::remove_all(directory, error);
  if (error) return Failed(error.value(), "cannot delete " + directory);
  return Status::Ok();
}

Status Rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return Failed(errno, "cannot rename " + from + " to " + to);
  return Status::Ok();
}

Status MakeMark(const std::string& directory) {
  const int file = ::open((directory + kMark).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return Failed(errno, "cannot make " + directory + kMark);
  ::close(file);
  return Status::Ok();
}

Status TakeMark(const std::string& directory) {
  if (::unlink((directory + kMark).c_str()) != 0) return Failed(errno, "cannot delete " + directory + kMark);
  return Status::Ok();
}

}  // namespace

Publication::Publication(PublishOptions options)
    : options_(std::move(options)), final_(options_.final_directory) {
  while (final_.size() > 1 && final_.ends_with('/')) final_.pop_back();
  partial_ = final_ + ".partial";
}

Publication::Publication(Publication&& other) noexcept
    : options_(std::move(other.options_)),
      final_(std::move(other.final_)),
      partial_(std::move(other.partial_)),
      lock_(std::exchange(other.lock_, -1)),
      mine_(std::exchange(other.mine_, false)) {}

Publication::~Publication() {
  if (mine_) {
    (void)Remove(partial_);  // the next export deletes what cannot be deleted now
  }
  if (lock_ >= 0) ::close(lock_);
}

Result<Publication> Publication::Begin(const PublishOptions& options) {
  Publication publication(options);
  if (Status status = publication.Prepare(); !status.ok()) return status;
  return publication;
}

Status Publication::Prepare() {
  const std::string name = fs::path(final_).filename().string();
  if (name.empty() || name == "." || name == "..")
    return Status::InvalidArgument("'" + final_ +
                                   "' cannot be exchanged as a whole; name a directory of its own");
  struct stat about {};
  if (::stat(final_.c_str(), &about) == 0 && !S_ISDIR(about.st_mode))
    return Status::InvalidArgument(final_ + " is there and is no directory");
  if (::lstat(final_.c_str(), &about) == 0 && S_ISLNK(about.st_mode))
    return Status::InvalidArgument(
        final_ + " is a link, which would be exchanged in place of what it leads to; name that");
  const std::string parent =
      fs::path(final_).has_parent_path() ? fs::path(final_).parent_path().string() : ".";
  if (!options_.archive_directory.empty()) {
    struct stat archive {};
    if (::stat(parent.c_str(), &about) == 0 && ::stat(options_.archive_directory.c_str(), &archive) != 0)
      return Status::InvalidArgument("the archive " + options_.archive_directory + " is not there; make it");
    if (about.st_dev != archive.st_dev)
      return Status::InvalidArgument("the archive " + options_.archive_directory +
                                     " is on another file system than " + final_ +
                                     ", where nothing can be renamed to");
  }
  bool left_over = false;
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (::mkdir(partial_.c_str(), 0755) != 0 && errno != EEXIST)
      return errno == ENOENT
                 ? Status::InvalidArgument("there is no directory " + parent + " to export into; make it")
                 : Failed(errno, "cannot make " + partial_);
    if (Status status = TakeLock(&left_over); !status.ok()) return status;
    if (!left_over) {
      if (Exists(final_ + kMark)) {
        // The first export under this name was published and died before it could say so.
        if (Status status = TakeMark(final_); !status.ok()) return status;
      }
      mine_ = true;
      return MakeMark(partial_);
    }
    if (Status status = HealLeftOvers(); !status.ok()) return status;
    ::close(std::exchange(lock_, -1));
  }
  return Status::Retry(partial_ + " comes back while it is deleted; is another export running?");
}

Status Publication::TakeLock(bool* left_over) {
  lock_ = ::open(partial_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) {
    if (errno == ENOENT) {  // whoever had it has just published it
      *left_over = true;
      return Status::Ok();
    }
    return Status::InvalidArgument(partial_ + " is in the way: " + std::strerror(errno) + "; move it away");
  }
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0)
    return Status::Retry("another export to " + final_ + " is being written (" + partial_ + "); wait for it");
  struct stat held {};
  struct stat there {};
  const bool same =
      ::fstat(lock_, &held) == 0 && ::stat(partial_.c_str(), &there) == 0 && held.st_ino == there.st_ino;
  std::error_code ignored;
  *left_over = !same || !fs::is_empty(partial_, ignored);
  return Status::Ok();
}

Status Publication::HealLeftOvers() {
  if (!Exists(partial_)) return Status::Ok();
  if (Exists(partial_ + kMark)) {
    Report(partial_ + " was left by an export that broke off, and is deleted");
    return Remove(partial_);
  }
  if (!Exists(final_ + kMark))
    return Status::InvalidArgument(partial_ + " is in the way and was not left by an export; move it away");
  // Published, but not finished: what lies here is the export before.
  const auto old = PutOldAway();
  if (!old.ok()) return old.status();
  Report("an export to " + final_ + " was published and broke off then; the one before it is " +
         (old->empty() ? "deleted" : *old));
  return Status::Ok();
}

void Publication::Report(const std::string& what) const {
  if (options_.report) options_.report(what);
}

std::string Publication::NameOfOld() const {
  const auto now = static_cast<time_t>(options_.now);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 80> time;
  std::snprintf(time.data(), time.size(), "_%d_%d_%d_%d_%d_%d", local.tm_year + 1900, local.tm_mon + 1,
                local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec);
  const std::string name =
      (options_.archive_directory.empty() ? final_ : options_.archive_directory + "/stats") + time.data();
  // Two exports in one second.
  std::string free = name;
  for (int n = 2; Exists(free); ++n) free = name + "_" + std::to_string(n);
  return free;
}

// With the old export under the new one's former name: gives it its own, then takes the mark off the new one.
Result<std::string> Publication::PutOldAway() {
  std::string old;
  if (options_.delete_old) {
    // Marked, so that a death on the way leaves what the next export deletes.
    if (Status status = MakeMark(partial_); !status.ok()) return status;
    if (Status status = Remove(partial_); !status.ok()) return status;
  } else {
    old = NameOfOld();
    if (Status status = Rename(partial_, old); !status.ok()) return status;
  }
  Failpoint("X3");
  if (Status status = TakeMark(final_); !status.ok()) return status;
  return old;
}

Status Publication::SyncParent() const {
  const fs::path parent = fs::path(final_).has_parent_path() ? fs::path(final_).parent_path() : fs::path(".");
  const int descriptor = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return Failed(errno, "cannot open " + parent.string());
  const int error = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  return error == 0 ? Status::Ok() : Failed(error, "cannot bring " + parent.string() + " to the disk");
}

Result<std::string> Publication::Publish() {
  Failpoint("X1");
  // One call for any number of files, instead of one each.
  if (::syncfs(lock_) != 0) return Failed(errno, "cannot bring " + partial_ + " to the disk");
  std::string old;
  Status status;
  if (!Exists(final_)) {
    if (status = Rename(partial_, final_); !status.ok()) return status;
    mine_ = false;
    Failpoint("X2");
    if (status = TakeMark(final_); !status.ok()) return status;
  } else if (::renameat2(AT_FDCWD, partial_.c_str(), AT_FDCWD, final_.c_str(), RENAME_EXCHANGE) == 0) {
    mine_ = false;
    Failpoint("X2");
    auto put_away = PutOldAway();
    if (!put_away.ok()) return put_away.status();
    old = *put_away;
  } else if (errno == EINVAL || errno == ENOSYS) {
    // A file system that cannot exchange: for a moment the name stands for nothing, as upstream's.
    old = NameOfOld();
    if (status = Rename(final_, old); !status.ok()) return status;
    if (status = Rename(partial_, final_); !status.ok()) return status;
    mine_ = false;
    if (status = TakeMark(final_); !status.ok()) return status;
    if (options_.delete_old) {
      if (status = Remove(old); !status.ok()) return status;
      old.clear();
    }
  } else {
    return Failed(errno, "cannot exchange " + partial_ + " with " + final_);
  }
  if (status = SyncParent(); !status.ok()) return status;
  return old;
}

}  // namespace cobblestone::statistics
