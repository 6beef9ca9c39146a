// Reads a partition from an offset to its end, or to an offset before the end.
#pragma once

#include <cstdint>
#include <functional>

#include "common/base/status.h"
#include "common/stream/kafka/transport.h"

namespace cobblestone::stream::kafka {

inline constexpr std::uint64_t kToEnd = ~0ull;

// A status other than ok from `visit` stops the read and is returned. *end: the offset after the last
// message or after the gap that follows it. Messages at or after `until` are not visited. kRetry: no progress for
// `patience` before the end was reached.
Status ReadAll(Reader& reader, TopicPartition where, std::uint64_t from, Millis patience,
               const std::function<Status(const Message&)>& visit, std::uint64_t* end = nullptr,
               std::uint64_t until = kToEnd);

}  // namespace cobblestone::stream::kafka
