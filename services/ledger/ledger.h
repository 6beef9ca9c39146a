// The ledger for services/view: topics read by place, on any backend, with indexes.
#pragma once

#include <functional>
#include <memory>

#include "services/ledger/ledger_index.h"
#include "services/view/ledger.h"

namespace cobblestone::ledger {

// `index` must outlive the result.
std::unique_ptr<view::Ledger> MakeLedger(const IndexedLogOf& log_of, LedgerIndex& index);

}  // namespace cobblestone::ledger
