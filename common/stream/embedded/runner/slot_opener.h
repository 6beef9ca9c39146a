// Opens one slot: opens its state or restores it, and re-executes the journal entries after the state.
//
// Restore: a state that is damaged, or older than the start of the log, is moved aside and replaced by the
// newest complete checkpoint, or by an empty state if the log still has everything. Damage that only shows when
// a row is read is handled in the same way, once.
// Re-execution: outputs are suppressed, and the fingerprint of each commit is compared with the journal.
//
// Threads: one. Slots are independent of each other until they run, so several are opened in parallel.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/store/rocksdb/rocksdb_store.h"
#include "common/stream/embedded/log.h"
#include "common/stream/embedded/runner/runner_options.h"
#include "common/stream/embedded/runner/slot_inputs.h"
#include "common/stream/embedded/runner/state_debt.h"
#include "common/stream/embedded/runner/stored_state.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::embedded {

// A slot at the end of its journal.
struct OpenedSlot {
  SlotParts parts;
  std::unique_ptr<StoredState> stored;
  std::unique_ptr<SlotInputs> inputs;
  std::uint64_t reexecuted = 0;          // commits
  std::uint64_t reexecuted_records = 0;  // in them
  StateDebt debt;                        // of those whose state is not on disk yet
  std::chrono::steady_clock::time_point at{};
};

class SlotOpener {
 public:
  using Report = std::function<void(const std::string&)>;

  // All must outlive the opener. `slots`: of the runner.
  SlotOpener(const RunnerOptions& options, Log& log, std::shared_ptr<store::StoreMemory> memory,
             std::uint32_t slots, std::uint32_t slot, const SlotFactory& factory, const Report& report);

  // Call once. kCorrupted: damage that no copy can repair, or state newer than the log. kFatal: the
  // re-execution diverged, or the journal is of a newer program.
  Result<OpenedSlot> Open();

 private:
  void MakeSlot();
  Status OpenStore();
  Status CheckUsable(store::Store& store);
  Status Restore(const std::string& why);
  bool RestoreFrom(const std::string& copy);
  // Fills the slot from its store and re-executes.
  Status ReadState(bool had_state);
  Status Reexecute();
  Status ExecuteEntry(const JournalEntry& entry);
  Status WriteReexecuted();
  [[nodiscard]] std::string Name() const { return "slot " + std::to_string(k_); }
  [[nodiscard]] Result<std::unique_ptr<store::Store>> OpenAt(const std::string& path, bool create,
                                                             bool read_only) const;

  const RunnerOptions& options_;
  Log& log_;
  std::shared_ptr<store::StoreMemory> memory_;
  const std::uint32_t slots_;
  const std::uint32_t k_;
  const std::uint64_t object_bytes_;
  const SlotFactory& factory_;
  const Report& report_;
  const std::string path_;  // of the state
  OpenedSlot opened_;
};

}  // namespace cobblestone::stream::embedded
