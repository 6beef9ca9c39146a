#include "services/embedded/accepted_loss.h"

#include <filesystem>
#include <memory>
#include <vector>

#include "common/store/rocksdb/rocksdb_store.h"
#include "common/stream/runtime/slot.h"
#include "common/wire/control/topics.h"

namespace cobblestone::embedded {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kCacheBytes = 8u << 20;

// Commits of its slot that a state has executed; 0 if the state cannot be read.
std::uint64_t CommitsOf(const std::string& path, const std::shared_ptr<store::StoreMemory>& memory) {
  const auto opened =
      store::OpenRocksdbStore({.path = path, .memory = memory, .create = false, .read_only = true});
  if (!opened.ok()) return 0;
  const auto bytes = (*opened)->Meta();
  if (!bytes.ok()) return 0;
  const auto meta = stream::DecodeSlotMeta(*bytes);
  return meta.ok() ? meta->journal_next : 0;
}

}  // namespace

Result<std::uint64_t> PutAsideWhatIsNewerThan(const stream::embedded::Log& log,
                                              const std::string& data_directory, std::uint32_t slots,
                                              const std::function<void(const std::string&)>& report) {
  const auto memory = std::make_shared<store::StoreMemory>(kCacheBytes);
  const fs::path lost = data_directory + "/lost";
  std::uint64_t moved = 0;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    const std::string name = "slot-" + std::to_string(slot);
    // The state last: as long as it exists, a start without the flag is refused.
    std::vector<fs::path> all;
    std::error_code none;  // the directory does not exist
    for (const auto& copy : fs::directory_iterator(data_directory + "/checkpoints/" + name, none))
      all.push_back(copy.path());
    all.emplace_back(data_directory + "/state/" + name);
    const std::uint64_t end = log.End({wire::kJournal, slot});
    for (const fs::path& path : all) {
      const std::uint64_t commits = CommitsOf(path, memory);
      if (commits <= end) continue;
      const fs::path to = lost / path.lexically_relative(data_directory);
      std::error_code error;
      fs::create_directories(to.parent_path(), error);
      fs::remove_all(to, none);  // left by an earlier loss
      fs::rename(path, to, error);
      if (error)
        return Status::Unwritten(
            error.value(), "cannot move " + path.string() + " to " + to.string() + ": " + error.message());
      report(path.string() + " is moved to " + to.string() + ": the state has executed " +
             std::to_string(commits) + " commits, but the log holds " + std::to_string(end));
      ++moved;
    }
  }
  return moved;
}

}  // namespace cobblestone::embedded
