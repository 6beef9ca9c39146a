// The rules of the tree's layout. Each looks at the whole tree and returns what breaks it, in order of path.
// Pure: no file is read here, so that the canary can run them on made-up trees.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tests/layering/tree.h"

namespace cobblestone::layering {

struct Finding {
  std::string rule;
  std::string where;    // path, with :line where there is one
  std::string message;  // what is wrong and what to do
};
std::ostream& operator<<(std::ostream& out, const Finding& finding);

struct Rule {
  const char* name;
  const char* says;  // one sentence
  std::vector<Finding> (*check)(const Tree& tree);
};
std::ostream& operator<<(std::ostream& out, const Rule& rule);

const std::vector<Rule>& AllRules();

// What all rules find.
std::vector<Finding> Check(const Tree& tree);

}  // namespace cobblestone::layering
