// A data directory for `cobblestone run`, with frequent flushes and little memory, and checks of the result.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "tests/e2e/program_process.h"
#include "tests/robustness/traffic.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {

class ProgramWorld {
 public:
  // The data directory is `directory`/data; configuration and events are in `beside`, which stays writable.
  ProgramWorld(std::string directory, const TempDir& beside, const std::vector<Event>& events);

  [[nodiscard]] std::string data() const { return directory_ + "/data"; }
  // Arguments of `cobblestone run` and `cobblestone ingest`.
  [[nodiscard]] std::vector<std::string> run() const { return {"run", "--config", config_}; }
  // Returns when everything has been posted.
  [[nodiscard]] Finished Ingest() const;
  // Runs the program on the directory, sends it the events, stops it, and compares with the oracle.
  void FinishAndExpectLikeTheOracle() const;

  // Every file below the data directory with its bytes, except the owner's lock and the socket.
  [[nodiscard]] std::map<std::string, std::string> Files() const;

 private:
  std::string directory_;
  std::string config_;
  std::string source_;
  const std::vector<Event>& events_;
};

}  // namespace cobblestone::testing
