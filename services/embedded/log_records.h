// Reads single records of an embedded log.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "common/base/status.h"
#include "common/stream/embedded/log.h"

namespace cobblestone::embedded {

// Visits the records of a topic's partition from `at` to `end`, until `visit` returns false.
Status ReadRecords(stream::embedded::Log& log, stream::TopicPartition where, std::uint64_t at,
                   std::uint64_t end,
                   const std::function<bool(std::uint64_t offset, std::string_view record)>& visit);

}  // namespace cobblestone::embedded
