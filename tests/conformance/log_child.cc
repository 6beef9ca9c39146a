// A process that writes to a log, for tests that kill it, take its disk away or limit it:
//   log_child DIR UNITS BYTES [SIZE-LIMIT [stay]]
// appends units of the story (log_stories.h) after the existing ones, each record with BYTES of noise, and writes a
// line "acknowledged N" when a unit becomes durable. UNITS 0: without end. SIZE-LIMIT: the maximum size of a file
// (bytes; 0: none).
// `stay`: the log is not closed; the process waits to be killed.
// The first line is "open", or "refused MESSAGE" with exit code 3.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/base/check.h"
#include "tests/conformance/log_stories.h"

namespace {

void Print(const std::string& line) {
  const std::string text = line + "\n";
  // A reader that has closed the pipe needs no more lines.
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
}

}  // namespace

int main(int argc, char** argv) {
  using namespace cobblestone;                    // NOLINT(google-build-using-namespace)
  using namespace cobblestone::stream::embedded;  // NOLINT(google-build-using-namespace)
  COBBLESTONE_CHECK(argc >= 4, "arguments");
  const std::uint64_t units = std::strtoull(argv[2], nullptr, 10);
  const std::size_t bytes = std::strtoull(argv[3], nullptr, 10);
  if (argc > 4 && std::strtoull(argv[4], nullptr, 10) > 0) {
    ::signal(SIGXFSZ, SIG_IGN);  // the write fails instead
    const rlim_t limit = std::strtoull(argv[4], nullptr, 10);
    const rlimit limits{.rlim_cur = limit, .rlim_max = limit};
    COBBLESTONE_CHECK_EQ(::setrlimit(RLIMIT_FSIZE, &limits), 0);
  }
  LogOptions options = StoryOptions(argv[1]);
  options.write_buffer_bytes = 1u << 20;  // so that flushes happen within a short life
  options.pending_bytes = 256u << 10;
  auto log = Log::Open(options);
  if (!log.ok()) {
    Print("refused " + log.status().message());
    return 3;
  }
  Print("open");
  const std::uint64_t there = (*log)->End({kClaims, 0});
  for (std::uint64_t unit = there + 1; units == 0 || unit <= there + units; ++unit) {
    LogUnit next = StoryUnit(unit, bytes);
    next.on_durable = [unit] { Print("acknowledged " + std::to_string(unit)); };
    (*log)->Append(std::move(next));
  }
  while (argc > 5) ::pause();
  return 0;
}
