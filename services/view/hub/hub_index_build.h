// Builds the index of a hub (hub_index.h) from the committed rows of FEEDS, MEMBERS and IDENTITY.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "services/view/hub/hub_index.h"
#include "services/view/state.h"

namespace cobblestone::view {

// The state that an index is built from: the rows of all slots, each as of one commit.
struct HubRows {
  std::shared_ptr<const Rows> leading;               // FEEDS and IDENTITY
  std::vector<std::shared_ptr<const Rows>> members;  // by partition
  // Changes when an edition is complete, a project is registered or changed, a day comes since which its points count, or
  // IDENTITY has learned something.
  std::string editions;
  // Changes with every event about accounts, also while an edition arrives that readers do not see yet.
  std::vector<std::uint64_t> positions;
};

// kRetry: no state yet; or MEMBERS has not passed the barriers that FEEDS has sent, so an edition that FEEDS has as
// complete may not have arrived as a whole. (Collectors send a barrier before they complete an edition.) `now`: UNIX s.
Result<HubRows> ReadHubRows(State& state, double now);

// `now`: UNIX s, the instant of all averages. `before`: the index to replace, for sizes; may be null. `stopped`: called from
// time to time; if true, the build ends with kRetry. kRetry: also if the rows have two editions that FEEDS does not have
// as complete, because they are of different moments.
Result<std::shared_ptr<const HubIndex>> BuildHubIndex(const HubRows& rows, double now, const HubIndex* before,
                                                      const std::function<bool()>& stopped);

}  // namespace cobblestone::view
