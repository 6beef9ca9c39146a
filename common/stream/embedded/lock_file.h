// One owner per data directory: an flock on a file that holds the owner's pid. The kernel releases the lock
// when the owner dies in any way, so a held lock means a live owner.
#pragma once

#include <string>

#include "common/base/status.h"

namespace cobblestone::stream::embedded {

class LockFile {
 public:
  // Creates the file if missing, takes the lock and writes the pid. kFenced: another process holds the lock
  // (the message has its pid and what to do). Never waits.
  static Result<LockFile> Take(const std::string& path);

  // Ok: the lock is free. kFenced: another process does.
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
