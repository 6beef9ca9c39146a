#include "services/embedded/log_records.h"

namespace cobblestone::embedded {

Status ReadRecords(stream::embedded::Log& log, stream::TopicPartition where, std::uint64_t at,
                   std::uint64_t end,
                   const std::function<bool(std::uint64_t offset, std::string_view record)>& visit) {
  while (at < end) {
    auto batch = log.Read(where, at);
    if (!batch.ok()) return batch.status();
    if (*batch == nullptr) break;
    stream::RecordCursor cursor((*batch)->payload);
    std::string_view record;
    for (std::uint64_t offset = (*batch)->first; cursor.Next(&record); ++offset)
      if (offset >= at && !visit(offset, record)) return Status::Ok();
    at = (*batch)->end();
  }
  return Status::Ok();
}

}  // namespace cobblestone::embedded
