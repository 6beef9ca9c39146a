#include "services/hub/collector/replace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace cobblestone::hub {

namespace {

Status NotReplaced(const std::string& path) {
  return Status::Unwritten(errno, "cannot write " + path + ": " + std::strerror(errno));
}

// Closes the descriptor; false leaves errno of the first failure.
bool SyncAndClose(int fd) {
  const bool synced = ::fsync(fd) == 0;
  const int error = errno;
  const bool closed = ::close(fd) == 0;
  if (!synced) errno = error;
  return synced && closed;
}

bool WriteAll(int fd, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t written = ::write(fd, contents.data(), contents.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) contents.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Status ReplaceFile(const std::string& path, std::string_view contents) {
  const std::string part = path + ".new";
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return NotReplaced(path);
  if (!WriteAll(file, contents)) {
    const Status failed = NotReplaced(path);
    ::close(file);
    return failed;
  }
  if (!SyncAndClose(file) || std::rename(part.c_str(), path.c_str()) != 0) return NotReplaced(path);
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  const int names = ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (names < 0 || !SyncAndClose(names)) return NotReplaced(path);
  return Status::Ok();
}

}  // namespace cobblestone::hub
