// Takes a source of events in, exactly once: a file that is sent again, whole or grown, adds only what is
// new, because the pipeline keeps, for each source, how many lines it has taken in and a hash chained over
// them.
//
// Sequence: what is counted is lines of the file (records of a delimited one), empty ones too, so that a
// refusal names the line that an editor shows. Two exceptions, each a function of the file alone, so that
// it can be sent again: a golden line may be several events, then events are counted; in lockstep the ticks
// that are made count as well.
//
// Barriers: broadcasts (catalogue, settings) go in blocks of their own, for which the pipeline drains,
// before and behind. In lockstep so do users, teams and every tick, those that are made from event times
// included, and then the grants are those of `replay` where the file is in order of time. A pipeline with
// `order: lockstep` takes every source in so, hosts in blocks of their own too and no two kinds in one, and
// sends barriers between them (periods.h): grants and totals are those of `replay`, bit for bit, whatever
// the file, the threads and the partitions. Behind the last line an empty block asks for the last barrier.
//
// Two threads: one reads and decodes, the caller's sends, so that the pipeline and not the file is the limit.
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

namespace cobblestone {

struct IngestOptions {
  std::string file;                // "-": standard input
  std::string source;              // the producer's name
  std::optional<bool> lockstep{};  // not said: for files that have ticks of their own (golden)
  ProjectId project{1};            // of golden files, which name none
  std::string
      changed{};  // what is told where the source is not what was sent before; empty: what suits files of events
};

struct IngestPoint {
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_total = 0;  // 0: not known
  std::uint64_t taken = 0;        // events that are durable
};

struct BadLine {
  std::uint64_t line = 0;  // from 1
  std::string problem;
};
inline constexpr std::size_t kMostBadLinesKept = 20;

struct IngestSummary {
  EventFormat format = EventFormat::kJsonLines;
  bool lockstep = false;
  std::uint64_t known = 0;           // lines that had been taken in before
  std::uint64_t lines = 0;           // taken in now
  std::uint64_t events = 0;          // appended now
  std::uint64_t completions = 0;     // results among them
  std::uint64_t bad = 0;             // lines that are no events, now in `refused`
  std::vector<BadLine> bad_lines{};  // the first of them
  bool shorter = false;              // the source ended before what is known of it
  bool sent = false;                 // all that was read; an error then is one of the source
};

// `progress` may be empty. On an error everything before it is taken in, and *summary says how much.
// InvalidArgument: the source does not begin with what was sent under its name before; else as EventFile
// and Client say.
Status Ingest(Client& client, const IngestOptions& options,
              const std::function<void(const IngestPoint&)>& progress, IngestSummary* summary);

// The same of what does not come from a file of events; `options.file` is not looked at, but that "-" stands for what cannot be
// asked to end.
Status Ingest(Client& client, std::unique_ptr<EventStream> events, const IngestOptions& options,
              const std::function<void(const IngestPoint&)>& progress, IngestSummary* summary);

// Line numbers, from 1, of events that were refused after they had been taken in, found by reading their source
// once more: what is returned is in the order of the envelopes, 0 where the source has no such event.
Result<std::vector<std::uint64_t>> FindLines(EventStream& events, const std::vector<std::string>& envelopes);

}  // namespace cobblestone
