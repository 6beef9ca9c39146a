// The examples of S004 with numbers, variations of them, and an ordinary host.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/workfetch/simulation.h"

namespace cobblestone::workfetch {

// A span of time in which a project's share of a resource has a goal.
struct Goal {
  std::string when;
  double from = 0;
  double to = 0;
  std::size_t project = 0;
  std::size_t resource = kCpu;
  double share = 0;
  double tolerance = 0.02;
};

struct Mark {
  double at = 0;
  std::string text;
};

struct Example {
  std::string id;
  std::string title;
  std::string goal;
  Scenario scenario;
  std::vector<Goal> goals;
  std::vector<Mark> marks;
};

// "1", "1a", "2", "2a", "3", "3a", "4".
const std::vector<Example>& Examples();

}  // namespace cobblestone::workfetch
