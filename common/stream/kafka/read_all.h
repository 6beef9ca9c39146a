// Reads a partition from one offset to its present end.
#pragma once

#include <cstdint>
#include <functional>

#include "common/base/status.h"
#include "common/stream/kafka/transport.h"

namespace cobblestone::stream::kafka {

// A status of `visit` ends it and is returned. *end: behind the last message there is, or the gap behind it. kRetry: the
// end was not reached within `patience` without news.
Status ReadAll(Reader& reader, TopicPartition where, std::uint64_t from, Millis patience,
               const std::function<Status(const Message&)>& visit, std::uint64_t* end = nullptr);

}  // namespace cobblestone::stream::kafka
