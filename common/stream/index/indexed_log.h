// Reads the partitions of topics by offset. A seam: the embedded log, or the topics on Kafka.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/stream/record.h"

namespace cobblestone::stream {

// One reader of a log. Threads: any, one call at a time.
class IndexedLog {
 public:
  // Consecutive records. The views are valid while the piece exists.
  struct Piece {
    std::uint64_t first = 0;
    std::uint64_t end = 0;  // the offset to continue from; 0: no more records now
    std::vector<std::string_view> records{};
    bool one_place = false;  // all records have offset `first`; else offsets ascend by 1
    std::shared_ptr<const void> bytes{};
  };

  virtual ~IndexedLog() = default;
  [[nodiscard]] virtual std::uint64_t Begin(TopicPartition where) = 0;
  [[nodiscard]] virtual std::uint64_t End(TopicPartition where) = 0;  // of the durable part
  virtual Result<Piece> Read(TopicPartition where, std::uint64_t offset) = 0;
};

}  // namespace cobblestone::stream
