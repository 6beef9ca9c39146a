// The checkpoints of one slot: copies of its state, as hard links where the file system supports them. The name of a
// copy is the sequence of the commit that it contains.
//
// A copy counts once it has its name: an unfinished copy has the suffix `.unfinished`, and the next Load() deletes it.
// Threads: one at a time: the thread that opens the slot, then the state thread (state_writer.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/store/rocksdb/rocksdb_store.h"
#include "common/stream/embedded/runner/runner_options.h"
#include "common/stream/runtime/slot.h"

namespace cobblestone::stream::embedded {

class SlotCheckpoints {
 public:
  SlotCheckpoints(const RunnerOptions& options, std::shared_ptr<store::StoreMemory> memory,
                  std::uint32_t slot);

  // Finds the copies on disk; ignores copies that cannot be opened.
  void Load();
  // Oldest first.
  [[nodiscard]] const std::vector<SlotMeta>& kept() const { return kept_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string PathOf(std::uint64_t sequence) const;

  // Copies the state, which is as of `meta`, verifies what the oldest copy does not have, and deletes the copies
  // beyond RunnerOptions::checkpoints_kept. *made: false if this copy exists. kCorrupted: the state is damaged, and is now
  // distrusted (state_files.h).
  Status Make(store::Store& state, const SlotMeta& meta, bool* made);

 private:
  Status Verify(const std::string& copy);
  void DeleteOldest();

  const RunnerOptions& options_;
  std::shared_ptr<store::StoreMemory> memory_;
  const std::uint32_t slot_;
  const std::string directory_;
  std::vector<SlotMeta> kept_;
};

}  // namespace cobblestone::stream::embedded
