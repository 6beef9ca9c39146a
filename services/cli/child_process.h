// A child process that ends with its parent.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::cli {

class ChildProcess {
 public:
  // Runs a program; its output goes to the file `output`.
  static Result<ChildProcess> Start(const std::vector<std::string>& command, const std::string& output);
  ~ChildProcess();  // kills a running child
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  [[nodiscard]] bool running();
  void Signal(int number) const;
  // Waits until the child ends. Its exit code, or 128 plus the signal that ended it.
  int Wait();

 private:
  explicit ChildProcess(pid_t id) : id_(id) {}
  void Ended(int status);

  pid_t id_ = -1;  // -1: ended
  int code_ = 0;
};

}  // namespace cobblestone::cli
