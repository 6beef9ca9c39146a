// Counts the faults of a run by kind, and whether the worker that was hit had a transaction open, as the
// brokers report. `./dev chaos` sums up the lines that are printed here.
#pragma once

#include <map>
#include <string>

namespace cobblestone::testing {

// An integer from COBBLESTONE_CHAOS_ROUNDS or COBBLESTONE_CHAOS_SEED.
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
