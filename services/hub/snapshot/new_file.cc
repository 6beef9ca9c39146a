#include "services/hub/snapshot/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cobblestone::hub {
namespace {

constexpr std::size_t kBufferBytes = 1u << 18;

}  // namespace

Status UnwrittenFile(const std::string& path) {
  const int error = errno;
  return Status::Unwritten(error, path + " cannot be written: " + std::strerror(error));
}

Status NewFile::Open(const std::string& path, unsigned mode) {
  path_ = path;
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (file_ < 0) return UnwrittenFile(path_);
  return ::fchmod(file_, mode) == 0 ? Status::Ok() : UnwrittenFile(path_);
}

Status NewFile::Append(std::string_view bytes) {
  buffer_ += bytes;
  return buffer_.size() < kBufferBytes ? Status::Ok() : Flush();
}

Status NewFile::Finish() {
  if (Status s = Flush(); !s.ok()) return s;
  if (::fsync(file_) != 0) return UnwrittenFile(path_);
  Close();
  return Status::Ok();
}

Status NewFile::Flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return UnwrittenFile(path_);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
  return Status::Ok();
}

void NewFile::Close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

}  // namespace cobblestone::hub
