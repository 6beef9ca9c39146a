#include "services/backup/data_directory_check.h"

#include <memory>
#include <string_view>

#include "common/store/rocksdb/rocksdb_store.h"
#include "common/stream/embedded/log.h"
#include "common/wire/control/topics.h"
#include "services/embedded/engine.h"
#include "services/embedded/log_rows.h"
#include "services/pipeline/pipeline.h"

namespace cobblestone::backup {

using embedded::ProducerRow;
using embedded::StoredKind;
using pipeline::InputsOfSlot;
using pipeline::PipelineOptions;
using pipeline::SlotCount;

namespace {

constexpr std::uint64_t kCache = 8u << 20;

class Check {
 public:
  Check(const std::string& directory, std::uint32_t partitions)
      : directory_(directory), pipeline_{.partitions = partitions} {}

  Result<DataDirectoryFigures> Run() {
    const auto topics = wire::Manifest(pipeline_.partitions);
    auto log = stream::embedded::Log::Open(
        {.path = directory_ + "/log", .topics = topics, .read_only = true, .tail_bytes = kCache});
    if (!log.ok()) return log.status();
    log_ = std::move(*log);
    pipeline_.hub = StoredKind(*log_) == settings::kHubKind;
    figures_.commit = log_->last_commit();
    for (std::size_t topic = 0; topic < topics.size(); ++topic)
      for (std::uint32_t p = 0; p < topics[topic].partitions; ++p) {
        const stream::TopicPartition where{static_cast<stream::TopicIndex>(topic), p};
        figures_.records += log_->End(where) - log_->Begin(where);
      }
    Status s = log_->ScanRows(ProducerRow("", {}).first,
                              [&](std::string_view, std::string_view) { ++figures_.sources; });
    for (std::uint32_t k = 0; s.ok() && k < SlotCount(pipeline_); ++k) s = CheckState(k);
    if (!s.ok()) return s;
    return figures_;
  }

 private:
  Status CheckState(std::uint32_t k) {
    const std::string path = directory_ + "/state/slot-" + std::to_string(k);
    auto store =
        store::OpenRocksdbStore({.path = path, .memory = memory_, .create = false, .read_only = true});
    if (!store.ok()) return Status::Corrupted(store.status().message());
    stream::SlotMeta meta;
    const auto bytes = (*store)->Meta();
    if (bytes.ok()) {
      auto decoded = stream::DecodeSlotMeta(*bytes);
      if (!decoded.ok()) return decoded.status();
      meta = *std::move(decoded);
    } else if (bytes.status().code() != StatusCode::kNotFound) {
      return bytes.status();
    }
    figures_.state_commits.push_back(meta.sequence);
    const auto inputs = InputsOfSlot(k, pipeline_);
    bool fits = Holds({wire::kJournal, k}, meta.journal_next);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      fits = fits && Holds(inputs[i], i < meta.next.size() ? meta.next[i] : 0);
    if (fits) return Status::Ok();
    return Status::Corrupted("the state in " + path + " does not fit the log in " + directory_ +
                             "/log: the log lacks records that it has read, or has to read next");
  }

  [[nodiscard]] bool Holds(stream::TopicPartition where, std::uint64_t next) const {
    return log_->Begin(where) <= next && next <= log_->End(where);
  }

  const std::string& directory_;
  PipelineOptions pipeline_;  // `hub` from the log
  const std::shared_ptr<store::StoreMemory> memory_ = std::make_shared<store::StoreMemory>(kCache);
  std::unique_ptr<stream::embedded::Log> log_;
  DataDirectoryFigures figures_;
};

}  // namespace

Result<DataDirectoryFigures> CheckDataDirectory(const std::string& directory, std::uint32_t partitions) {
  return Check(directory, partitions).Run();
}

}  // namespace cobblestone::backup
