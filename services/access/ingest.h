// Ingests a source of events exactly once. A file that is sent again, unchanged or longer, adds only its new lines,
// because the pipeline keeps, for each source, the number of ingested lines and a hash chained over them.
//
// Sequence: the count is of lines of the file (records of a delimited file), blank lines included, so that a refused
// record names the line that an editor shows. Two exceptions, which depend on the file alone: if a golden line holds
// several events, events are counted; in lockstep, generated ticks are counted as well.
//
// Barriers: broadcasts (catalogue, settings) are sent in blocks of their own; the pipeline drains before and after
// such a block. In lockstep the same holds for users, teams and every tick, including ticks generated from event
// times; if the file is in order of time, grants then equal those of `replay`. A pipeline with `order: lockstep`
// ingests every source this way, sends hosts in blocks of their own too, mixes no two kinds in a block, and sends
// barriers between blocks (services/pipeline/periods.h): grants and totals are those of `replay`, bit for bit,
// whatever the file, the threads and the partitions. After the last line an empty block requests the last barrier.
//
// Two threads: one reads and decodes, the caller's thread sends, so that the pipeline and not the file is the limit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/access/client.h"
#include "services/events/event_file.h"
#include "services/intake/block_maker.h"

namespace cobblestone::access {

struct IngestOptions {
  std::string file;                // "-": standard input
  std::string source;              // the producer's name
  std::optional<bool> lockstep{};  // none: lockstep for files with their own ticks (golden)
  ProjectId project{1};            // for golden files, which name no project
  // Message if the source differs from what was sent before; empty: the message for files of events.
  std::string changed{};
};

struct IngestPoint {
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_total = 0;  // 0: unknown
  std::uint64_t taken = 0;        // durable events
  std::uint64_t bad = 0;          // IngestSummary::bad
};

using intake::BadLine;
inline constexpr std::size_t kMaxBadLinesKept = 20;

struct IngestSummary {
  events::EventFormat format = events::EventFormat::kJsonLines;
  bool lockstep = false;
  // Lines are positions in the sequence of the source (above). `lines` is the sum of `events`, `bad` and `blank`.
  std::uint64_t known = 0;    // lines that were ingested before
  std::uint64_t skipped = 0;  // those of them that the source has now; less than `known` in a shorter source
  std::uint64_t lines = 0;    // ingested now
  std::uint64_t events = 0;   // appended now; the stages accept, refuse or (repeats) drop them later
  std::uint64_t completions = 0;  // results among them
  // Lines that are not events, or events that only the pipeline may write; they are now in the topic `refused`.
  std::uint64_t bad = 0;
  std::uint64_t blank = 0;           // blank lines, further lines of a message, messages of ignored varieties
  std::vector<BadLine> bad_lines{};  // the first bad lines
  bool shorter = false;              // the source has fewer lines than were ingested before
  // Everything that was read has been sent; an error is then an error of the source.
  bool sent = false;
};

// `progress` may be empty. On an error everything before the error is ingested, and *summary has the counts.
// InvalidArgument: the source does not begin with the lines that were sent under its name before. Other errors: as
// EventFile and Client.
Status Ingest(Client& client, const IngestOptions& options,
              const std::function<void(const IngestPoint&)>& progress, IngestSummary* summary);

// The same for events that do not come from a file. Of `options.file` only the value "-" matters: it marks a stream
// whose reading cannot be interrupted.
Status Ingest(Client& client, std::unique_ptr<events::EventStream> events, const IngestOptions& options,
              const std::function<void(const IngestPoint&)>& progress, IngestSummary* summary);

// Line numbers (from 1) of events that were refused after ingest, found by reading their source again: in the order
// of `envelopes`, 0 if the source has no such event.
Result<std::vector<std::uint64_t>> FindLines(events::EventStream& events,
                                             const std::vector<std::string>& envelopes);

}  // namespace cobblestone::access
