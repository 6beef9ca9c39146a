#include "common/stream/embedded/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cobblestone::stream::embedded {
namespace {

Status HeldBy(int fd, const std::string& path) {
  char text[32] = {};
  const ssize_t got = ::pread(fd, text, sizeof text - 1, 0);
  std::string pid(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  if (pid.empty()) pid = "unknown (just started)";
  return Status::Fenced("the data directory is in use: process " + pid + " holds " + path +
                        "; stop that process first, or connect to its socket");
}

Status LockFailed(const std::string& what, const std::string& path) {
  if (errno == EROFS)
    return Status::InvalidArgument(
        path + " is on a read-only file system; opening a data directory, even for reading, " +
        "writes a lock file. Mount the file system writable, or copy the directory");
  return Status::Unwritten(errno, "cannot " + what + " " + path + ": " + std::strerror(errno) +
                                      "; check that the directory exists and that this user may write to it");
}

}  // namespace

Result<LockFile> LockFile::Take(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return LockFailed("open", path);
  LockFile lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return HeldBy(fd, path);
    return LockFailed("lock", path);
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  // The pid is information for operators. A full disk must not prevent the owner from starting and freeing
  // space.
  if (::ftruncate(fd, 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(fd, pid.data(), pid.size(), 0);
  }
  return lock;
}

Status LockFile::CheckFree(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return Status::Ok();
    return LockFailed("open", path);
  }
  const LockFile closes(fd);
  if (::flock(fd, LOCK_SH | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return HeldBy(fd, path);
    return LockFailed("lock", path);
  }
  return Status::Ok();
}

LockFile::LockFile(LockFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

LockFile::~LockFile() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace cobblestone::stream::embedded
