#include "common/base/check.h"

#include <cstdlib>

#include "common/base/last_words.h"

namespace cobblestone {

void CheckFailed(const char* file, int line, const char* expression, const std::string& detail) {
  SayLastWords(std::string(file) + ":" + std::to_string(line) + ": impossible: " + expression +
               " does not hold: " + detail);
  std::abort();
}

}  // namespace cobblestone
