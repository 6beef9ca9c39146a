#include "common/base/last_words.h"

#include <cstdio>
#include <utility>

namespace cobblestone {
namespace {

// Never destroyed: a thread may still send a message while the program ends.
std::function<void(const std::string&)>& Tell() {
  static auto* const tell = new std::function<void(const std::string&)>;
  return *tell;
}

}  // namespace

void SayLastWords(const std::string& message) {
  if (Tell()) return Tell()(message);
  std::fprintf(stderr, "cobblestone: %s\n", message.c_str());
  std::fflush(stderr);
}

void SetLastWords(std::function<void(const std::string& message)> tell) { Tell() = std::move(tell); }

}  // namespace cobblestone
