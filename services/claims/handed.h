// Results of hosts that have become others (merges.cc): what is said of one goes to the host that it was sent to, whichever of
// both numbers an event names. A BOINC server gives a merged host's results the other host's number, in the middle of a job: its
// dispatch names the one, its validation the other, and a trickle either.
//
// The partition of the host that has ended tells that of the other one of each result that is out (HeldResult); that one hands over
// what names its host for it (HandedEvent), and what has waited there, and passes word on where its host ends, too. So a job stays
// where its marks are, and its price, and its owner. What was decided there before word came is said as well (DecidedResult): what the
// job was paid is then settled against that (GRANTS). All of it goes on `hosts`, in line with the merges.
//
// Lockstep: what partitions say to each other of this waits for its mark: the second one behind its being said, before which all of it
// has come. There it is taken in order of lines: first word of whose results are, then those that are decided, then events. So
// it goes in rounds, and the outcome does not depend on where hosts lie, nor on how fast word travels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/stream/table.h"

namespace cobblestone::claims {

// By result and the host that events may name for it.
struct HeldElsewhere {
  std::uint64_t host = 0;
  HostId holder;
  std::string name;        // of the result; empty: not told
  double until = 0;        // UNIX s: no longer than that; 0: it is not decided
  bool sent = false;       // its dispatch is known
  std::vector<HostId> by;  // hosts between both, in order

  friend bool operator==(const HeldElsewhere&, const HeldElsewhere&) = default;
  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.host, s.holder, s.name, s.until, s.sent, s.by);
  }
};

// Lockstep: what another partition of this stage has said, until its mark. By number, in order of arrival.
struct HandedRow {
  std::uint64_t after = 0;  // so many marks had passed when it was said
  std::uint64_t line = 0;
  std::uint64_t offset = 0;
  double append_time = 0;  // UNIX s
  std::string event;       // HeldResult, DecidedResult, HandedEvent

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.after, s.line, s.offset, s.append_time, s.event);
  }
};

// Lockstep; one row, where it says anything.
struct Handing {
  std::uint64_t moved = 0;  // records that partitions of this stage were sent since the last barrier
  std::uint64_t waits = 0;  // so many HandedRows there are
  std::uint64_t next = 0;   // number of the next one

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.moved, s.waits, s.next);
  }
};

// Tables of a slot, as stored (numbers are unique over all stages).
inline constexpr stream::TableSpec<HeldElsewhere> kHeldTable{.id = 15, .version = 1};
inline constexpr stream::TableSpec<HandedRow> kHandedTable{.id = 26, .version = 1};
inline constexpr stream::TableSpec<Handing> kHandingTable{.id = 27, .version = 1};

}  // namespace cobblestone::claims
