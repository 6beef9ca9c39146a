#include "services/access/kafka_pipeline.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/client/publisher.h"
#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "common/stream/kafka/read_all.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/access/append_codec.h"
#include "services/access/event_batch.h"
#include "services/access/kafka_client.h"
#include "services/kafka/kafka_log.h"

namespace cobblestone::access {

using intake::AppendBlock;
using intake::AppendOutcome;
using intake::ProducerState;
using kafka::AllRolesOf;
using kafka::DeploymentOf;
using kafka::KafkaDeployment;
using kafka::KafkaView;
using kafka::KafkaViewMetrics;
using kafka::kProducersTopic;
using kafka::LogsOf;
using kafka::Reads;

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr auto kTasksLive = std::chrono::seconds(2);  // a query asks the brokers for every slot
constexpr std::size_t kSample = 2000;                 // grants kept for viewers
constexpr stream::kafka::Millis kReadPatience{10000};

// Without opening a publisher, which would fence the current one. Reads the state of all sources.
Result<ProducerState> LookAtSource(stream::kafka::Cluster& cluster, const std::string& source) {
  auto reader = cluster.NewReader(stream::kafka::kShortFetch);
  if (!reader.ok()) return reader.status();
  client::SourceState state;
  Status s = stream::kafka::ReadAll(**reader, {kProducersTopic, 0}, stream::kafka::kBeginning, kReadPatience,
                                    [&](const stream::kafka::Message& row) {
                                      if (row.key() != source) return Status::Ok();
                                      auto read = client::DecodeSourceState(row.value());
                                      if (read.ok()) state = *read;
                                      return read.status();
                                    });
  if (!s.ok()) return s;
  return ProducerState{.lines = state.events, .hash = state.hash, .owner = state.owner};
}

class KafkaSink final : public EventSink {
 public:
  // Both must outlive the sink.
  KafkaSink(KafkaClient& client, stream::kafka::Cluster& cluster, bool lockstep)
      : client_(client), cluster_(cluster), lockstep_(lockstep) {}

  [[nodiscard]] bool lockstep() const override { return lockstep_; }
  Result<ProducerState> Look(const std::string& source) override {
    if (auto known = client_.Published(source)) return std::move(*known);
    return LookAtSource(cluster_, source);
  }
  Result<ProducerState> Producer(const std::string& source) override { return client_.Producer(source); }
  Result<ProducerState> BatchBegin(const std::string& source) override {
    const auto answer = client_.Ask({.path = "/producer", .parameters = {{"source", source}}});
    if (!answer.ok()) return answer.status();
    if (!answer->contains("batch")) return ProducerState{};
    return ParseProducerJson((*answer)["batch"]);
  }
  Status Append(const std::function<bool(AppendBlock*)>& next,
                const std::function<void(const AppendOutcome&)>& done) override {
    for (AppendBlock block; next(&block);) {
      const auto outcome = client_.Append(block);
      if (outcome.status().code() == StatusCode::kFenced)
        return Status::Retry("another client sends source " + block.source +
                             " at the same time; query the position of the source and continue there");
      if (!outcome.ok()) return outcome.status();
      done(*outcome);
    }
    return Status::Ok();
  }

 private:
  KafkaClient& client_;
  stream::kafka::Cluster& cluster_;
  const bool lockstep_;
};

class KafkaPipeline final : public gateway::Pipeline {
 public:
  KafkaPipeline(const settings::RunSettings& settings, KafkaView& view, const KafkaViewMetrics& metrics,
                KafkaDeployment deployment, std::unique_ptr<stream::kafka::Cluster> cluster,
                std::unique_ptr<stream::kafka::TopicAdmin> admin, std::unique_ptr<KafkaClient> client,
                intake::Quotas& quotas)
      : partitions_(settings.partitions),
        view_(view),
        metrics_(metrics),
        deployment_(std::move(deployment)),
        cluster_(std::move(cluster)),
        admin_(std::move(admin)),
        client_(std::move(client)),
        ingest_(
            std::make_unique<KafkaSink>(*client_, *cluster_, settings.order == settings::Order::kLockstep),
            &quotas),
        grants_(LogsOf(*cluster_, *admin_, deployment_, Reads::kOn)(wire::kGrants)) {}

  Result<json> Tasks() override {
    const std::lock_guard lock(mutex_);
    return LookAtTasks();
  }

  gateway::Health CheckHealth() override {
    using Grade = gateway::Health::Grade;
    gateway::Health health;
    const auto add = [&](Grade grade, std::string problem) {
      health.grade = std::max(health.grade, grade);
      health.problems.push_back(std::move(problem));
    };
    if (!view_.failure().ok()) add(Grade::kDegraded, "the view has stopped following the log");
    const auto tasks = Tasks();
    if (!tasks.ok()) {
      add(Grade::kDegraded, "the cluster does not answer");
      return health;
    }
    std::size_t stopped = 0;
    std::size_t idle = 0;
    for (const json& task : (*tasks)["tasks"]) {
      const std::string phase = task.value("phase", "");
      if (phase == "stopped") ++stopped;
      if (phase != "running" && phase != "stopped") ++idle;
    }
    if (stopped > 0) add(Grade::kFailed, std::to_string(stopped) + " slots have stopped");
    if (idle > 0) add(Grade::kDegraded, std::to_string(idle) + " slots have no worker");
    return health;
  }

  Result<json> Resubmit(std::uint64_t number) override {
    return client_->Ask({.path = "/refused/resubmit", .parameters = {{"offset", std::to_string(number)}}});
  }

  Result<gateway::KnownSource> Source(const std::string& source) override {
    const auto known = LookAtSource(*cluster_, source);
    if (!known.ok()) return known.status();
    return gateway::KnownSource{.lines = known->lines, .hash = HashText(known->hash), .owner = known->owner};
  }

  Result<gateway::EventOutcome> Append(const gateway::EventBatch& batch) override {
    return ingest_.Take(batch);
  }
  std::optional<gateway::Throttled> Throttle(const gateway::IngestRights& rights) override {
    return ingest_.Throttle(rights);
  }

  // Results are the messages of the topic, processed or not; transaction markers take offsets too, so the
  // number is slightly too high.
  Result<gateway::Figures> Look() override {
    const std::lock_guard lock(mutex_);
    gateway::Figures figures;
    for (std::uint32_t p = 0; p < partitions_; ++p) {
      const auto ends = admin_->EndsOf({wire::kCompletions, p});
      if (!ends.ok()) return ends.status();
      figures.results += ends->stable;
    }
    if (Status s = FollowGrants(); !s.ok()) return s;
    figures.grants = granted_;
    figures.refused = view_.ledger().refused();
    // As reported by the slots' owners, in any process.
    for (const std::string_view stage : settings::kStageNames)
      figures.stages.push_back({.stage = std::string(stage)});
    const auto tasks = LookAtTasks();
    if (!tasks.ok()) return tasks.status();
    for (const json& task : (*tasks)["tasks"]) {
      const auto lag = task.value("lag", std::uint64_t{0});
      figures.lag += lag;
      for (const json& reported : task.value("stages", json::array())) {
        const auto name = reported.value("stage", "");
        auto stage = std::find_if(figures.stages.begin(), figures.stages.end(),
                                  [&](const auto& known) { return known.stage == name; });
        if (stage == figures.stages.end()) continue;
        stage->lag += reported.value("lag", std::uint64_t{0});
        stage->records += reported.value("records", std::uint64_t{0});
      }
    }
    return figures;
  }

  Status NewGrants(std::vector<std::uint64_t>* ends, std::size_t most,
                   const std::function<void(std::string_view)>& visit) override {
    const std::lock_guard lock(mutex_);
    if (Status s = FollowGrants(); !s.ok()) return s;
    const bool first = ends->size() != 1;
    const std::uint64_t from = first ? granted_ : ends->front();
    *ends = {granted_};
    const std::uint64_t wanted =
        std::min({granted_ - std::min(granted_, from), std::uint64_t{most}, std::uint64_t{newest_.size()}});
    for (std::size_t i = newest_.size() - wanted; i < newest_.size(); ++i) visit(newest_[i]);
    return Status::Ok();
  }

  Result<std::string> Metrics() override { return metrics_.Render(); }

 private:
  // The following functions need mutex_.
  Result<json> LookAtTasks() {
    if (tasks_.is_null() || Clock::now() - tasks_at_ > kTasksLive) {
      auto answer = client_->Ask({.path = "/tasks"});
      if (!answer.ok()) return answer;
      tasks_ = std::move(*answer);
      tasks_at_ = Clock::now();
    }
    return tasks_;
  }
  // Follows the ledger from the first call on.
  Status FollowGrants() {
    const bool first = next_.empty();
    next_.resize(partitions_);
    for (std::uint32_t p = 0; p < partitions_; ++p) {
      const stream::TopicPartition where{wire::kGrants, p};
      const auto ends = admin_->EndsOf(where);
      if (!ends.ok()) return ends.status();
      if (first) next_[p] = ends->stable;
      while (next_[p] < ends->stable) {
        const auto piece = grants_->Read(where, next_[p]);
        if (!piece.ok()) return piece.status();
        if (piece->end == 0) break;
        next_[p] = piece->end;
        for (const std::string_view record : piece->records) {
          wire::GrantHead head;
          if (!wire::DecodeGrantHead(record, &head) || head.kind != wire::GrantKind::kFinal) continue;
          ++granted_;
          newest_.emplace_back(record);
          if (newest_.size() > kSample) newest_.pop_front();
        }
      }
    }
    return Status::Ok();
  }

  const std::uint32_t partitions_;
  KafkaView& view_;
  const KafkaViewMetrics& metrics_;
  const KafkaDeployment deployment_;
  const std::unique_ptr<stream::kafka::Cluster> cluster_;
  const std::unique_ptr<stream::kafka::TopicAdmin> admin_;
  const std::unique_ptr<KafkaClient> client_;
  BatchIngest ingest_;
  std::mutex mutex_;
  json tasks_;  // guarded by mutex_, like all following members
  Clock::time_point tasks_at_{};
  const std::unique_ptr<stream::IndexedLog> grants_;
  std::vector<std::uint64_t> next_;  // by partition of the ledger
  std::uint64_t granted_ = 0;
  std::deque<std::string> newest_;
};

}  // namespace

Result<std::unique_ptr<gateway::Pipeline>> MakeKafkaPipeline(const settings::RunSettings& settings,
                                                             KafkaView& view, const KafkaViewMetrics& metrics,
                                                             intake::Quotas& quotas,
                                                             std::function<void(const std::string&)> report) {
  auto client = ConnectKafka(settings, report);
  if (!client.ok()) return client.status();
  auto deployment = DeploymentOf(AllRolesOf(settings).front(), report);
  if (!deployment.ok()) return deployment.status();
  auto cluster = stream::kafka::MakeCluster(deployment->cluster);
  if (!cluster.ok()) return cluster.status();
  auto admin = stream::kafka::MakeTopicAdmin(deployment->cluster);
  if (!admin.ok()) return admin.status();
  return std::unique_ptr<gateway::Pipeline>(
      std::make_unique<KafkaPipeline>(settings, view, metrics, std::move(*deployment), std::move(*cluster),
                                      std::move(*admin), std::move(*client), quotas));
}

}  // namespace cobblestone::access
