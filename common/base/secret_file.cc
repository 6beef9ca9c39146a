#include "common/base/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cobblestone {
namespace {

constexpr mode_t kForbidden = S_IROTH | S_IWOTH | S_IWGRP;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);  // an error does not matter: the file is only read
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace

void Wipe(std::string* text) {
  ::explicit_bzero(text->data(), text->size());
  text->clear();
}

Result<std::string> ReadSecretFile(std::string_view option, const std::string& path, std::size_t largest) {
  const std::string of = std::string(option) + ": " + path;
  const auto unreadable = [&of](const std::string& why) {
    return Status::InvalidArgument(of + " cannot be read: " + why);
  };
  // O_NONBLOCK: opening a FIFO would wait for a writer. The flag has no effect on a regular file.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return unreadable(std::strerror(errno));
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return unreadable(std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return unreadable("not a regular file");
  if (about.st_uid != ::geteuid() && about.st_uid != 0)
    return Status::InvalidArgument(of + " contains a secret and belongs to user " +
                                   std::to_string(about.st_uid) + ": the owner must be user " +
                                   std::to_string(::geteuid()) + ", who runs the program, or root");
  if ((about.st_mode & kForbidden) != 0)
    return Status::InvalidArgument(
        of + " contains a secret, but other users can read or change the file: run chmod 600 " + path);
  std::string text;
  char some[4096];
  Status status;
  for (;;) {
    const ssize_t n = ::read(file.get(), some, sizeof some);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status = unreadable(std::strerror(errno));
    if (n <= 0) break;
    text.append(some, static_cast<std::size_t>(n));
    if (text.size() <= largest) continue;
    status = Status::InvalidArgument(of + " has more than " + std::to_string(largest) +
                                     " bytes; check the path of the file");
    break;
  }
  ::explicit_bzero(some, sizeof some);
  if (status.ok()) return text;
  Wipe(&text);
  return status;
}

}  // namespace cobblestone
