#include "common/base/last_words.h"

#include <cstdio>
#include <utility>

namespace cobblestone {
namespace {

// Never destroyed: a thread may still send a message while the program ends.
std::function<void(const std::string&)>& Sink() {
  static auto* const sink = new std::function<void(const std::string&)>;
  return *sink;
}

}  // namespace

void SayLastWords(const std::string& message) {
  if (Sink()) return Sink()(message);
  std::fprintf(stderr, "cobblestone: %s\n", message.c_str());
  std::fflush(stderr);
}

void SetLastWords(std::function<void(const std::string& message)> sink) { Sink() = std::move(sink); }

}  // namespace cobblestone
