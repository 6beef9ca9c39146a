// Records of a topic's partition, one after the other, whatever the backend.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "common/base/status.h"
#include "common/stream/embedded/topic_index.h"

namespace cobblestone {

// From `from` up to `to`, and `step` with how many each piece had. Where it ended: before `to` where the log does. A false from
// `take`: the record does not decode, kCorrupted.
Result<std::uint64_t> ForEachRecordOf(stream::embedded::IndexedLog& log, stream::TopicPartition where,
                                      std::uint64_t from, std::uint64_t to,
                                      const std::function<bool(std::string_view record)>& take,
                                      const std::function<void(std::uint64_t)>& step);

}  // namespace cobblestone
