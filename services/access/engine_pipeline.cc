#include "services/access/engine_pipeline.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/base/histogram.h"
#include "common/wire/control/topics.h"
#include "services/access/append_codec.h"
#include "services/access/event_batch.h"
#include "services/access/question.h"

namespace cobblestone::access {

using embedded::Engine;
using embedded::EngineCounts;
using embedded::EngineMetrics;
using intake::ProducerState;

namespace {

// Stages of a slot in their order; the coordinator has its own slot.
constexpr std::array<const char*, 4> kStages = {"claims", "grants", "accounts", "teams"};
constexpr const char* kCoordinator = "coordinator";
// Lag from which health is degraded: half of the lag at which appends wait (kMaxLag in engine.cc).
constexpr std::uint64_t kMuchLag = 500000;

// In s, as if observations were distributed evenly in their bucket; for the last bucket its lower bound.
double Quantile(const LatencyCounts& counts, double quantile) {
  const double wanted = quantile * static_cast<double>(counts.observed());
  double seen = 0;
  for (std::size_t i = 0; i < kLatencyBounds.size(); ++i) {
    const double here = static_cast<double>(counts.counts[i]);
    const double low = i == 0 ? 0 : kLatencyBounds[i - 1];
    if (here > 0 && seen + here >= wanted) return low + (kLatencyBounds[i] - low) * (wanted - seen) / here;
    seen += here;
  }
  return kLatencyBounds.back();
}

class EnginePipeline final : public gateway::Pipeline {
 public:
  EnginePipeline(Engine& engine, bool runs, EngineMetrics* metrics)
      : engine_(engine), runs_(runs), metrics_(metrics), ingest_(MakeEngineSink(engine), &engine.quotas()) {}

  Result<nlohmann::json> Tasks() override { return engine_.Tasks(); }

  gateway::Health CheckHealth() override {
    gateway::Health health;
    if (!engine_.failure().ok()) {
      health.grade = gateway::Health::Grade::kFailed;
      health.problems.emplace_back("the pipeline has stopped; see its log");
      return health;
    }
    std::uint64_t lag = 0;
    for (const auto& slot : engine_.runner().Look()) lag += slot.lag;
    if (runs_ && lag > kMuchLag) {
      health.grade = gateway::Health::Grade::kDegraded;
      health.problems.push_back(std::to_string(lag) + " records are waiting");
    }
    return health;
  }

  Result<nlohmann::json> Resubmit(std::uint64_t number) override {
    if (!runs_) return NothingRuns();
    return Answer(engine_, {.path = "/refused/resubmit", .parameters = {{"offset", std::to_string(number)}}});
  }

  Result<gateway::KnownSource> Source(const std::string& source) override {
    const ProducerState known = engine_.Producer(source);
    return gateway::KnownSource{.lines = known.lines, .hash = HashText(known.hash), .owner = known.owner};
  }

  Result<gateway::EventOutcome> Append(const gateway::EventBatch& batch) override {
    if (!runs_) return NothingRuns();
    return ingest_.Take(batch);
  }
  std::optional<gateway::Throttled> Throttle(const gateway::IngestRights& rights) override {
    return ingest_.Throttle(rights);
  }

  Result<gateway::Figures> Look() override {
    gateway::Figures figures;
    const EngineCounts counts = engine_.Counts();
    figures.results = counts.completions;
    figures.grants = counts.grants;
    figures.refused = engine_.log().DurableEnd({wire::kRefused, 0});
    for (const char* stage : kStages) figures.stages.push_back({.stage = stage});
    figures.stages.push_back({.stage = kCoordinator});
    const std::uint32_t n = engine_.pipeline().partitions;
    for (const auto& slot : engine_.runner().Look()) {
      for (const auto& input : slot.inputs) {
        auto& stage =
            figures.stages[slot.slot == n ? kStages.size() : std::min(input.stage, kStages.size() - 1)];
        stage.records += input.next;
        stage.lag += input.records;
      }
    }
    for (const auto& stage : figures.stages) figures.lag += stage.lag;
    figures.commit = CommitLatency();
    return figures;
  }

  Status NewGrants(std::vector<std::uint64_t>* ends, std::size_t most,
                   const std::function<void(std::string_view)>& visit) override {
    const std::uint32_t n = engine_.pipeline().partitions;
    const bool first = ends->size() != n;
    ends->resize(n);
    for (std::uint32_t p = 0; p < n; ++p) {
      const stream::TopicPartition where{wire::kGrants, p};
      const std::uint64_t end = engine_.log().DurableEnd(where);
      const std::uint64_t share = most / n + 1;
      const std::uint64_t from = std::max((*ends)[p], end > share ? end - share : 0);
      (*ends)[p] = end;
      if (first) continue;
      const Status read = engine_.ForEachRecord(
          where,
          [&](std::uint64_t offset, std::string_view record) {
            if (offset < end) visit(record);
            return offset + 1 < end;
          },
          from);
      if (!read.ok()) return read;
    }
    return Status::Ok();
  }

  Result<std::string> Metrics() override {
    if (metrics_ == nullptr)
      return Status::NotFound("no pipeline is running in this process, so no rates are available");
    return metrics_->Render();
  }

 private:
  // Latency of the commits since the last look or, if there were none, of those before; none: latency is not measured,
  // or there was no commit yet.
  std::optional<gateway::Figures::Latency> CommitLatency() {
    LatencyCounts now;
    for (const auto& slot : engine_.runner().Look())
      for (std::size_t i = 0; i < now.counts.size(); ++i) now.counts[i] += slot.commit_latency.counts[i];
    const std::lock_guard lock(mutex_);
    LatencyCounts since = now;
    for (std::size_t i = 0; i < now.counts.size(); ++i) since.counts[i] -= commits_.counts[i];
    commits_ = now;
    if (since.observed() > 0)
      latency_ =
          gateway::Figures::Latency{.p50 = 1000 * Quantile(since, 0.5), .p99 = 1000 * Quantile(since, 0.99)};
    return latency_;
  }
  static Status NothingRuns() {
    return Status::Retry(
        "this gateway is read-only, because no pipeline is running on its directory: to ingest "
        "events, use `cobblestone run` with gateway.listen");
  }

  Engine& engine_;
  const bool runs_;
  EngineMetrics* const metrics_;
  BatchIngest ingest_;
  std::mutex mutex_;
  // Guarded by mutex_.
  LatencyCounts commits_;  // as of the last look
  std::optional<gateway::Figures::Latency> latency_;
};

}  // namespace

std::unique_ptr<gateway::Pipeline> MakeEnginePipeline(Engine& engine, bool runs, EngineMetrics* metrics) {
  return std::make_unique<EnginePipeline>(engine, runs, metrics);
}

}  // namespace cobblestone::access
