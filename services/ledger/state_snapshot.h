// The state of an export: rows of every stage and partition, each of one commit, held from the beginning to
// the end of the export.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "services/ledger/ledger_sums.h"
#include "services/view/state.h"

namespace cobblestone::ledger {

struct StateSnapshot {
  using RowsOf = std::vector<std::shared_ptr<const view::Rows>>;  // by partition

  std::shared_ptr<const view::Rows> coordinator;
  RowsOf claims;
  RowsOf accounts;
  RowsOf teams;
  std::vector<std::uint64_t> commits;  // of `accounts`
  // The next records that `accounts` reads in `grants`, and `teams` in `postings`.
  LedgerPlaces places;

  // kRetry: no state is available yet. `state` must outlive the result.
  static Result<StateSnapshot> Take(view::State& state);
};

}  // namespace cobblestone::ledger
