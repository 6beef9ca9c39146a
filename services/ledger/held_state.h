// The state that an export is of: rows of every stage and partition, each as of one commit, held from beginning to end.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "services/ledger/ledger_sums.h"
#include "services/view/state.h"

namespace cobblestone {

struct HeldState {
  using RowsOf = std::vector<std::shared_ptr<const view::Rows>>;  // by partition

  std::shared_ptr<const view::Rows> coordinator;
  RowsOf claims;
  RowsOf accounts;
  RowsOf teams;
  std::vector<std::uint64_t> commits;  // of `accounts`
  LedgerPlaces places;                 // what `accounts` has read of the grants, and `teams` of the postings

  // kRetry: nothing can be seen of the state yet. `state` outlives it.
  static Result<HeldState> Hold(view::State& state);
};

}  // namespace cobblestone
