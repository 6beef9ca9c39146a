// The state of a slot on this machine: its store, and the stages that work on it.
//
// The stages are recreated whenever changes in memory must be dropped; the store then defines the state.
// Threads: one at a time. The store is shared with the state thread while that thread works on it.
#pragma once

#include <memory>

#include "common/base/status.h"
#include "common/store/store.h"
#include "common/stream/kafka/task/task_options.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::kafka {

class LocalState {
 public:
  LocalState(const TaskContext& context, const SlotFactory& factory) : context_(context), factory_(factory) {}

  // Opens the store, or creates it; a state that cannot be used is discarded and reported. The slot is closed.
  Status OpenStore();
  // Makes the slot from the store. On failure there is no slot.
  Status OpenSlot();
  // Closes both and removes the store.
  Status Remove();

  [[nodiscard]] bool has_slot() const { return parts_.slot != nullptr; }
  [[nodiscard]] Slot& slot() { return *parts_.slot; }
  [[nodiscard]] const Slot& slot() const { return *parts_.slot; }
  [[nodiscard]] const SlotMeta& meta() const { return parts_.slot->meta(); }
  // Null: not open.
  [[nodiscard]] const std::shared_ptr<store::Store>& store() const { return store_; }

  // Whether state writes delete rows that no earlier state write had (TableHost::every_deletion). True after each
  // OpenSlot(): a checkpoint of another owner may hold such a row, which would return without its deletion.
  void DeleteEveryRow(bool every) { parts_.tables->every_deletion = every; }

 private:
  const TaskContext& context_;
  const SlotFactory& factory_;
  std::shared_ptr<store::Store> store_;
  SlotParts parts_;
};

}  // namespace cobblestone::stream::kafka
