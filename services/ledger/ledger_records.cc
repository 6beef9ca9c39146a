#include "services/ledger/ledger_records.h"

#include <algorithm>
#include <string>

#include "common/wire/control/topics.h"

namespace cobblestone::ledger {

Result<std::uint64_t> ForEachRecordOf(
    stream::IndexedLog& log, stream::TopicPartition where, std::uint64_t from, std::uint64_t to,
    const std::function<bool(std::uint64_t offset, std::string_view record)>& take,
    const std::function<void(std::uint64_t)>& step) {
  std::uint64_t at = from;
  while (at < to) {
    const auto piece = log.Read(where, at);
    if (!piece.ok()) return piece.status();
    if (piece->end <= at) break;
    std::uint64_t offset = piece->first;
    for (const std::string_view record : piece->records) {
      if (offset >= to) break;
      if (offset >= at && !take(offset, record))
        return Status::Corrupted("record " + std::to_string(offset) + " of partition " +
                                 std::to_string(where.partition) + " of " +
                                 std::string(wire::TopicName(where.topic)) + " cannot be decoded");
      if (!piece->one_place) ++offset;
    }
    const std::uint64_t next = std::min(piece->end, to);
    if (step) step(next - at);
    at = next;
  }
  return at;
}

}  // namespace cobblestone::ledger
