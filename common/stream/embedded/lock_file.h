// One owner per data directory: an flock on a file that names the owner's process. The kernel lets go of the lock when
// the owner dies, however it dies, so a lock that is held is an owner that lives.
#pragma once

#include <string>

#include "common/base/status.h"

namespace cobblestone::stream::embedded {

class LockFile {
 public:
  // Makes the file when there is none, takes the lock, writes the pid into it. kFenced: another process holds it (says
  // its pid and what to do). Never waits.
  static Result<LockFile> Take(const std::string& path);

  // Ok: nobody holds it at this moment. kFenced: somebody does.
  static Status CheckFree(const std::string& path);

  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&& other) noexcept;
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;
  ~LockFile();

 private:
  explicit LockFile(int fd) : fd_(fd) {}

  int fd_ = -1;
};

}  // namespace cobblestone::stream::embedded
