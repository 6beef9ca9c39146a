#include "common/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace cobblestone {

void CheckFailed(const char* file, int line, const char* expression, const std::string& detail) {
  std::fprintf(stderr, "%s:%d: impossible: %s does not hold: %s\n", file, line, expression, detail.c_str());
  std::abort();
}

}  // namespace cobblestone
