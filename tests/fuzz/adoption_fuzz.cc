// Reads any text as a file of statistics rows and as a file of adopted entities. The result is an error, or events
// that an encoder and decoder round trip preserves. Events of entities are also valid.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"
#include "services/adoption/adoption.h"
#include "services/adoption/statistics_rows.h"

using namespace cobblestone;

namespace {

Status CheckRoundTrip(const wire::Event& event) {
  const std::string bytes = wire::EncodeEvent(event);
  const auto again = wire::ParseEvent(bytes);
  if (!again.ok() || again->kind() != event.kind() || wire::EncodeEvent(*again) != bytes) std::abort();
  return Status::Ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A file in memory, because the readers need a path.
  static const int kFile = ::memfd_create("rows", 0);
  static const std::string kPath = "/proc/self/fd/" + std::to_string(kFile);
  if (::ftruncate(kFile, 0) != 0 || ::pwrite(kFile, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  (void)adoption::ReadStatistics(kPath, ProjectId(1), [](const adoption::StatisticsRow& row) {
    return CheckRoundTrip({.head = {.id = 1, .project = ProjectId(1), .time = 0}, .body = row.body});
  });
  auto entities = exports::EntitiesFile::Open(kPath, {});
  if (!entities.ok()) return 0;
  (void)adoption::ForEachEvent(**entities, {}, [](const wire::Event& event, const auto&) {
    if (wire::CheckEvent(event)) std::abort();
    return CheckRoundTrip(event);
  });
  return 0;
}
