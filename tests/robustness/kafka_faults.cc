#include "tests/robustness/kafka_faults.h"

#include <cstdio>
#include <cstdlib>

namespace cobblestone::testing {

int FromEnvironment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

FaultCounts::~FaultCounts() {
  for (const auto& [kind, count] : by_kind_)
    std::printf("fault | %s | %d | %d\n", kind.c_str(), count.all, count.open);
}

void FaultCounts::Note(const std::string& kind, bool open, int count) {
  by_kind_[kind].all += count;
  if (open) by_kind_[kind].open += count;
}

int FaultCounts::all() const {
  int sum = 0;
  for (const auto& [kind, count] : by_kind_) sum += count.all;
  return sum;
}

int FaultCounts::Of(const std::string& kind) const {
  const auto found = by_kind_.find(kind);
  return found == by_kind_.end() ? 0 : found->second.all;
}

}  // namespace cobblestone::testing
