// Sequential reads of a topic's partition, on any backend.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "common/base/status.h"
#include "common/stream/index/indexed_log.h"

namespace cobblestone::ledger {

// Passes records from offset `from` up to `to` to `take`; `step` receives the number of records of each piece.
// Returns the place at which reading ended: before `to` if the log ends there. kCorrupted: `take` returned
// false, because the record does not decode.
Result<std::uint64_t> ForEachRecordOf(
    stream::IndexedLog& log, stream::TopicPartition where, std::uint64_t from, std::uint64_t to,
    const std::function<bool(std::uint64_t offset, std::string_view record)>& take,
    const std::function<void(std::uint64_t)>& step);

}  // namespace cobblestone::ledger
