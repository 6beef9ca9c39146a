// Reads a partition from an offset to its current end.
#pragma once

#include <cstdint>
#include <functional>

#include "common/base/status.h"
#include "common/stream/kafka/transport.h"

namespace cobblestone::stream::kafka {

// A status other than ok from `visit` stops the read and is returned. *end: the offset after the last
// message or after the gap that follows it. kRetry: no progress for `patience` before the end was reached.
Status ReadAll(Reader& reader, TopicPartition where, std::uint64_t from, Millis patience,
               const std::function<Status(const Message&)>& visit, std::uint64_t* end = nullptr);

}  // namespace cobblestone::stream::kafka
