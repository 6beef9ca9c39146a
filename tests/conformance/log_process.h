// Runs log_child (log_child.cc) and reads its output.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {

class LogProcess {
 public:
  // `arguments`: after the program's name. `environment`: added to this process's environment, such as
  // COBBLESTONE_FAILPOINT.
  explicit LogProcess(const std::vector<std::string>& arguments,
                      const std::vector<std::pair<std::string, std::string>>& environment = {});
  ~LogProcess();  // kills a process that still runs
  LogProcess(const LogProcess&) = delete;
  LogProcess& operator=(const LogProcess&) = delete;

  // Waits until `units` are acknowledged. False: the process ended before.
  bool WaitAcknowledged(std::uint64_t units);
  // Waits until the process holds the log. False: it was refused or ended before.
  bool WaitOpen();
  void Kill();  // -9

  // Waits for the end of the process, and returns:
  struct End {
    int exit_code = -1;  // -1: ended by a signal
    int signal = 0;
    std::uint64_t acknowledged = 0;  // the last acknowledged unit
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
