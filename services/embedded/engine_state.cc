#include "services/embedded/engine_state.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "common/store/rocksdb/rocksdb_store.h"

#include "services/ledger/stored_rows.h"
#include "services/view/slot_rows.h"

namespace cobblestone::embedded {

using ledger::MakeStoredRows;
using pipeline::InputsOfSlot;
using pipeline::PipelineOptions;
using pipeline::SlotCount;

namespace {

using stream::Key;

class LiveRows final : public view::Rows {
 public:
  LiveRows(stream::embedded::Runner& runner, std::uint32_t slot) : runner_(runner), slot_(slot) {}

  Result<stream::SlotMeta> Meta() const override {
    Result<stream::SlotMeta> meta = stream::SlotMeta();
    Read([&](const view::SlotRows& rows) { meta = rows.Meta(); });
    return meta;
  }
  Status Get(std::uint8_t table, const Key& key, std::string* value) const override {
    Status status;
    Read([&](const view::SlotRows& rows) { status = rows.Get(table, key, value); });
    return status;
  }
  Status GetEach(std::uint8_t table, std::span<const Key> keys,
                 const std::function<Status(std::size_t, Status, std::string_view)>& each) const override {
    Status status;
    Read([&](const view::SlotRows& rows) { status = rows.GetEach(table, keys, each); });
    return status;
  }
  Status Scan(std::uint8_t table, const Visit& visit) const override {
    Status status;
    Read([&](const view::SlotRows& rows) { status = rows.Scan(table, visit); });
    return status;
  }

 private:
  template <class Reads>
  void Read(Reads&& reads) const {
    runner_.Query(slot_, [&](stream::Slot& slot) { reads(view::SlotRows(slot)); });
  }

  stream::embedded::Runner& runner_;
  const std::uint32_t slot_;
};

// Slots with all stages; the last slot is the coordinator's.
class EngineState : public view::State {
 public:
  explicit EngineState(const PipelineOptions& pipeline) : partitions_(pipeline.partitions) {
    for (std::uint32_t k = 0; k < SlotCount(pipeline); ++k) inputs_.push_back(InputsOfSlot(k, pipeline));
  }

  [[nodiscard]] std::uint32_t partitions() const override { return partitions_; }
  [[nodiscard]] std::vector<stream::TopicPartition> InputsOf(view::Stage stage,
                                                             std::uint32_t partition) const override {
    return inputs_[SlotOf(stage, partition)];
  }

 protected:
  [[nodiscard]] std::uint32_t SlotOf(view::Stage stage, std::uint32_t partition) const {
    return stage == view::Stage::kCoordinator ? partitions_ : partition;
  }

 private:
  const std::uint32_t partitions_;
  std::vector<std::vector<stream::TopicPartition>> inputs_;  // by slot
};

class LiveState final : public EngineState {
 public:
  LiveState(stream::embedded::Runner& runner, const PipelineOptions& pipeline)
      : EngineState(pipeline), runner_(runner) {}

  Result<std::shared_ptr<const view::Rows>> Of(view::Stage stage, std::uint32_t partition) override {
    return std::shared_ptr<const view::Rows>(std::make_shared<LiveRows>(runner_, SlotOf(stage, partition)));
  }

 private:
  stream::embedded::Runner& runner_;
};

class StoredState final : public EngineState {
 public:
  StoredState(const stream::embedded::Runner& runner, const PipelineOptions& pipeline)
      : EngineState(pipeline), runner_(runner) {}

  Result<std::shared_ptr<const view::Rows>> Of(view::Stage stage, std::uint32_t partition) override {
    return std::shared_ptr<const view::Rows>(MakeStoredRows(runner_.stored(SlotOf(stage, partition))));
  }

 private:
  const stream::embedded::Runner& runner_;
};

class CopiedState final : public EngineState {
 public:
  CopiedState(std::string directory, const PipelineOptions& pipeline)
      : EngineState(pipeline), directory_(std::move(directory)) {}
  ~CopiedState() override {
    stores_.clear();
    std::error_code ignored;  // the next copy removes remaining files
    std::filesystem::remove_all(directory_, ignored);
  }

  Status Open(std::uint32_t slots) {
    const auto memory = std::make_shared<store::StoreMemory>(kCopyCache);
    for (std::uint32_t k = 0; k < slots; ++k) {
      auto opened = store::OpenRocksdbStore(
          {.path = CopyOf(directory_, k), .memory = memory, .create = false, .read_only = true});
      if (!opened.ok()) return opened.status();
      stores_.push_back(std::move(*opened));
    }
    return Status::Ok();
  }
  Result<std::shared_ptr<const view::Rows>> Of(view::Stage stage, std::uint32_t partition) override {
    return std::shared_ptr<const view::Rows>(MakeStoredRows(*stores_[SlotOf(stage, partition)]));
  }

 private:
  static constexpr std::uint64_t kCopyCache = 64u << 20;
  const std::string directory_;
  std::vector<std::unique_ptr<store::Store>> stores_;
};

}  // namespace

std::string CopyOf(const std::string& directory, std::uint32_t slot) {
  return directory + "/slot-" + std::to_string(slot);
}

Result<std::unique_ptr<view::State>> OpenCopiedState(const std::string& directory,
                                                     const PipelineOptions& pipeline) {
  auto state = std::make_unique<CopiedState>(directory, pipeline);
  if (Status s = state->Open(SlotCount(pipeline)); !s.ok()) return s;
  return std::unique_ptr<view::State>(std::move(state));
}

std::unique_ptr<view::State> MakeLiveState(stream::embedded::Runner& runner,
                                           const PipelineOptions& pipeline) {
  return std::make_unique<LiveState>(runner, pipeline);
}

std::unique_ptr<view::State> MakeStoredState(const stream::embedded::Runner& runner,
                                             const PipelineOptions& pipeline) {
  return std::make_unique<StoredState>(runner, pipeline);
}

}  // namespace cobblestone::embedded
