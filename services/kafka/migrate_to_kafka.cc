#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "common/base/failpoint.h"
#include "common/client/publisher.h"
#include "common/stream/embedded/log.h"
#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "common/stream/kafka/set_position.h"
#include "common/stream/kafka/state.h"
#include "common/wire/control/topics.h"
#include "services/embedded/engine.h"
#include "services/embedded/log_rows.h"
#include "services/kafka/kafka_deployment.h"
#include "services/kafka/migrate.h"
#include "services/pipeline/pipeline.h"

namespace cobblestone::kafka {

using embedded::Engine;
using embedded::LastPeriodKind;
using embedded::ProducerRow;
using embedded::ReadProducer;
using embedded::ScanTicks;
using intake::ProducerState;
using pipeline::MakeSlot;
using pipeline::PipelineOptions;
using pipeline::PipelineSlot;
using pipeline::SlotCount;

namespace {

namespace fs = std::filesystem;
using stream::TopicPartition;
using stream::kafka::Millis;
using stream::kafka::Outcome;

constexpr Millis kTransactionTimeout{60000};
constexpr std::size_t kTransactionBytes = 8u << 20;
constexpr std::size_t kMessageBytes = 256u << 10;
constexpr const char* kName = "migrate";  // transactional.id

// For one input partition: the positions up to which slots have read the partition, in records of the embedded log,
// mapped to the offset of the Kafka message that ends at the position.
using Cuts = std::map<std::uint64_t, std::uint64_t>;

// Writes everything to the cluster in transactions; the last one commits the position of each slot. Before it
// no worker starts processing: the first transaction writes a row into every slot's checkpoint, and a slot
// with a checkpoint but no committed position stops.
class ToKafka {
 public:
  ToKafka(const settings::RunSettings& from, const settings::RunSettings& to, const MigrateOptions& options)
      : from_(from), to_(to), options_(options) {}

  Result<MigrateCounts> Run() {
    if (Status s = OpenTarget(); !s.ok()) return s;
    if (Status s = OpenSource(); !s.ok()) return s;
    if (Status s = Guard(); !s.ok()) return s;
    for (std::uint32_t k = 0; k < metas_.size(); ++k)
      if (Status s = CopyState(k); !s.ok()) return s;
    for (stream::TopicIndex t = 0; t < wire::kTopicCount; ++t) {
      if (t == wire::kJournal) continue;  // a new journal begins after the state
      for (std::uint32_t p = 0; p < deployment_.task.topics[t].partitions; ++p)
        if (Status s = CopyPartition({t, p}); !s.ok()) return s;
    }
    if (Status s = End(); !s.ok()) return s;
    if (Status s = Finish(); !s.ok()) return s;
    return counts_;
  }

 private:
  Status OpenTarget() {
    if (to_.kafka.slots != settings::KafkaSlots::kTogether)
      return Status::InvalidArgument(
          "kafka.slots must be together: state from one machine has slots of all stages");
    auto deployment = DeploymentOf(to_, options_.report);
    if (!deployment.ok()) return deployment.status();
    deployment_ = std::move(*deployment);
    // With static membership the broker refuses to change the offsets of a group that has members.
    deployment_.cluster.static_members = true;
    // No reader waits for these records, and a slow cluster may take its time.
    deployment_.cluster.transaction_timeout =
        std::max(deployment_.cluster.transaction_timeout, kTransactionTimeout);
    if (Status s = CheckTopics(deployment_); !s.ok()) return s;
    auto admin = stream::kafka::MakeTopicAdmin(deployment_.cluster);
    if (!admin.ok()) return admin.status();
    admin_ = std::move(*admin);
    if (Status s = AwaitNoMembers(*admin_, to_, options_.report); !s.ok()) return s;
    for (stream::TopicIndex t = 0; t < deployment_.task.topics.size(); ++t) {
      if (t == kStatusTopic) continue;  // former status of workers
      for (std::uint32_t p = 0; p < deployment_.task.topics[t].partitions; ++p) {
        auto ends = admin_->EndsOf({t, p});
        if (!ends.ok()) return ends.status();
        if (ends->all == 0) continue;
        return Status::InvalidArgument(
            "existing records in " + TopicName(deployment_.cluster, t) + ", partition " + std::to_string(p) +
            ": the topics belong to another deployment or to an interrupted migration. Set another "
            "kafka.prefix; or delete all topics " +
            to_.kafka.prefix +
            ".* with Kafka's own tools, and create them again with `cobblestone topics create`. " +
            from_.data_directory + " still has all data");
      }
    }
    auto cluster = stream::kafka::MakeCluster(deployment_.cluster);
    if (!cluster.ok()) return cluster.status();
    cluster_ = std::move(*cluster);
    if (Status s = CheckKind(*cluster_, to_); !s.ok()) return s;
    auto producer = cluster_->NewProducer(kName);
    if (!producer.ok()) return producer.status();
    producer_ = std::move(*producer);
    return StatusOf(producer_->Init());
  }

  // Processes all appended records and writes all state, as by a clean stop; then holds log and states, so
  // that nothing is appended afterwards.
  Status OpenSource() {
    std::error_code error;
    if (!fs::exists(from_.data_directory + "/log", error))
      return Status::NotFound("no data in " + from_.data_directory);
    {
      auto engine = Engine::Open(from_, options_.report);
      if (!engine.ok()) return engine.status();
      (*engine)->Start();
      (*engine)->WaitIdle();
      if (Status s = (*engine)->Stop(); !s.ok()) return s;
    }
    auto log = stream::embedded::Log::Open({.path = from_.data_directory + "/log",
                                            .topics = wire::Manifest(from_.partitions),
                                            .tail_bytes = 16u << 20});
    if (!log.ok()) return log.status();
    log_ = std::move(*log);
    space_ =
        stream::kafka::MakeDirectoryStateSpace(from_.data_directory + "/state", from_.memory.block_cache);
    const PipelineOptions pipeline = PipelineOf(to_);
    for (std::uint32_t k = 0; k < SlotCount(pipeline); ++k) {
      auto store = space_->Open(k);
      if (!store.ok()) return store.status();
      auto bytes = (*store)->Meta();
      auto meta = bytes.ok() ? stream::DecodeSlotMeta(*bytes) : Result<stream::SlotMeta>(bytes.status());
      if (!meta.ok() || meta->sequence == 0)
        return Status::InvalidArgument(
            "slot " + std::to_string(k) + " of " + from_.data_directory +
            " has not processed any events, so there is no state to migrate. Start a new "
            "deployment on Kafka instead");
      if (meta->journal_next != log_->End({wire::kJournal, k}))
        return Status::Retry(
            "the state of slot " + std::to_string(k) +
            " does not match the end of the log; check that no other process uses the directory, "
            "and run the command again");
      const PipelineSlot slot = MakeSlot(k, pipeline);
      for (std::size_t i = 0; i < meta->next.size(); ++i)
        cuts_[slot.slot->inputs()[i].where][meta->next[i]] = 0;
      metas_.push_back(std::move(*meta));
      stores_.push_back(std::move(*store));
    }
    for (stream::TopicIndex t = 0; t < wire::kTopicCount; ++t)
      for (std::uint32_t p = 0; t != wire::kJournal && p < deployment_.task.topics[t].partitions; ++p)
        counts_.all += log_->End({t, p}) - log_->Begin({t, p});
    return Status::Ok();
  }

  // From here until Finish() a worker that starts stops by itself. A worker that started earlier is a member of the
  // group, and Guard() waits until it has left.
  Status Guard() {
    const std::string no_row(stream::kKeyBytes, '\0');
    for (std::uint32_t k = 0; k < metas_.size(); ++k) {
      if (Status s = Begin(); !s.ok()) return s;
      if (Status s = StatusOf(producer_->ProduceTombstone({kCheckpointTopic, k}, no_row, &ignored_)); !s.ok())
        return s;
    }
    if (Status s = End(); !s.ok()) return s;
    return AwaitNoMembers(*admin_, to_, options_.report);
  }

  Status CopyState(std::uint32_t k) {
    counts_.commits += metas_[k].sequence;
    return stores_[k]->Scan({}, [&](std::string_view key, std::string_view value) {
      return Send({kCheckpointTopic, k}, key, std::string(value), &ignored_);
    });
  }

  // On packed topics a message has many records. A message ends at each position where a slot continues, and
  // records after the last such position get one message each, because a slot may have to wait between them.
  Status CopyPartition(TopicPartition where) {
    Cuts& cuts = cuts_[where];
    const bool packed = deployment_.task.packed[where.topic];
    const std::uint64_t last_cut = cuts.empty() ? 0 : cuts.rbegin()->first;
    const std::uint64_t end = log_->End(where);
    std::string message;
    for (std::uint64_t at = log_->Begin(where); at < end;) {
      auto batch = log_->Read(where, at);
      if (!batch.ok()) return batch.status();
      std::uint64_t number = (*batch)->first;
      stream::RecordCursor cursor((*batch)->payload);
      for (std::string_view record; cursor.Next(&record); ++number) {
        if (number < at) continue;
        const auto cut = cuts.find(number + 1);
        if (packed)
          stream::AppendRecord(message, record);
        else
          message = record;
        ++counts_.records;
        if (packed && cut == cuts.end() && number + 1 < end && number + 1 < last_cut &&
            message.size() < kMessageBytes)
          continue;
        if (Status s = Send(where, {}, std::move(message), cut == cuts.end() ? &ignored_ : &cut->second);
            !s.ok())
          return s;
        message.clear();
      }
      at = (*batch)->end();
      if (options_.progress) options_.progress(counts_);
    }
    log_->Consumed(where, end);
    return Status::Ok();
  }

  // Marks states as complete, writes the sources and commits the positions of the slots, in one transaction.
  Status Finish() {
    if (Status s = AwaitNoMembers(*admin_, to_, options_.report); !s.ok()) return s;
    if (Status s = Begin(); !s.ok()) return s;
    const PipelineOptions pipeline = PipelineOf(to_);
    std::vector<std::uint64_t> ends(metas_.size());
    for (std::uint32_t k = 0; k < metas_.size(); ++k) {
      const PipelineSlot slot = MakeSlot(k, pipeline);
      stream::SlotMeta meta = metas_[k];
      for (std::size_t i = 0; i < meta.next.size(); ++i) {
        const TopicPartition where = slot.slot->inputs()[i].where;
        // If all records that were read have been trimmed, no message is left.
        meta.next[i] = meta.next[i] == log_->Begin(where) ? 0 : cuts_[where].at(meta.next[i]) + 1;
      }
      meta.journal_next = 0;
      if (Status s = StatusOf(producer_->Produce({kCheckpointTopic, k}, stream::kafka::kCheckpointBeginKey,
                                                 std::to_string(meta.sequence), &ignored_));
          !s.ok())
        return s;
      if (Status s = StatusOf(producer_->Produce({kCheckpointTopic, k}, stream::kafka::kCheckpointMetaKey,
                                                 stream::EncodeSlotMeta(meta), &ends[k]));
          !s.ok())
        return s;
    }
    if (Status s = CopySources(); !s.ok()) return s;
    if (Status s = StatusOf(producer_->Flush()); !s.ok()) return s;
    std::map<std::uint32_t, stream::kafka::Position> positions;
    for (std::uint32_t k = 0; k < metas_.size(); ++k)
      positions[k] = {.journal_next = 0,
                      .sequence = metas_[k].sequence,
                      .checkpoint_sequence = metas_[k].sequence,
                      .checkpoint_end = ends[k] + 1,
                      .released = true,
                      .owner = kName,
                      .rules_version = metas_[k].rules_version};
    if (Status s = StatusOf(SendPositions(*cluster_, positions, wire::kJournal, *producer_)); !s.ok())
      return s;
    return Commit();
  }

  Status CopySources() {
    const std::string prefix = ProducerRow("", {}).first;
    const auto period_kind = static_cast<std::uint32_t>(LastPeriodKind(*log_));
    std::vector<std::string> sources;
    if (Status s = log_->ScanRows(
            prefix,
            [&](std::string_view key, std::string_view) { sources.emplace_back(key.substr(prefix.size())); });
        !s.ok())
      return s;
    std::vector<std::pair<ProjectId, double>> ticks;
    if (Status s =
            ScanTicks(*log_, [&](ProjectId project, double time) { ticks.emplace_back(project, time); });
        !s.ok())
      return s;
    for (const auto& [project, time] : ticks) {
      client::TickRow row = client::EncodeTickRow(project, time);
      Status s = StatusOf(producer_->Produce({kProducersTopic, 0}, row.key, row.value, &ignored_));
      if (!s.ok()) return s;
    }
    for (const std::string& source : sources) {
      const ProducerState state = ReadProducer(*log_, source);
      ++counts_.sources;
      Status s = StatusOf(producer_->Produce(
          {kProducersTopic, 0}, source,
          client::EncodeSourceState(
              {.events = state.lines, .hash = state.hash, .period_kind = period_kind, .owner = state.owner}),
          &ignored_));
      if (!s.ok()) return s;
    }
    return Status::Ok();
  }

  Status Send(TopicPartition where, std::string_view key, std::string value, std::uint64_t* offset) {
    if (Status s = Begin(); !s.ok()) return s;
    bytes_ += key.size() + value.size();
    if (Status s = StatusOf(producer_->Produce(where, key, std::move(value), offset)); !s.ok()) return s;
    return bytes_ < kTransactionBytes ? Status::Ok() : End();
  }

  Status Begin() {
    if (open_) return Status::Ok();
    open_ = true;
    bytes_ = 0;
    return StatusOf(producer_->Begin());
  }

  Status End() {
    if (!open_) return Status::Ok();
    if (Status s = StatusOf(producer_->Flush()); !s.ok()) return s;
    return Commit();
  }

  Status Commit() {
    open_ = false;
    Outcome o;
    do {
      o = producer_->Commit();
    } while (o.reaction == stream::kafka::Reaction::kRetry);
    Failpoint("migrate");
    return StatusOf(o);
  }

  static Status StatusOf(const Outcome& o) {
    if (o.ok()) return Status::Ok();
    return Status::Retry("the cluster rejected the migrated records: " + o.message +
                         ". Run the command again; it reports the records that are already on the cluster");
  }

  const settings::RunSettings& from_;
  const settings::RunSettings& to_;
  const MigrateOptions& options_;
  KafkaDeployment deployment_;
  std::unique_ptr<stream::kafka::TopicAdmin> admin_;
  std::unique_ptr<stream::kafka::Cluster> cluster_;
  std::unique_ptr<stream::kafka::Producer> producer_;
  std::unique_ptr<stream::embedded::Log> log_;
  std::unique_ptr<stream::kafka::StateSpace> space_;
  std::vector<std::unique_ptr<store::Store>> stores_;  // by slot
  std::vector<stream::SlotMeta> metas_;
  std::map<TopicPartition, Cuts> cuts_;
  MigrateCounts counts_;
  bool open_ = false;
  std::size_t bytes_ = 0;  // of the open transaction
  std::uint64_t ignored_ = 0;
};

}  // namespace

Result<MigrateCounts> MigrateToKafka(const settings::RunSettings& from, const settings::RunSettings& to,
                                     const MigrateOptions& options) {
  return ToKafka(from, to, options).Run();
}

}  // namespace cobblestone::kafka
