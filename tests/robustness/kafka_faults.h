// Counts the faults of a run by kind, and those that hit a worker with an open transaction, as the brokers
// report. `./dev chaos` sums the printed lines.
#pragma once

#include <map>
#include <string>

namespace cobblestone::testing {

// The integer in COBBLESTONE_CHAOS_ROUNDS or COBBLESTONE_CHAOS_SEED; `otherwise` if the variable is not set.
int FromEnvironment(const char* name, int otherwise);

class FaultCounts {
 public:
  // Prints "fault | KIND | COUNT | WITH AN OPEN TRANSACTION", one line per kind.
  ~FaultCounts();
  void Note(const std::string& kind, bool open, int count = 1);
  [[nodiscard]] int all() const;
  [[nodiscard]] int Of(const std::string& kind) const;

 private:
  struct Count {
    int all = 0;
    int open = 0;
  };
  std::map<std::string, Count> by_kind_;
};

}  // namespace cobblestone::testing
