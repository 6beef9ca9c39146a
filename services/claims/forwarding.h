// Results of hosts that have become other hosts (merges.cc). Events about a result go to the host that it was
// sent to, whichever of the two host ids an event names. A BOINC server gives a merged host's results the other
// host's id in the middle of a job: the dispatch names the one id, the validation the other, and a trickle
// either.
//
// The partition of the ended host notifies the partition of the other host of each outstanding result
// (HeldResult). The other partition forwards events that name its host for the result (HandedEvent), also
// those that have waited there, and passes the notice on if its host has ended too. So a job keeps its place,
// its high-water marks, its price and its owner. Decisions that were made there before the notice
// arrived are sent back as well (DecidedResult): GRANTS then settles the job's payments against them. All
// these records go on `hosts`, in order with the merges.
//
// Lockstep: such a record from one partition to another waits for the second watermark after it was
// sent; by then all such records have arrived. At the watermark they are applied in order of lines: first the
// notices (HeldResult), then decided results, then events.
// So the exchange proceeds in rounds, and the outcome depends neither on the partition of a host nor on the
// latency between partitions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/stream/table.h"

namespace cobblestone::claims {

// By result and the host that events may name for it.
struct ForwardedResult {
  std::uint64_t host = 0;
  HostId holder;
  std::string name;        // of the result; empty: unknown
  double until = 0;        // UNIX s: the row is kept until then; 0: the result is not decided
  bool sent = false;       // its dispatch is known
  std::vector<HostId> by;  // hosts between `holder` and `host`, in order of their merges

  friend bool operator==(const ForwardedResult&, const ForwardedResult&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.host, s.holder, s.name, s.until, s.sent, s.by);
  }
};

// Lockstep: a record from another partition of this stage that waits for its watermark. Key: a number in order of
// arrival.
struct PeerMessageRow {
  std::uint64_t after = 0;  // the number of watermarks that had passed when it was sent
  std::uint64_t line = 0;
  std::uint64_t offset = 0;
  double append_time = 0;  // UNIX s
  std::string event;       // HeldResult, DecidedResult, HandedEvent

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.after, s.line, s.offset, s.append_time, s.event);
  }
};

// Lockstep; one row, present only if it is not all zero.
struct PeerProgress {
  std::uint64_t moved = 0;  // records sent from here to partitions of this stage since the last barrier
  std::uint64_t waits = 0;  // the number of PeerMessageRows
  std::uint64_t next = 0;   // number of the next PeerMessageRow

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.moved, s.waits, s.next);
  }
};

// Tables of a slot, as stored (numbers are unique over all stages).
inline constexpr stream::TableSpec<ForwardedResult> kForwardedTable{.id = 15, .version = 1};
inline constexpr stream::TableSpec<PeerMessageRow> kPeerMessagesTable{.id = 26, .version = 1};
inline constexpr stream::TableSpec<PeerProgress> kPeerProgressTable{.id = 27, .version = 1};

}  // namespace cobblestone::claims
