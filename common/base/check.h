// CHECK: for impossible conditions. Always enabled; prints the compared values and ends the process.
#pragma once

#include <sstream>
#include <string>

namespace cobblestone {

[[noreturn]] void CheckFailed(const char* file, int line, const char* expression, const std::string& detail);

template <class A, class B>
std::string DescribeBoth(const A& a, const B& b) {
  std::ostringstream out;
  out << "left " << a << ", right " << b;
  return out.str();
}

}  // namespace cobblestone

#define COBBLESTONE_CHECK(condition, detail)                              \
  do {                                                                    \
    if (!(condition)) [[unlikely]]                                        \
      ::cobblestone::CheckFailed(__FILE__, __LINE__, #condition, detail); \
  } while (false)

#define COBBLESTONE_CHECK_EQ(a, b) COBBLESTONE_CHECK((a) == (b), ::cobblestone::DescribeBoth(a, b))
