// The built program as a user starts it: with arguments, in a directory, its output caught.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cobblestone::testing {

// All that are started from here on are this program. Null, and before: the built one.
void UseProgram(const char* path);

struct Finished {
  int code = -1;  // exit code; 128 and the signal where one ended it
  std::string out;
  std::string err;
};

// Runs to the end. `directory` is where it is started; `input` is its standard input.
Finished RunProgram(const std::string& directory, const std::vector<std::string>& arguments,
                    const std::string& input = "");

// As above, and its standard output is one JSON value; a discarded one where it is not.
nlohmann::json AskProgram(const std::string& directory, const std::vector<std::string>& arguments);

// In the background. The destructor kills it.
class Background {
 public:
  // `failpoint`: "E3:17", where the program is to kill itself (common/base/failpoint.h); empty: nowhere. `environment`:
  // more variables, names and values. `input`: the file that is its standard input.
  Background(const std::string& directory, const std::vector<std::string>& arguments,
             const std::string& failpoint = "",
             const std::vector<std::pair<std::string, std::string>>& environment = {},
             const std::string& input = "/dev/null");
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void Signal(int number) const;
  // Waits for its end; its exit code as in Finished. One that does not come to its end for minutes is aborted.
  int Wait();
  // Whether it still runs; reads what it says meanwhile.
  bool Runs();
  // Blocks until its standard error has such a text, or it has ended: then false. One that says
  // nothing of it for minutes is aborted.
  bool WaitFor(const std::string& text);
  [[nodiscard]] const std::string& err() const { return err_; }

 private:
  bool ReadMore(std::chrono::steady_clock::time_point deadline);

  pid_t id_ = -1;
  int pipe_ = -1;
  std::string err_;
};

}  // namespace cobblestone::testing
