// A slot's state on disk as services/view wants it: at a snapshot, so all that is read of it is of one commit.
#pragma once

#include <memory>

#include "common/store/store.h"
#include "services/view/state.h"

namespace cobblestone {

// The store must outlive what comes of it; in the second it does.
std::unique_ptr<const view::Rows> MakeStoredRows(const store::Store& store);
std::unique_ptr<const view::Rows> MakeStoredRows(std::shared_ptr<const store::Store> store);

}  // namespace cobblestone
