// Watermarks in the data. One partition of one stage (the coordinator) makes them. It writes each
// watermark in one commit to every partition of the control topic and of each topic that external producers
// append to. A partition of a stage has passed a watermark once it has read the watermark on all its inputs:
// every record appended before it has then been processed. The partition reports this to every partition of
// the next stage, in order with its records (`Passed`); a partition downstream passes the watermark once all
// partitions upstream have reported it. Event time therefore never runs ahead of the data, however long a
// partition was down.
//
// External producers can write records that look like watermarks. Only numbers announced on the control topic
// count, each once. (A producer can anticipate a number that is about to be announced, on one input of one
// partition; ingest therefore refuses watermarks.)
//
// State: one row. Invariant: announced watermarks that have not passed are in `pending`, ascending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/status.h"
#include "common/stream/table.h"
#include "common/stream/watermark.h"

namespace cobblestone::stream {

// An input that external producers also append to.
struct ExternalWatermarks {
  std::uint64_t seen = 0;            // the last announced watermark seen here
  std::vector<std::uint64_t> ahead;  // seen but not announced yet, ascending

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.seen, s.ahead);
  }
};

struct WatermarkProgress {
  std::uint64_t control = 0;  // number of the last control record
  std::uint64_t named = 0;    // the last control record that records from upstream depend on
  std::uint64_t passed = 0;   // count of passed watermarks
  std::vector<Watermark> pending;
  std::vector<std::uint64_t> sources;  // the last watermark passed by each partition upstream
  std::vector<ExternalWatermarks> outside;
  bool begun = false;  // the first of `pending` has passed, is counted in `passed`, and is being processed

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.control, s.named, s.passed, s.pending, s.sources, s.outside, s.begun);
  }
};

class Watermarks {
 public:
  // Most unannounced numbers remembered per input: more than an input is ever ahead of the control topic.
  // Beyond the limit the smallest are kept, because they are announced first; a forgotten watermark passes
  // with a later one.
  static constexpr std::size_t kMaxAhead = 1000;

  // `sources`: partitions of the stage upstream; 0: none. `outside`: inputs that external producers append
  // to.
  Watermarks(TableHost& host, std::uint8_t table, std::uint32_t sources, std::size_t outside);

  [[nodiscard]] TableBase* table() { return &rows_; }
  // Call after state was loaded.
  void Opened();

  // Processes the next control record; `watermark`: the watermark that it announces, or null. kCorrupted: a record
  // is missing or duplicated.
  Status OnControl(std::uint64_t number, const Watermark* watermark);
  // Processes a watermark read on an external input.
  void OnOutside(std::size_t input, std::uint64_t number);
  // True if the input has already delivered a watermark that has not passed: its next records belong after a
  // watermark that other inputs have yet to deliver.
  [[nodiscard]] bool Ahead(std::size_t input) const { return ahead_[input]; }
  // kCorrupted: there is no such partition upstream.
  Status OnSource(const Passed& passed);

  // Returns the watermark that is being processed; if there is none, begins the next watermark that has passed. End()
  // ends it. A stage may process a watermark in several commits (Stage::Unfinished).
  std::optional<Watermark> Begin();
  void End();
  // A watermark is being processed.
  [[nodiscard]] bool begun() const { return begun_; }
  // Returns the next passed watermark, each once: Begin() and End().
  std::optional<Watermark> Next();

  // True if no record from upstream depends on a control record that has not been read.
  [[nodiscard]] bool caught_up() const { return caught_up_; }
  // Count of passed watermarks, including the watermark that is being processed.
  [[nodiscard]] std::uint64_t passed();

 private:
  WatermarkProgress& Row();
  void Derive();

  Table<WatermarkProgress> rows_;
  std::uint32_t sources_;
  std::size_t outside_;
  bool caught_up_ = true;  // derived from the row, as are begun_ and ahead_
  bool begun_ = false;
  std::vector<bool> ahead_;  // by external input
};

}  // namespace cobblestone::stream
