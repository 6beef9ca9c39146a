// The outputs of a stage with one partition that leads all others: records to every partition of `control`, numbered
// in one sequence, and watermarks (common/stream/watermarks.h) to `control` and to every topic that external producers
// append to. For the coordinator of a project pipeline and for FEEDS of a federation hub.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "common/stream/watermark.h"
#include "common/wire/control/topics.h"

namespace cobblestone::stage {

// State of the relay. One row.
struct RelayState {
  std::uint64_t number = 0;      // of the last record sent to `control`
  std::uint64_t watermarks = 0;  // watermarks sent so far

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.number, s.watermarks);
  }
};

// Threads: the slot's.
class Relay {
 public:
  // `topics`: those that external producers append to and that stages other than this one read. Static.
  Relay(stream::TableHost& tables, stream::TableSpec<RelayState> table, std::uint32_t partitions,
        std::span<const wire::Topic> topics)
      : rows_(tables, table, true), partitions_(partitions), topics_(topics) {}

  [[nodiscard]] stream::TableBase* table() { return &rows_; }

  // Allocates the number of the next record of `control`. Each number must be sent.
  std::uint64_t NextNumber() { return ++rows_.Mutable({}).number; }
  // To every partition of `control`.
  void Send(std::string_view record, stream::Emitter& out) const;
  // Sends the watermark under the next number, and returns that number.
  std::uint64_t SendWatermark(stream::Watermark watermark, stream::Emitter& out);

  // Number of watermarks sent so far. Each watermark has a record in every partition of each of the topics.
  [[nodiscard]] std::uint64_t watermarks();

 private:
  stream::Table<RelayState> rows_;
  std::uint32_t partitions_;
  std::span<const wire::Topic> topics_;
  std::string bytes_;  // reused
};

}  // namespace cobblestone::stage
