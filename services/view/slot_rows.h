// The rows of a slot that runs in this process, as of its last commit.
#pragma once

#include "common/stream/runtime/slot.h"
#include "services/view/state.h"

namespace cobblestone::view {

// Between two commits of the slot, on the thread that holds the slot. The slot must outlive the rows.
class SlotRows final : public Rows {
 public:
  explicit SlotRows(stream::Slot& slot) : slot_(slot) {}

  [[nodiscard]] Result<stream::SlotMeta> Meta() const override { return slot_.meta(); }
  Status Get(std::uint8_t table, const stream::Key& key, std::string* value) const override {
    value->clear();
    return slot_.ReadRow(table, key, *value);
  }
  Status Scan(std::uint8_t table, const Visit& visit) const override { return slot_.ReadRows(table, visit); }

 private:
  stream::Slot& slot_;
};

}  // namespace cobblestone::view
