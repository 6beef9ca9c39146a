#include "services/kafka/migrate.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "common/client/publisher.h"
#include "common/stream/embedded/log.h"
#include "common/stream/kafka/background.h"
#include "common/stream/kafka/catch_up.h"
#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "common/stream/kafka/read_all.h"
#include "common/stream/kafka/state.h"
#include "common/wire/control/topics.h"
#include "services/embedded/engine.h"
#include "services/kafka/kafka_cut.h"
#include "services/kafka/kafka_deployment.h"
#include "services/pipeline/pipeline.h"

namespace cobblestone::kafka {

using embedded::LockstepRows;
using embedded::OwnerRow;
using embedded::ProducerRow;
using pipeline::MakeSlot;
using pipeline::MakeSlotFactory;
using pipeline::PeriodKind;
using pipeline::PipelineOptions;
using pipeline::SlotCount;

namespace {

namespace fs = std::filesystem;
using stream::TopicPartition;
using stream::kafka::Message;
using stream::kafka::Millis;

constexpr Millis kMigratePatience{60000};
constexpr std::size_t kUnitBytes = 4u << 20;

// Maps offsets of messages to the number of records before them.
class OffsetMap {
 public:
  void Add(std::uint64_t offset, std::uint64_t records) {
    // Consecutive messages of one record each form a run.
    if (places_.empty() || offset != places_.back().last + 1 || records != 1 || last_records_ != 1)
      places_.push_back({.offset = offset, .last = offset, .record = next_record_});
    places_.back().last = offset;
    last_records_ = records;
    next_record_ += records;
  }
  // The number of records before the first message at or after `offset`.
  [[nodiscard]] std::uint64_t RecordAt(std::uint64_t offset) const {
    const auto after = std::upper_bound(places_.begin(), places_.end(), offset,
                                        [](std::uint64_t o, const Place& place) { return o < place.offset; });
    const std::uint64_t end = after == places_.end() ? next_record_ : after->record;
    if (after == places_.begin()) return end;
    const Place& before = *(after - 1);
    return offset > before.last ? end : before.record + (offset - before.offset);
  }
  [[nodiscard]] std::uint64_t records() const { return next_record_; }

 private:
  struct Place {
    std::uint64_t offset = 0;
    std::uint64_t last = 0;    // offset of the run's last message
    std::uint64_t record = 0;  // number of records before the run's first message
  };
  std::vector<Place> places_;
  std::uint64_t last_records_ = 0;
  std::uint64_t next_record_ = 0;
};

class ToEmbedded {
 public:
  ToEmbedded(const settings::RunSettings& from, std::string directory, const MigrateOptions& options)
      : from_(from), directory_(std::move(directory)), options_(options) {}

  Result<MigrateCounts> Run() {
    if (Status s = Open(); !s.ok()) return s;
    // The states come first: brokers keep an older checkpoint for an hour only (min.compaction.lag.ms), but the inputs
    // of the commits since then much longer.
    if (Status s = MakeStates(nullptr); !s.ok()) return s;
    auto admin = stream::kafka::MakeTopicAdmin(deployment_.cluster);
    if (!admin.ok()) return admin.status();
    auto cut = FindCut(deployment_, **admin, *cluster_, options_.patience);
    if (!cut.ok()) return cut.status();
    cut_ = std::move(*cut);
    // Before any slow step: a source that continues replaces its row in this compacted topic.
    if (Status s = CopySources(); !s.ok()) return s;
    if (options_.on_cut) options_.on_cut();
    if (Status s = MakeStates(&cut_); !s.ok()) return s;
    const PipelineOptions pipeline = PipelineOf(from_);
    std::map<TopicPartition, OffsetMap> maps;
    for (stream::TopicIndex t = 0; t < wire::kTopicCount; ++t) {
      if (t == wire::kJournal) continue;  // new journals begin after the states
      for (std::uint32_t p = 0; p < deployment_.task.topics[t].partitions; ++p)
        if (Status s = CopyPartition({t, p}, &maps[{t, p}]); !s.ok()) return s;
    }
    for (std::uint32_t k = 0; k < SlotCount(pipeline); ++k)
      if (Status s = ConvertState(k, *MakeSlot(k, pipeline).slot, maps); !s.ok()) return s;
    log_.reset();
    return counts_;
  }

 private:
  [[nodiscard]] bool lockstep() const { return from_.order == settings::Order::kLockstep; }

  Status Open() {
    std::error_code error;
    if (fs::exists(directory_, error) && !fs::is_empty(directory_, error))
      return Status::InvalidArgument(directory_ + " is not empty; use a directory that does not exist yet");
    fs::create_directories(directory_, error);
    if (error)
      return Status::Unwritten(error.value(), "cannot create " + directory_ + ": " + error.message());
    if (from_.kafka.slots != settings::KafkaSlots::kTogether)
      return Status::InvalidArgument(
          "a deployment with kafka.slots: by_stage cannot be migrated to one machine");
    auto deployment = DeploymentOf(from_, {});
    if (!deployment.ok()) return deployment.status();
    deployment_ = std::move(*deployment);
    if (Status s = CheckTopics(deployment_); !s.ok()) return s;
    auto cluster = stream::kafka::MakeCluster(deployment_.cluster);
    if (!cluster.ok()) return cluster.status();
    cluster_ = std::move(*cluster);
    if (Status s = CheckOrder(*cluster_, from_.order); !s.ok()) return s;
    auto reader = cluster_->NewReader();
    if (!reader.ok()) return reader.status();
    reader_ = std::move(*reader);
    auto log = stream::embedded::Log::Open(
        {.path = directory_ + "/log", .topics = wire::Manifest(from_.partitions), .tail_bytes = 16u << 20});
    if (!log.ok()) return log.status();
    log_ = std::move(*log);
    space_ = stream::kafka::MakeDirectoryStateSpace(directory_ + "/state", from_.memory.block_cache);
    return Status::Ok();
  }

  // Copies the records of a partition, in units of some MiB.
  Status CopyPartition(TopicPartition where, OffsetMap* map) {
    const bool packed = deployment_.task.packed[where.topic];
    std::uint64_t begin = 0;
    stream::embedded::LogUnit unit;
    std::size_t bytes = 0;
    const auto append = [&] {
      if (unit.outputs.empty()) return;
      log_->Append(std::move(unit));
      log_->Consumed(where, log_->End(where));
      unit = {};
      bytes = 0;
      if (options_.progress) options_.progress(counts_);
    };
    Status s = stream::kafka::ReadAll(
        *reader_, where, stream::kafka::kBeginning, kMigratePatience,
        [&](const Message& message) {
          if (map->records() == 0 && begin == 0) begin = message.offset();
          std::uint32_t count = 1;
          std::string payload;
          if (packed) {
            payload = message.value();
            count = 0;
            stream::RecordCursor cursor(message.value());
            std::string_view record;
            while (cursor.Next(&record)) ++count;
            if (cursor.malformed())
              return Status::Corrupted("message " + std::to_string(message.offset()) + " of " +
                                       deployment_.task.topics[where.topic].name +
                                       " was not written by a slot");
          } else {
            stream::AppendRecord(payload, message.value());
          }
          map->Add(message.offset(), count);
          counts_.records += count;
          bytes += payload.size();
          if (!unit.outputs.empty() && unit.outputs.back().append_time == message.timestamp()) {
            unit.outputs.back().payload += payload;
            unit.outputs.back().count += count;
          } else {
            unit.outputs.push_back({.where = where,
                                    .payload = std::move(payload),
                                    .count = count,
                                    .append_time = message.timestamp()});
          }
          if (bytes >= kUnitBytes) append();
          return Status::Ok();
        },
        nullptr, cut_.ends.at(where));
    append();
    return s;
  }

  // Re-executes the states up to the cut (null: up to the present positions), from the last checkpoint or from the
  // first commit, and compares each fingerprint.
  Status MakeStates(const KafkaCut* cut) {
    metas_.clear();
    for (std::uint32_t k = 0; k < SlotCount(PipelineOf(from_)); ++k) {
      if (cut != nullptr && !cut->positions[k]) {
        metas_.emplace_back();
        continue;
      }
      auto meta = stream::kafka::CatchUp(
          *cluster_, k, deployment_.task, MakeSlotFactory(from_), *space_, background_,
          {.checkpoint = options_.checkpoint, .position = cut != nullptr ? cut->positions[k] : std::nullopt});
      if (!meta.ok()) return meta.status();
      metas_.push_back(std::move(*meta));
    }
    return Status::Ok();
  }

  // Converts the position of a slot's state to the new offsets, and writes a copy of the state in the layout
  // of the engine's checkpoints.
  Status ConvertState(std::uint32_t k, const stream::Slot& slot,
                      const std::map<TopicPartition, OffsetMap>& maps) {
    stream::SlotMeta& meta = metas_[k];
    if (meta.sequence == 0) return Status::Ok();
    counts_.commits += meta.sequence;
    for (std::size_t i = 0; i < meta.next.size(); ++i)
      meta.next[i] = maps.at(slot.inputs()[i].where).RecordAt(meta.next[i]);
    meta.journal_next = 0;  // the journal continues from here, in an empty partition
    auto store = space_->Open(k);
    if (!store.ok()) return store.status();
    if (Status s = stream::kafka::DropMarkers(meta, **store); !s.ok()) return s;
    const fs::path copy =
        fs::path(directory_) / "checkpoints" / ("slot-" + std::to_string(k)) / std::to_string(meta.sequence);
    std::error_code error;
    fs::create_directories(copy.parent_path(), error);
    if (error)
      return Status::Unwritten(error.value(),
                               "cannot create " + copy.parent_path().string() + ": " + error.message());
    return (*store)->Checkpoint(copy.string());
  }

  Status CopySources() {
    std::map<std::string, client::SourceState> sources;
    PeriodKind period_kind = PeriodKind::kNothing;  // of the last publisher
    Status s = stream::kafka::ReadAll(
        *reader_, {kProducersTopic, 0}, stream::kafka::kBeginning, kMigratePatience,
        [&](const Message& row) {
          auto state = client::DecodeSourceState(row.value());
          if (!state.ok()) return state.status();
          sources[std::string(row.key())] = *state;
          period_kind = static_cast<PeriodKind>(state->period_kind);
          return Status::Ok();
        },
        nullptr, cut_.ends.at({kProducersTopic, 0}));
    if (!s.ok()) return s;
    stream::embedded::LogUnit unit;
    for (const auto& [name, state] : sources) {
      unit.rows.push_back(ProducerRow(name, {.lines = state.events, .hash = state.hash}));
      if (!state.owner.empty()) unit.rows.push_back(OwnerRow(name, state.owner));
      ++counts_.sources;
    }
    if (lockstep())
      for (auto& row : LockstepRows(period_kind)) unit.rows.push_back(std::move(row));
    log_->WaitDurable(log_->Append(std::move(unit)));
    return Status::Ok();
  }

  const settings::RunSettings& from_;
  const std::string directory_;
  const MigrateOptions& options_;
  KafkaDeployment deployment_;
  std::unique_ptr<stream::kafka::Cluster> cluster_;
  std::unique_ptr<stream::kafka::Reader> reader_;
  std::unique_ptr<stream::embedded::Log> log_;
  std::unique_ptr<stream::kafka::StateSpace> space_;
  stream::kafka::BackgroundThread background_;
  KafkaCut cut_;
  std::vector<stream::SlotMeta> metas_;  // by slot, of the states in space_
  MigrateCounts counts_;
};

}  // namespace

Result<MigrateCounts> MigrateToEmbedded(const settings::RunSettings& from, const std::string& directory,
                                        const MigrateOptions& options) {
  return ToEmbedded(from, directory, options).Run();
}

}  // namespace cobblestone::kafka
