// Decides when the index of a hub's accounts is built. A build reads every account, so each build during an import is work
// that the next one repeats.
//
// Pure: the caller passes the time, in seconds of any clock that never goes back.
// Invariant: builds follow each other with pauses of at least the cost of a build.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/view/hub/hub_index_build.h"

namespace cobblestone::view {

class IndexSchedule {
 public:
  // Call every half second or so with the rows as they are now. True: build the index from them.
  //
  // Editions that are complete are built once no more events about accounts have arrived for ten times the cost of the last
  // build, or for 12 s, and four times its cost, or a minute, has passed since it. If events do not stop, readers wait for
  // nine times the cost. Events without an edition, and those of an edition that readers do not see yet, begin a build after
  // nineteen times the cost.
  bool Due(const HubRows& rows, double now);
  // The slots wrote their state at different moments, because events arrive.
  void NotReadable(double now) { changed_ = now; }
  // An index was built from `rows`. `cost`: CPU seconds of the build. On a busy machine a build takes longer than that, which
  // is no reason for readers to wait longer for the next one.
  void Built(const HubRows& rows, double ended, double cost);

 private:
  // What an index depends on.
  struct Moment {
    std::string editions;
    std::vector<std::uint64_t> positions;

    friend bool operator==(const Moment&, const Moment&) = default;
  };

  Moment last_;                    // as of the last look
  double changed_ = 0;             // when last_ was first seen
  std::optional<Moment> indexed_;  // nothing: no index yet
  std::optional<double> stale_;    // when last_ was first seen to differ from indexed_
  double ended_ = 0;               // of the last build
  double cost_ = 0;                // CPU s of the last build
};

}  // namespace cobblestone::view
