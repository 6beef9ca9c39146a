#include "services/kafka/verification.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "common/stream/hash128.h"
#include "common/stream/kafka/read_all.h"
#include "common/stream/runtime/journal.h"
#include "common/wire/control/topics.h"
#include "services/kafka/kafka_deployment.h"

namespace cobblestone::kafka {
namespace {

constexpr stream::kafka::Millis kVerifyPatience{60000};

// Topics that only slots write.
constexpr wire::Topic kOutputs[] = {wire::kControl, wire::kClaims,  wire::kGrants, wire::kPostings,
                                    wire::kTotals,  wire::kSamples, wire::kPassed};

// The first key with different rows in the two stores; empty: none.
Result<std::string> FirstDifference(store::Store& a, store::Store& b, std::uint64_t* rows) {
  std::map<std::string, std::string> of_a;
  Status s = a.Scan({}, [&](std::string_view key, std::string_view value) {
    of_a.emplace(key, value);
    return Status::Ok();
  });
  if (!s.ok()) return s;
  *rows = of_a.size();
  std::string first;
  s = b.Scan({}, [&](std::string_view key, std::string_view value) {
    const auto found = of_a.find(std::string(key));
    if ((found == of_a.end() || found->second != value) && first.empty()) first = key;
    if (found != of_a.end()) of_a.erase(found);
    return Status::Ok();
  });
  if (!s.ok()) return s;
  if (first.empty() && !of_a.empty()) first = of_a.begin()->first;
  return first;
}

// The oldest commit that the journal still contains; 0: none.
Result<std::uint64_t> OldestCommit(stream::kafka::Cluster& cluster, stream::TopicPartition journal) {
  auto reader = cluster.NewReader(stream::kafka::kShortFetch);
  if (!reader.ok()) return reader.status();
  std::uint64_t oldest = 0;
  const Status found = Status::NotFound("that was all");
  Status s = stream::kafka::ReadAll(**reader, journal, stream::kafka::kBeginning, kVerifyPatience,
                                    [&](const stream::kafka::Message& message) {
                                      stream::RecordCursor cursor(message.value());
                                      std::string_view bytes;
                                      if (!cursor.Next(&bytes)) return Status::Ok();
                                      const auto entry = stream::DecodeJournalEntry(bytes);
                                      if (!entry.ok()) return entry.status();
                                      oldest = entry->sequence;
                                      return found;
                                    });
  if (!s.ok() && s.code() != found.code()) return s;
  return oldest;
}

// One slot after the other, in the same process.
class SlotVerification {
 public:
  SlotVerification(stream::kafka::Cluster& cluster, const settings::RunSettings& role,
                   const KafkaDeployment& deployment, const VerifyOptions& options)
      : cluster_(cluster),
        deployment_(deployment),
        options_(options),
        factory_(MakeSlotFactory(role)),
        from_checkpoint_(
            stream::kafka::MakeDirectoryStateSpace(options.scratch + "/checkpoint", role.memory.block_cache)),
        from_beginning_(stream::kafka::MakeDirectoryStateSpace(options.scratch + "/beginning",
                                                               role.memory.block_cache)) {}

  Result<SlotVerdict> Verify(std::uint32_t slot) {
    SlotVerdict verdict{.slot = slot};
    stream::kafka::CatchUpOptions how{.progress = [&](const stream::kafka::TaskStatus& status) {
      verdict.after_checkpoint = status.reexecuted;
      if (options_.progress) options_.progress(status);
    }};
    const auto meta = CatchUp(slot, *from_checkpoint_, how);
    if (!meta.ok()) {
      verdict.from_checkpoint = meta.status();
      return verdict;
    }
    verdict.commits = meta->sequence;
    // From the start of the log: the state from the checkpoint must equal the state from all of history.
    how.checkpoint = false;
    how.until = meta->sequence;
    how.progress = options_.progress;
    if (options_.outputs != nullptr)
      how.executed = [this](const stream::SlotCommit& commit) {
        for (const stream::SlotOutput& output : commit.outputs)
          (*options_.outputs)[output.where].Add(output.payload);
      };
    verdict.from_beginning = CatchUp(slot, *from_beginning_, how).status();
    if (!verdict.from_beginning.ok()) {
      const auto oldest = OldestCommit(cluster_, {deployment_.task.journal, slot});
      if (!oldest.ok()) return oldest.status();
      verdict.oldest = *oldest;
      return verdict;
    }
    auto a = from_checkpoint_->Open(slot);
    if (!a.ok()) return a.status();
    auto b = from_beginning_->Open(slot);
    if (!b.ok()) return b.status();
    auto difference = FirstDifference(**a, **b, &verdict.rows);
    if (!difference.ok()) return difference.status();
    verdict.difference = std::move(*difference);
    return verdict;
  }

 private:
  Result<stream::SlotMeta> CatchUp(std::uint32_t slot, stream::kafka::StateSpace& space,
                                   const stream::kafka::CatchUpOptions& how) {
    return stream::kafka::CatchUp(cluster_, slot, deployment_.task, factory_, space, background_, how);
  }

  stream::kafka::Cluster& cluster_;
  const KafkaDeployment& deployment_;
  const VerifyOptions& options_;
  stream::kafka::BackgroundThread background_;
  const stream::SlotFactory factory_;
  const std::unique_ptr<stream::kafka::StateSpace> from_checkpoint_;
  const std::unique_ptr<stream::kafka::StateSpace> from_beginning_;
};

}  // namespace

void RecordSum::Add(std::string_view payload) {
  stream::RecordCursor cursor(payload);
  for (std::string_view record; cursor.Next(&record); ++records) {
    const stream::Hash128 hash = stream::HashBytes(record);
    hashes += (static_cast<unsigned __int128>(hash.high) << 64) + hash.low;
  }
}

void RecordSum::Add(const RecordSum& other) {
  records += other.records;
  hashes += other.hashes;
}

std::string RecordSum::HashText() const {
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hashes >> 64),
                static_cast<unsigned long long>(hashes));
  return text;
}

Status VerifySlots(const settings::RunSettings& role, const VerifyOptions& options) {
  auto deployment = DeploymentOf(role, options.report);
  if (!deployment.ok()) return deployment.status();
  if (Status s = CheckTopics(*deployment); !s.ok()) return s;
  auto cluster = stream::kafka::MakeCluster(deployment->cluster);
  if (!cluster.ok()) return cluster.status();
  if (Status s = CheckKind(**cluster, role); !s.ok()) return s;
  const std::uint32_t count = pipeline::SlotCount(PipelineOf(role));
  std::vector<std::uint32_t> slots = options.slots;
  if (slots.empty())
    for (std::uint32_t k = 0; k < count; ++k) slots.push_back(k);
  SlotVerification verification(**cluster, role, *deployment, options);
  for (const std::uint32_t k : slots) {
    if (k >= count) return Status::NotFound("unknown slot " + std::to_string(k));
    const auto verdict = verification.Verify(k);
    if (!verdict.ok()) return verdict.status();
    options.verdict(*verdict);
  }
  return Status::Ok();
}

Status CompareOutputs(const settings::RunSettings& settings, OutputSums made,
                      const std::function<void(const std::string&)>& report,
                      const std::function<void(const TopicVerdict&)>& verdict) {
  auto deployment = DeploymentOf(settings, report);
  if (!deployment.ok()) return deployment.status();
  auto cluster = stream::kafka::MakeCluster(deployment->cluster);
  if (!cluster.ok()) return cluster.status();
  auto reader = (*cluster)->NewReader(stream::kafka::kShortFetch);
  if (!reader.ok()) return reader.status();
  for (const wire::Topic topic : kOutputs) {
    const stream::TopicSpec& spec = deployment->task.topics[topic];
    TopicVerdict all{.topic = spec.name};
    for (std::uint32_t p = 0; p < spec.partitions; ++p) {
      RecordSum there;
      Status s = stream::kafka::ReadAll(**reader, {topic, p}, stream::kafka::kBeginning, kVerifyPatience,
                                        [&](const stream::kafka::Message& message) {
                                          there.Add(message.value());
                                          return Status::Ok();
                                        });
      if (!s.ok()) return s;
      const RecordSum& executed = made[{topic, p}];
      all.executed.Add(executed);
      if (!(there == executed) && !all.difference)
        all.difference = TopicVerdict::Difference{.partition = p, .there = there, .executed = executed};
    }
    verdict(all);
  }
  return Status::Ok();
}

}  // namespace cobblestone::kafka
