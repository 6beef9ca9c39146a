// The built program as a user starts it: with arguments, in a directory, with its output captured.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cobblestone::testing {

// Sets the program that is started from now on. Null, and the default: the built program.
void UseProgram(const char* path);

struct Finished {
  int code = -1;  // exit code; 128 plus the signal that ended it
  std::string out;
  std::string err;
};

// Runs the program to its end in `directory`, with `input` as standard input.
Finished RunProgram(const std::string& directory, const std::vector<std::string>& arguments,
                    const std::string& input = "");

// As above, for a standard output of one JSON value; discarded if it is not JSON.
nlohmann::json AskProgram(const std::string& directory, const std::vector<std::string>& arguments);

// A program in the background. Its standard error is always read, because a full pipe would stop the program. The
// destructor kills it.
class Background {
 public:
  // `failpoint`: "E3:17", where the program kills itself (common/base/failpoint.h); empty: none. `environment`:
  // additional variables, names and values. `input`: the file used as standard input.
  Background(const std::string& directory, const std::vector<std::string>& arguments,
             const std::string& failpoint = "",
             const std::vector<std::pair<std::string, std::string>>& environment = {},
             const std::string& input = "/dev/null");
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void Signal(int number) const;
  // Waits for the end and returns the exit code as in Finished. A program that does not end within minutes is aborted.
  int Wait();
  // Whether the program still runs.
  [[nodiscard]] bool Runs() const;
  // Waits until the standard error contains `text`. False: the program ended before. A program that does not print
  // `text` within minutes is aborted.
  bool WaitFor(const std::string& text);
  // The standard error so far.
  [[nodiscard]] std::string err() const;

 private:
  void Read(int pipe);
  void Await(const std::function<bool()>& predicate);

  pid_t id_ = -1;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string err_;     // under the mutex
  bool ended_ = false;  // nothing more will be read; under the mutex
  std::thread reader_;
};

}  // namespace cobblestone::testing
