// The ledger as services/view wants it: topics that are read by place, whatever the backend, and their indexes.
#pragma once

#include <functional>
#include <memory>

#include "common/stream/embedded/topic_index.h"
#include "services/ledger/ledger_index.h"
#include "services/view/ledger.h"

namespace cobblestone {

// The index must outlive it.
std::unique_ptr<view::Ledger> MakeLedger(const IndexedLogOf& log_of, LedgerIndex& index);

}  // namespace cobblestone
