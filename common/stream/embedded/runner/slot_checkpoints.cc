#include "common/stream/embedded/runner/slot_checkpoints.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/stream/embedded/runner/state_files.h"

namespace cobblestone::stream::embedded {

namespace fs = std::filesystem;

SlotCheckpoints::SlotCheckpoints(const RunnerOptions& options, std::shared_ptr<store::StoreMemory> memory,
                                 std::uint32_t slot)
    : options_(options), memory_(std::move(memory)), slot_(slot), directory_(CheckpointPath(options, slot)) {}

std::string SlotCheckpoints::PathOf(std::uint64_t sequence) const {
  return directory_ + "/" + std::to_string(sequence);
}

void SlotCheckpoints::Load() {
  std::error_code error;
  kept_.clear();
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    const std::string name = entry.path().filename().string();
    if (name.empty() || name.find_first_not_of("0123456789") != std::string::npos) {
      std::error_code ignored;  // an unfinished copy of a process that died
      fs::remove_all(entry.path(), ignored);
      continue;
    }
    auto opened = store::OpenRocksdbStore(
        {.path = entry.path().string(), .memory = memory_, .create = false, .read_only = true});
    if (!opened.ok()) continue;
    auto bytes = (*opened)->Meta();
    if (!bytes.ok()) continue;
    auto meta = DecodeSlotMeta(*bytes);
    if (meta.ok()) kept_.push_back(*meta);
  }
  std::sort(kept_.begin(), kept_.end(),
            [](const SlotMeta& a, const SlotMeta& b) { return a.sequence < b.sequence; });
}

Status SlotCheckpoints::Make(store::Store& state, const SlotMeta& meta, bool* made) {
  *made = false;
  const std::string name = PathOf(meta.sequence);
  std::error_code error;
  fs::create_directories(directory_, error);
  const std::string unfinished = name + ".unfinished";
  fs::remove_all(unfinished, error);
  if (fs::exists(name)) return Status::Ok();
  if (Status s = state.Checkpoint(unfinished); !s.ok()) return s;
  if (options_.verify_checkpoints)
    if (Status s = Verify(unfinished); !s.ok()) return s;
  fs::rename(unfinished, name, error);
  if (error)
    return Status::Unwritten(error.value(), "cannot rename the checkpoint " + name + ": " + error.message());
  kept_.push_back(meta);
  *made = true;
  while (kept_.size() > static_cast<std::size_t>(options_.checkpoints_kept)) DeleteOldest();
  return Status::Ok();
}

Status SlotCheckpoints::Verify(const std::string& copy) {
  auto opened =
      store::OpenRocksdbStore({.path = copy, .memory = memory_, .create = false, .read_only = true});
  if (!opened.ok()) return opened.status();
  // A file that the oldest copy has is in every copy. If it is damaged, no copy is without the damage, and none would be
  // saved by refusing the new one; a restore reads the whole copy.
  const Status s = (*opened)->VerifyBeyond(kept_.empty() ? std::string() : PathOf(kept_.front().sequence));
  if (s.ok()) return s;
  Distrust(StatePath(options_, slot_), s);
  return Status::Corrupted(
      "the new checkpoint of slot " + std::to_string(slot_) + " failed verification: " + s.message() +
      ". The state on disk is damaged: check the disk and start again; the state is then "
      "rebuilt from an earlier checkpoint and the log.");
}

void SlotCheckpoints::DeleteOldest() {
  const std::uint64_t sequence = kept_.front().sequence;
  std::error_code ignored;
  fs::remove_all(PathOf(sequence), ignored);
  kept_.erase(kept_.begin());
}

}  // namespace cobblestone::stream::embedded
