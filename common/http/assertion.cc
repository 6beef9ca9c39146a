// Handlers of Boost's assertions. A client's bytes can reach one: Beast of Debian 12 asserts on a chunked
// body that begins with an empty line. The handlers throw, so that the connection ends but not the program.
#include <boost/assert.hpp>
#include <stdexcept>
#include <string>

namespace boost {

void assertion_failed(const char* expression, const char* function, const char* /*file*/, long /*line*/) {
  throw std::logic_error(std::string(expression) + " does not hold in " + function);
}

void assertion_failed_msg(const char* expression, const char* message, const char* function,
                          const char* /*file*/, long /*line*/) {
  throw std::logic_error(std::string(expression) + " does not hold in " + function + ": " + message);
}

}  // namespace boost
