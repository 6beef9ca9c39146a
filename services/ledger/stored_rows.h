// A slot's state on disk for services/view, read at a snapshot: all rows are of one commit.
#pragma once

#include <memory>

#include "common/store/store.h"
#include "services/view/state.h"

namespace cobblestone::ledger {

// The store must outlive the rows; the second overload keeps it alive.
std::unique_ptr<const view::Rows> MakeStoredRows(const store::Store& store);
std::unique_ptr<const view::Rows> MakeStoredRows(std::shared_ptr<const store::Store> store);

}  // namespace cobblestone::ledger
