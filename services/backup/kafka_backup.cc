#include "services/backup/kafka_backup.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "common/base/failpoint.h"
#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "services/backup/copy_file.h"
#include "services/kafka/kafka_deployment.h"
#include "services/kafka/migrate.h"

namespace cobblestone::backup {
namespace {

namespace fs = std::filesystem;
using stream::TopicPartition;

constexpr int kAttempts = 3;
// How long the topics may move before a copy is begun.
constexpr auto kPatience = std::chrono::seconds(60);
constexpr const char* kRemedy = "; stop all sources for the time of the backup, or stop the workers";
constexpr auto kLookAgainAfter = std::chrono::milliseconds(200);
constexpr auto kCheckEvery = std::chrono::seconds(1);

using Ends = std::map<TopicPartition, std::uint64_t>;

// Of every partition but those in which workers tell of themselves. kRetry: a transaction is open somewhere.
Result<Ends> StableEnds(const KafkaDeployment& deployment, stream::kafka::TopicAdmin& admin) {
  Ends all;
  for (stream::TopicIndex t = 0; t < deployment.task.topics.size(); ++t) {
    if (t == kStatusTopic) continue;
    for (std::uint32_t p = 0; p < deployment.task.topics[t].partitions; ++p) {
      const auto ends = admin.EndsOf({t, p});
      if (!ends.ok()) return ends.status();
      if (ends->stable != ends->all)
        return Status::Retry("a transaction is open on " + TopicName(deployment.cluster, t) + ", partition " +
                             std::to_string(p));
      all[{t, p}] = ends->all;
    }
  }
  return all;
}

// The directory that the topics are copied into; removed when the backup ends in any way but a death.
class Staging {
 public:
  explicit Staging(std::string path) : path_(std::move(path)) {}
  ~Staging() { Clear(); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  void Clear() const {
    std::error_code stays;  // and the next backup removes it
    fs::remove_all(path_, stays);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// The first partition that has changed; empty: none has.
std::string Changed(const KafkaDeployment& deployment, const Ends& before, const Ends& after) {
  for (const auto& [where, end] : before)
    if (after.at(where) != end)
      return TopicName(deployment.cluster, where.topic) + ", partition " + std::to_string(where.partition);
  return {};
}

// Ends that are the same twice in a row.
Result<Ends> AwaitRest(const KafkaDeployment& deployment, stream::kafka::TopicAdmin& admin) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  auto before = StableEnds(deployment, admin);
  for (;;) {
    if (!before.ok() && before.status().code() != StatusCode::kRetry) return before;
    std::this_thread::sleep_for(kLookAgainAfter);
    auto now = StableEnds(deployment, admin);
    std::string moved;
    if (!now.ok()) {
      moved = now.status().message();
    } else if (!before.ok()) {
      moved = before.status().message();
    } else if (moved = Changed(deployment, *before, *now); moved.empty()) {
      return now;
    }
    if (std::chrono::steady_clock::now() >= deadline)
      return Status::Retry("the topics keep changing (" + moved + ")" + kRemedy);
    before = std::move(now);
  }
}

Status CopyTopics(const settings::RunSettings& settings, const Staging& staging,
                  const BackupOptions& options) {
  const auto deployment = DeploymentOf(settings, options.report);
  if (!deployment.ok()) return deployment.status();
  if (Status s = CheckTopics(*deployment); !s.ok()) return s;
  const auto admin = stream::kafka::MakeTopicAdmin(deployment->cluster);
  if (!admin.ok()) return admin.status();
  std::string why;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    staging.Clear();
    const auto before = AwaitRest(*deployment, **admin);
    if (!before.ok()) return before.status();
    // A copy that follows topics as they change might never end.
    auto checked_at = std::chrono::steady_clock::now();
    const auto unchanged = [&]() -> Status {
      const auto now = std::chrono::steady_clock::now();
      if (now - checked_at < kCheckEvery) return Status::Ok();
      checked_at = now;
      const auto ends = StableEnds(*deployment, **admin);
      if (!ends.ok()) return ends.status();
      const std::string changed = Changed(*deployment, *before, *ends);
      return changed.empty() ? Status::Ok() : Status::Retry(changed + " has changed");
    };
    const auto counts = MigrateToEmbedded(settings, staging.path(),
                                          {.progress =
                                               [&](const MigrateCounts& now) {
                                                 if (options.progress) options.progress(now.records, 0);
                                               },
                                           .check = unchanged,
                                           .report = options.report});
    Failpoint("B1");
    const auto after = StableEnds(*deployment, **admin);
    if (!after.ok() && after.status().code() != StatusCode::kRetry) return after.status();
    why = after.ok() ? Changed(*deployment, *before, *after) : after.status().message();
    // A copy of topics that moved may fail in any way, and counts for nothing.
    if (why.empty()) return counts.ok() ? Status::Ok() : counts.status();
    options.report("something was written while the topics were copied (" + why + "); they are copied again");
  }
  return Status::Retry("the topics keep changing (" + why + ")" + kRemedy);
}

}  // namespace

Result<BackupOutcome> BackUpKafka(const settings::RunSettings& settings, const BackupOptions& options) {
  auto set = BackupSet::Open(options.to, options.report);
  if (!set.ok()) return set.status();
  const Staging staging(options.to + "/kafka-copy");
  if (Status s = CopyTopics(settings, staging, options); !s.ok()) return s;
  LowerPriorities();  // not before: sources wait for the copy
  return BackUpDirectory(staging.path(),
                         {.backend = "kafka",
                          .source = settings.kafka.bootstrap + ", prefix " + settings.kafka.prefix,
                          .partitions = settings.partitions},
                         *set, options);
}

}  // namespace cobblestone::backup
