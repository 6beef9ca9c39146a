// The rules for the layout of the tree. Each rule checks the whole tree and returns its findings in order of path.
// The rules are pure: they read no file, so that the canary can run them on invented trees.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tests/layering/tree.h"

namespace cobblestone::layering {

struct Finding {
  std::string rule;
  std::string where;    // path, with :line if it is known
  std::string message;  // the problem and the remedy
};
std::ostream& operator<<(std::ostream& out, const Finding& finding);

struct Rule {
  const char* name;
  const char* says;  // one sentence
  std::vector<Finding> (*check)(const Tree& tree);
};
std::ostream& operator<<(std::ostream& out, const Rule& rule);

const std::vector<Rule>& AllRules();

// The findings of all rules.
std::vector<Finding> Check(const Tree& tree);

}  // namespace cobblestone::layering
