// What went wrong in a run, by kind, and whether the worker that it hit had a transaction open: asked of the brokers
// themselves. `./dev chaos` adds the lines up that are printed here.
#pragma once

#include <map>
#include <string>

namespace cobblestone::testing {

// COBBLESTONE_CHAOS_ROUNDS, COBBLESTONE_CHAOS_SEED.
int FromEnvironment(const char* name, int otherwise);

class FaultCounts {
 public:
  // Prints "fault | KIND | COUNT | WITH AN OPEN TRANSACTION", a line for each.
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
