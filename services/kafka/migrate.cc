#include "services/kafka/migrate.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "common/client/publisher.h"
#include "common/store/rocksdb/rocksdb_store.h"
#include "common/stream/embedded/log.h"
#include "common/stream/kafka/background.h"
#include "common/stream/kafka/catch_up.h"
#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "common/stream/kafka/read_all.h"
#include "common/stream/kafka/state.h"
#include "common/stream/kafka/state_directory.h"
#include "common/wire/control/topics.h"
#include "services/embedded/engine.h"
#include "services/embedded/log_rows.h"
#include "services/kafka/kafka_cut.h"
#include "services/kafka/kafka_deployment.h"
#include "services/kafka/offset_map.h"
#include "services/pipeline/pipeline.h"

namespace cobblestone::kafka {

using embedded::KindRow;
using embedded::LockstepRows;
using embedded::OwnerRow;
using embedded::ProducerRow;
using embedded::TickRow;
using pipeline::InputsOfSlot;
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

// Row of the log of a copy that is continued (UpdateCopy): how far a partition was read.
std::string CopiedRowKey(const std::string& topic, std::uint32_t partition) {
  return "kafka-copy:" + topic + ":" + std::to_string(partition);
}

struct CopiedPartition {
  std::uint64_t next = 0;  // offset of the next message
  OffsetMap map;
};

// Copies topics and states into a data directory for one machine, as of one moment.
class ToEmbedded {
 public:
  // `states`: holds the states as on Kafka, on the file system of `directory`. `again`: the directory may hold an older copy,
  // to continue from.
  ToEmbedded(const settings::RunSettings& from, std::string directory, std::string states, bool again,
             const MigrateOptions& options)
      : from_(from),
        directory_(std::move(directory)),
        states_(std::move(states)),
        again_(again),
        options_(options) {}

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
    if (again_)
      if (Status s = LoadCopied(); !s.ok()) return s;
    // Before any slow step: a source that continues replaces its row in this compacted topic.
    if (Status s = CopySources(); !s.ok()) return s;
    if (options_.on_cut) options_.on_cut();
    if (Status s = MakeStates(&cut_); !s.ok()) return s;
    FindNeeded();
    for (const TopicPartition where : Copied())
      if (Status s = CopyPartition(where); !s.ok()) return s;
    std::error_code error;
    for (const char* of_older_copy : {"/state", "/checkpoints"})
      fs::remove_all(directory_ + of_older_copy, error);
    fs::create_directories(directory_ + "/state", error);
    if (error)
      return Status::Unwritten(error.value(), "cannot create " + directory_ + "/state: " + error.message());
    for (std::uint32_t k = 0; k < metas_.size(); ++k)
      if (Status s = ConvertState(k); !s.ok()) return s;
    if (again_)
      if (Status s = TrimInputs(); !s.ok()) return s;
    log_.reset();
    return counts_;
  }

 private:
  [[nodiscard]] bool lockstep() const { return from_.order == settings::Order::kLockstep; }

  Status Open() {
    std::error_code error;
    if (!again_ && fs::exists(directory_, error) && !fs::is_empty(directory_, error))
      return Status::InvalidArgument(directory_ + " is not empty; use a directory that does not exist yet");
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
    if (Status s = CheckKind(*cluster_, from_); !s.ok()) return s;
    if (again_)
      if (Status s = Claim(); !s.ok()) return s;
    fs::create_directories(directory_, error);
    if (error)
      return Status::Unwritten(error.value(), "cannot create " + directory_ + ": " + error.message());
    auto reader = cluster_->NewReader(stream::kafka::kShortFetch);
    if (!reader.ok()) return reader.status();
    reader_ = std::move(*reader);
    auto log = stream::embedded::Log::Open(
        {.path = directory_ + "/log", .topics = wire::Manifest(from_.partitions), .tail_bytes = 16u << 20});
    if (!log.ok()) return log.status();
    log_ = std::move(*log);
    space_ = stream::kafka::MakeDirectoryStateSpace(states_, from_.memory.block_cache);
    return Status::Ok();
  }

  // A copy is continued from its own deployment only.
  Status Claim() {
    const auto admin = stream::kafka::MakeTopicAdmin(deployment_.cluster);
    if (!admin.ok()) return admin.status();
    const auto id = (*admin)->ClusterId();
    if (!id.ok()) return id.status();
    return stream::kafka::ClaimStateDirectory(fs::path(directory_).parent_path(),
                                              {.cluster = *id, .prefix = deployment_.cluster.prefix},
                                              options_.report);
  }

  // The partitions that are copied. New journals begin after the states.
  [[nodiscard]] std::vector<TopicPartition> Copied() const {
    std::vector<TopicPartition> all;
    for (stream::TopicIndex t = 0; t < wire::kTopicCount; ++t)
      for (std::uint32_t p = 0; t != wire::kJournal && p < deployment_.task.topics[t].partitions; ++p)
        all.push_back({t, p});
    return all;
  }

  // How far an older copy has come. kInvalidArgument: it is not of these topics.
  Status LoadCopied() {
    for (const TopicPartition where : Copied()) {
      const auto row = log_->GetRow(RowKey(where));
      if (!row.ok() && row.status().code() != StatusCode::kNotFound) return row.status();
      if (!row.ok() && log_->End(where) == 0) continue;
      try {
        const auto json = nlohmann::json::parse(row.ok() ? *row : std::string());
        copied_[where] = {.next = json.at("next"), .map = OffsetMap::FromJson(json)};
      } catch (const nlohmann::json::exception& e) {
        return Status::Corrupted("the older copy in " + directory_ + " has a damaged row: " + e.what() +
                                 "; `backup --full` makes a new one");
      }
      const CopiedPartition& copied = copied_[where];
      if (copied.next <= cut_.ends.at(where) && copied.map.records() == log_->End(where)) continue;
      return Status::InvalidArgument(
          "the older copy in " + directory_ + " is of other topics: it has read " +
          TopicName(deployment_.cluster, where.topic) + ", partition " + std::to_string(where.partition) +
          ", up to offset " + std::to_string(copied.next) + ", and the partition ends at " +
          std::to_string(cut_.ends.at(where)) + "; `backup --full` makes a new one");
    }
    return Status::Ok();
  }
  [[nodiscard]] std::string RowKey(TopicPartition where) const {
    return CopiedRowKey(deployment_.task.topics[where.topic].name, where.partition);
  }

  // For each partition the first offset that a state has yet to read.
  void FindNeeded() {
    const PipelineOptions pipeline = PipelineOf(from_);
    for (std::uint32_t k = 0; k < metas_.size(); ++k) {
      const auto inputs = InputsOfSlot(k, pipeline);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const std::uint64_t next = i < metas_[k].next.size() ? metas_[k].next[i] : 0;
        const auto [found, first] = needed_.try_emplace(inputs[i], next);
        if (!first) found->second = std::min(found->second, next);
      }
    }
  }
  [[nodiscard]] bool IsTrimmed(TopicPartition where) const {
    return deployment_.task.topics[where.topic].retention == stream::Retention::kTrimmed;
  }
  [[nodiscard]] std::uint64_t NeededFrom(TopicPartition where) const {
    const auto found = needed_.find(where);
    return found == needed_.end() ? cut_.ends.at(where) : std::min(found->second, cut_.ends.at(where));
  }

  // Copies the records of a partition, in units of some MiB. In a copy that continues, each unit has the row that says how
  // far it reaches; of a topic that the brokers trim, it skips what no state needs, because it may be gone.
  Status CopyPartition(TopicPartition where) {
    CopiedPartition& copied = copied_[where];
    const std::uint64_t until = cut_.ends.at(where);
    std::uint64_t from = copied.next == 0 ? stream::kafka::kBeginning : copied.next;
    if (copied.next != 0 && IsTrimmed(where)) from = std::max(from, NeededFrom(where));
    if (from != stream::kafka::kBeginning && from >= until) return Status::Ok();
    const bool packed = deployment_.task.packed[where.topic];
    stream::embedded::LogUnit unit;
    std::size_t bytes = 0;
    const auto append = [&] {
      if (unit.outputs.empty()) return;
      if (again_) {
        copied.map.ForgetBefore(NeededFrom(where));
        nlohmann::json row = copied.map.ToJson();
        row["next"] = copied.next;
        unit.rows.push_back({RowKey(where), row.dump()});
      }
      last_ticket_ = log_->Append(std::move(unit));
      log_->Consumed(where, log_->End(where));
      unit = {};
      bytes = 0;
      if (options_.progress) options_.progress(counts_);
    };
    bool visited = false;
    const auto read_from = [&](std::uint64_t first) {
      return stream::kafka::ReadAll(
          *reader_, where, first, kMigratePatience,
          [&](const Message& message) {
            if (from != stream::kafka::kBeginning && message.offset() < from) return Status::Ok();
            visited = true;
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
            copied.map.Add(message.offset(), count);
            copied.next = message.offset() + 1;
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
          nullptr, until);
    };
    Status s = read_from(from);
    // Where the brokers have trimmed all records, the marker of a transaction between `from` and the end is gone as well.
    if (!s.ok() && !visited && IsTrimmed(where)) s = read_from(stream::kafka::kBeginning);
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
      const stream::kafka::CatchUpOptions how{.checkpoint = options_.checkpoint,
                                              .position = cut != nullptr ? cut->positions[k] : std::nullopt};
      const auto catch_up = [&] {
        return stream::kafka::CatchUp(*cluster_, k, deployment_.task, MakeSlotFactory(from_), *space_,
                                      background_, how);
      };
      auto meta = catch_up();
      // The brokers may have trimmed the inputs that the state of an older copy has to read next.
      if (again_ && meta.status().code() == StatusCode::kCorrupted) {
        options_.report(
            "the state of slot " + std::to_string(k) + " in " + states_ +
            " cannot be continued and is restored from its checkpoint: " + meta.status().message());
        if (Status s = space_->Remove(k); !s.ok()) return s;
        meta = catch_up();
      }
      if (!meta.ok()) return meta.status();
      metas_.push_back(std::move(*meta));
    }
    return Status::Ok();
  }

  // Copies the state of a slot, with its position converted to the new offsets, and once more in the layout of the
  // engine's checkpoints. The state as on Kafka stays.
  Status ConvertState(std::uint32_t k) {
    stream::SlotMeta& meta = metas_[k];
    const std::string path = directory_ + "/state/slot-" + std::to_string(k);
    {
      const auto on_kafka = space_->Open(k);
      if (!on_kafka.ok()) return on_kafka.status();
      if (Status s = (*on_kafka)->Checkpoint(path); !s.ok()) return s;
    }
    if (meta.sequence == 0) return Status::Ok();
    counts_.commits += meta.sequence;
    const auto inputs = InputsOfSlot(k, PipelineOf(from_));
    for (std::size_t i = 0; i < meta.next.size(); ++i)
      meta.next[i] = copied_.at(inputs[i]).map.RecordAt(meta.next[i]);
    meta.journal_next = 0;  // the journal continues from here, in an empty partition
    const auto store = store::OpenRocksdbStore({.path = path, .memory = memory_, .create = false});
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

  // Frees the space of the inputs that the states have read.
  Status TrimInputs() {
    log_->WaitDurable(last_ticket_);
    for (const auto& [where, offset] : needed_)
      if (IsTrimmed(where)) log_->Trim(where, copied_.at(where).map.RecordAt(offset));
    return log_->Reclaim();
  }

  Status CopySources() {
    std::map<std::string, client::SourceState> sources;
    client::LastTicks ticks;
    PeriodKind period_kind = PeriodKind::kNothing;  // of the last publisher
    Status s = stream::kafka::ReadAll(
        *reader_, {kProducersTopic, 0}, stream::kafka::kBeginning, kMigratePatience,
        [&](const Message& row) {
          const auto tick = client::DecodeTickRow(row.key(), row.value());
          if (!tick.ok()) return tick.status();
          if (*tick) {
            ticks[(*tick)->first] = (*tick)->second;
            return Status::Ok();
          }
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
    for (const auto& [project, time] : ticks) unit.rows.push_back(TickRow(project, time));
    if (lockstep())
      for (auto& row : LockstepRows(period_kind)) unit.rows.push_back(std::move(row));
    if (from_.role == settings::Role::kHub) unit.rows.push_back(KindRow(settings::kHubKind));
    last_ticket_ = log_->Append(std::move(unit));
    log_->WaitDurable(last_ticket_);
    return Status::Ok();
  }

  const settings::RunSettings& from_;
  const std::string directory_;
  const std::string states_;
  const bool again_;
  const MigrateOptions& options_;
  KafkaDeployment deployment_;
  std::unique_ptr<stream::kafka::Cluster> cluster_;
  std::unique_ptr<stream::kafka::Reader> reader_;
  std::unique_ptr<stream::embedded::Log> log_;
  std::unique_ptr<stream::kafka::StateSpace> space_;
  const std::shared_ptr<store::StoreMemory> memory_ = std::make_shared<store::StoreMemory>(8u << 20);
  stream::kafka::BackgroundThread background_;
  KafkaCut cut_;
  std::vector<stream::SlotMeta> metas_;             // by slot, of the states in space_
  std::map<TopicPartition, std::uint64_t> needed_;  // of the inputs; Kafka's offsets
  std::map<TopicPartition, CopiedPartition> copied_;
  std::uint64_t last_ticket_ = 0;
  MigrateCounts counts_;
};

}  // namespace

Result<MigrateCounts> MigrateToEmbedded(const settings::RunSettings& from, const std::string& directory,
                                        const MigrateOptions& options) {
  const std::string states = directory + "/kafka-states";
  auto counts = ToEmbedded(from, directory, states, false, options).Run();
  std::error_code stays;
  if (counts.ok()) fs::remove_all(states, stays);
  return counts;
}

Result<MigrateCounts> UpdateCopy(const settings::RunSettings& from, const std::string& directory,
                                 const MigrateOptions& options) {
  return ToEmbedded(from, DataOfCopy(directory), directory + "/states", true, options).Run();
}

std::string DataOfCopy(const std::string& directory) { return directory + "/data"; }

}  // namespace cobblestone::kafka
