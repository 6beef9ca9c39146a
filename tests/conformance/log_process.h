// Runs log_child (log_child.cc) and listens to it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {

class LogProcess {
 public:
  // `arguments` behind the program's name; `environment`: added to ours, like COBBLESTONE_FAILPOINT.
  explicit LogProcess(const std::vector<std::string>& arguments,
                      const std::vector<std::pair<std::string, std::string>>& environment = {});
  ~LogProcess();  // kills what still runs
  LogProcess(const LogProcess&) = delete;
  LogProcess& operator=(const LogProcess&) = delete;

  // Waits until `units` are acknowledged; false when it ends before.
  bool WaitAcknowledged(std::uint64_t units);
  // Waits until it holds the log; false when it was refused or ends before.
  bool WaitOpen();
  void Kill();  // -9

  // Waits for its end. Then:
  struct End {
    int exit_code = -1;  // -1: by a signal
    int signal = 0;
    std::uint64_t acknowledged = 0;  // the last unit that it told
    bool opened = false;
    std::string output{};  // all lines
    std::string errors{};  // stderr
  };
  End Wait();

 private:
  bool ReadMore();

  int pid_ = -1;
  int out_ = -1;
  testing::TempDir errors_;
  std::string text_;
  std::size_t parsed_ = 0;
  std::uint64_t acknowledged_ = 0;
  bool opened_ = false;
};

}  // namespace cobblestone::stream::embedded
