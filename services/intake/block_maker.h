// Divides the lines of a source into blocks: classifies each line, and gives lines that need a barrier blocks of their
// own. For files and HTTP batches alike.
//
// Owner: one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/stream/hash128.h"
#include "common/wire/events/event_codec.h"
#include "services/intake/block.h"
#include "services/intake/merge_order.h"
#include "services/pipeline/periods.h"

namespace cobblestone::intake {

enum class BarrierNeed : std::uint8_t {
  kNone,
  kJoin,   // may share its block with adjacent lines of its kind
  kAlone,  // everything before it must be processed: its own block
};

// How the lines of a source are separated.
enum class Separation : std::uint8_t {
  kBroadcasts,  // broadcasts, and merges that must wait for earlier merges
  kMembers,     // users, teams, ticks and barriers too (`ingest --lockstep`)
  kKinds,       // no two kinds in a block (`order: lockstep`)
};

struct Step {
  SourceLine line;
  BarrierNeed barrier = BarrierNeed::kNone;
  // Separation::kKinds only. kNothing fits into any block.
  pipeline::PeriodKind period_kind = pipeline::PeriodKind::kNothing;
  bool completion = false;
  std::uint64_t file_line = 0;  // from 0
};

// The reason why no source may send this event: its bytes are not an Envelope (no routing), or only the pipeline may
// create its kind. Empty: a source may send it.
std::string ProblemOf(const std::optional<wire::Routing>& routing);
// A line that is to be refused. An empty `raw` becomes one byte, because a line without bytes would count as blank.
SourceLine NotAnEvent(std::string_view raw, std::string problem);

class Classifier {
 public:
  explicit Classifier(Separation separation) : separation_(separation) {}

  // Fills the step of a line with an envelope; a barrier that its file has asked for stays. The line gets the problem of
  // ProblemOf(); the intake refuses it. Call it for each event, in order.
  void Classify(Step* step);

 private:
  const Separation separation_;
  MergeOrder merges_;
};

struct BadLine {
  std::uint64_t line = 0;  // from 1
  std::string problem;
};

// A block with data for summaries.
struct MadeBlock {
  AppendBlock block;
  std::size_t bytes = 0;
  std::uint64_t completions = 0;
  std::vector<BadLine> bad_lines;
};

class BlockMaker {
 public:
  // `pattern`: a block without lines, from which each block is copied; `first_line` is the position of the first line.
  explicit BlockMaker(AppendBlock pattern) : pattern_(std::move(pattern)), position_(pattern_.first_line) {}

  // Adds one line; `hash` is that of the source up to and including it. May complete one or two blocks.
  void Put(Step step, const stream::Hash128& hash);
  // Completes the open block, if there is one.
  void Close();

  // Number of complete blocks.
  [[nodiscard]] std::size_t complete() const { return complete_.size(); }
  [[nodiscard]] bool has_open() const { return has_open_; }
  // The oldest complete block. Requires complete() > 0.
  MadeBlock Take();

 private:
  const AppendBlock pattern_;
  std::uint64_t position_;  // lines of the source before the next Put()
  std::deque<MadeBlock> complete_;
  MadeBlock open_;
  bool has_open_ = false;
  BarrierNeed open_barrier_ = BarrierNeed::kNone;
  pipeline::PeriodKind open_kind_ = pipeline::PeriodKind::kNothing;
};

}  // namespace cobblestone::intake
