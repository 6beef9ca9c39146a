#include "services/export/files/publish.h"

#include <dirent.h>
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
#include <string_view>
#include <system_error>

#include "common/base/failpoint.h"

namespace cobblestone::exports {
namespace {

namespace fs = std::filesystem;

// File in a directory until the directory is published. A directory with this file is an
// export's and may be deleted.
constexpr const char* kMark = "/.unfinished";
constexpr mode_t kReadable = 0755;

bool Exists(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0;
}

Status Failed(int error, const std::string& what) {
  return Status::Unwritten(error, what + ": " + std::strerror(error));
}

// Returns -1 and sets errno if there is no directory; does not follow a link.
int OpenDirectory(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Deletes the contents of an open directory, except `keep`, without following links. Returns 0 or errno.
int RemoveWithin(int directory, const char* keep) {
  const int again = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = again < 0 ? nullptr : ::fdopendir(again);
  if (entries == nullptr) {
    const int error = errno;
    if (again >= 0) ::close(again);
    return error;
  }
  int error = 0;
  while (error == 0) {
    errno = 0;
    const dirent* const entry = ::readdir(entries);
    if (entry == nullptr) {
      error = errno;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || name == keep) continue;
    if (::unlinkat(directory, entry->d_name, 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) {
      error = errno;
      break;
    }
    const int inner = ::openat(directory, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0) {
      error = errno;
      break;
    }
    error = RemoveWithin(inner, "");
    ::close(inner);
    if (error == 0 && ::unlinkat(directory, entry->d_name, AT_REMOVEDIR) != 0) error = errno;
  }
  ::closedir(entries);
  return error;
}

Status AnothersOrALink(const std::string& path) {
  return Status::InvalidArgument(path +
                                 " is a link or belongs to another user; it was not changed; move it away");
}

// Deletes an export's directory of this user, the mark last, so that the next export can finish after a crash.
Status Remove(const std::string& directory) {
  const int opened = OpenDirectory(directory);
  struct stat about {};
  if (opened < 0 && errno == ENOENT) return Status::Ok();
  if (opened < 0 || ::fstat(opened, &about) != 0 || about.st_uid != ::geteuid()) {
    if (opened >= 0) ::close(opened);
    return AnothersOrALink(directory);
  }
  int error = RemoveWithin(opened, kMark + 1);
  if (error == 0 && ::unlinkat(opened, kMark + 1, 0) != 0 && errno != ENOENT) error = errno;
  ::close(opened);
  if (error == 0 && ::rmdir(directory.c_str()) != 0) error = errno;
  if (error != 0) return Failed(error, "cannot delete " + directory);
  return Status::Ok();
}

Status Rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return Failed(errno, "cannot rename " + from + " to " + to);
  return Status::Ok();
}

Status MakeMark(const std::string& directory) {
  const int file = ::open((directory + kMark).c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) return Failed(errno, "cannot create " + directory + kMark);
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
      directory_(std::move(other.directory_)),
      lock_(std::exchange(other.lock_, -1)),
      mine_(std::exchange(other.mine_, false)) {}

Publication::~Publication() {
  if (mine_) {
    (void)Remove(partial_);  // on failure, the next export deletes the directory
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
                                   "' cannot be exchanged as a whole; use a separate directory");
  struct stat about {};
  if (::stat(final_.c_str(), &about) == 0 && !S_ISDIR(about.st_mode))
    return Status::InvalidArgument(final_ + " exists and is not a directory");
  if (::lstat(final_.c_str(), &about) == 0 && S_ISLNK(about.st_mode))
    return Status::InvalidArgument(
        final_ +
        " is a link; the exchange would replace the link, not its target: use the path of the target");
  if (::lstat(final_.c_str(), &about) == 0 && about.st_uid != ::geteuid())
    return Status::InvalidArgument(final_ + " belongs to user " + std::to_string(about.st_uid) +
                                   "; export as that user, or use another directory");
  const std::string parent =
      fs::path(final_).has_parent_path() ? fs::path(final_).parent_path().string() : ".";
  if (!options_.archive_directory.empty()) {
    struct stat archive {};
    if (::stat(parent.c_str(), &about) == 0 && ::stat(options_.archive_directory.c_str(), &archive) != 0)
      return Status::InvalidArgument("the archive " + options_.archive_directory +
                                     " does not exist; create it");
    if (about.st_dev != archive.st_dev)
      return Status::InvalidArgument("the archive " + options_.archive_directory +
                                     " is on another file system than " + final_ +
                                     ", so files cannot be renamed to it");
  }
  bool left_over = false;
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (::mkdir(partial_.c_str(), kReadable) != 0 && errno != EEXIST)
      return errno == ENOENT
                 ? Status::InvalidArgument("no directory " + parent + " for the export; create it")
                 : Failed(errno, "cannot create " + partial_);
    if (Status status = TakeLock(&left_over); !status.ok()) return status;
    if (!left_over) {
      if (Exists(final_ + kMark)) {
        // The first export under this name was published, but crashed before it removed the mark.
        if (Status status = TakeMark(final_); !status.ok()) return status;
      }
      mine_ = true;
      return MakeMark(directory_);
    }
    if (Status status = HealLeftOvers(); !status.ok()) return status;
    ::close(std::exchange(lock_, -1));
  }
  return Status::Retry(partial_ + " reappears while it is deleted; check for another running export");
}

Status Publication::TakeLock(bool* left_over) {
  lock_ = OpenDirectory(partial_);
  if (lock_ < 0) {
    if (errno == ENOENT) {  // another process has just published it
      *left_over = true;
      return Status::Ok();
    }
    if (errno == ELOOP || errno == ENOTDIR) return AnothersOrALink(partial_);
    return Status::InvalidArgument(partial_ + " blocks the export: " + std::strerror(errno) +
                                   "; move it away");
  }
  struct stat held {};
  if (::fstat(lock_, &held) != 0) return Failed(errno, "cannot stat " + partial_);
  if (held.st_uid != ::geteuid()) return AnothersOrALink(partial_);
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0)
    return Status::Retry("another export to " + final_ + " is being written (" + partial_ +
                         "); wait until it has finished");
  struct stat there {};
  const bool same =
      ::lstat(partial_.c_str(), &there) == 0 && held.st_dev == there.st_dev && held.st_ino == there.st_ino;
  directory_ = "/proc/self/fd/" + std::to_string(lock_);
  if (!Exists(directory_ + "/.")) directory_ = partial_;  // /proc is not mounted
  std::error_code ignored;
  *left_over = !same || !fs::is_empty(directory_, ignored);
  // Regardless of the umask. A directory left by another export is deleted in any case.
  if (!*left_over && ::fchmod(lock_, kReadable) != 0)
    return Failed(errno, "cannot create " + partial_ + " readable");
  return Status::Ok();
}

Status Publication::CheckPlace() const {
  struct stat held {};
  struct stat there {};
  if (::fstat(lock_, &held) == 0 && ::lstat(partial_.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
      held.st_ino == there.st_ino)
    return Status::Ok();
  return Status::InvalidArgument(partial_ +
                                 " was removed or replaced during the export; no files were published");
}

Status Publication::HealLeftOvers() {
  if (!Exists(partial_)) return Status::Ok();
  if (Exists(partial_ + kMark)) {
    Report(partial_ + " is left over from an interrupted export; deleting it");
    return Remove(partial_);
  }
  if (!Exists(final_ + kMark))
    return Status::InvalidArgument(partial_ +
                                   " blocks the export and is not left over from an export; move it away");
  // Published, but not finished: this directory is the previous export.
  const auto old = PutOldAway();
  if (!old.ok()) return old.status();
  Report("an export to " + final_ + " was interrupted after publishing; the previous export is " +
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
  // Two exports may end in one second.
  std::string free = name;
  for (int n = 2; Exists(free); ++n) free = name + "_" + std::to_string(n);
  return free;
}

// partial_ is the old export here: renames or deletes it, then removes the mark from the new export.
Result<std::string> Publication::PutOldAway() {
  std::string old;
  if (options_.delete_old) {
    // With the mark, so that the next export can finish the deletion after a crash.
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
  return error == 0 ? Status::Ok() : Failed(error, "cannot sync " + parent.string() + " to the disk");
}

Result<std::string> Publication::Publish() {
  Failpoint("X1");
  // One call for all files.
  if (::syncfs(lock_) != 0) return Failed(errno, "cannot sync " + partial_ + " to the disk");
  if (Status status = CheckPlace(); !status.ok()) return status;
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
    // The file system cannot exchange names: for a moment the name does not exist, as with upstream.
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

}  // namespace cobblestone::exports
