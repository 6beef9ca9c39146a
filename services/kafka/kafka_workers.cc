#include "services/kafka/kafka_workers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "common/base/thread.h"
#include "common/stream/kafka/read_all.h"
#include "common/wire/control/topics.h"

namespace cobblestone::kafka {

using pipeline::MakeSlotFactory;
using pipeline::PipelineOptions;
using pipeline::SlotCount;

namespace {

constexpr stream::kafka::Millis kIdle{100};
constexpr std::chrono::seconds kHousekeepingInterval{1};
// A call to the cluster ends within the transaction timeout, or within half a minute without a transaction. A
// thread that does not return for a multiple of that time hangs.
constexpr int kHangsAfterTransactions = 6;
constexpr std::chrono::microseconds kHangsAfter = std::chrono::minutes(1);

double WallClock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

stream::kafka::Standby StandbyOf(settings::KafkaStandby standby) {
  switch (standby) {
    case settings::KafkaStandby::kCheckpoint: return stream::kafka::Standby::kCheckpoint;
    case settings::KafkaStandby::kHot: return stream::kafka::Standby::kHot;
    case settings::KafkaStandby::kNone: break;
  }
  return stream::kafka::Standby::kNone;
}

nlohmann::json AlarmsJson(const RefusalsByProject& alarms) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& [project, refusals] : alarms) {
    nlohmann::json reasons = nlohmann::json::object();
    for (const auto& [reason, count] : refusals.reasons)
      reasons[std::string(wire::RefusalReasonName(reason))] = count;
    all.push_back({{"project", project.value},
                   {"records", refusals.records},
                   {"refused", refusals.refused},
                   {"reasons", std::move(reasons)},
                   {"text", RefusalAlarm(project, refusals)}});
  }
  return all;
}

nlohmann::json StatusJson(const std::string& name, const std::string& role,
                          const stream::kafka::WorkerStatus& status) {
  nlohmann::json tasks = nlohmann::json::array();
  for (const stream::kafka::TaskStatus& task : status.tasks) {
    char hash[40];
    std::snprintf(hash, sizeof hash, "%016llx%016llx", static_cast<unsigned long long>(task.hash.high),
                  static_cast<unsigned long long>(task.hash.low));
    nlohmann::json one = {{"slot", task.slot},
                          {"phase", stream::kafka::PhaseName(task.phase)},
                          {"owned", task.owned},
                          {"commits", task.sequence},
                          {"commits_to_reach", task.target_sequence},
                          {"hash", hash},
                          {"lag", task.lag},
                          {"state_written", task.flushed_sequence},
                          {"checkpoint", task.checkpoint_sequence},
                          {"rows_restored", task.restored_rows},
                          {"commits_executed_again", task.reexecuted},
                          {"records", task.records}};
    for (const auto& stage : task.stages)
      one["stages"].push_back({{"lag", stage.lag}, {"records", stage.records}});
    if (!task.problem.empty()) one["problem"] = task.problem;
    tasks.push_back(std::move(one));
  }
  return {{"worker", name},
          {"role", role},
          {"commits", status.commits},
          {"aborts", status.aborts},
          {"producers", status.producers},
          {"fenced", status.fenced},
          {"records", status.records},
          {"tasks", std::move(tasks)}};
}

}  // namespace

Result<std::unique_ptr<KafkaWorkers>> KafkaWorkers::Open(const settings::RunSettings& settings,
                                                         const KafkaWorkersOptions& options) {
  const auto& report = options.report;
  std::unique_ptr<KafkaWorkers> made(new KafkaWorkers);
  made->settings_ = settings;
  made->report_ = report;
  made->background_ = std::make_unique<stream::kafka::BackgroundThread>();
  using std::chrono::duration_cast;
  using stream::kafka::Millis;
  const auto roles = RolesOf(settings);
  for (const settings::RunSettings& role : roles) {
    auto deployment = DeploymentOf(role, report);
    if (!deployment.ok()) return deployment.status();
    if (made->clusters_.empty())
      if (Status s = CheckTopics(*deployment); !s.ok()) return s;
    if (Status s = ClaimStateDirectories(role, *deployment, report); !s.ok()) return s;
    auto cluster = stream::kafka::MakeCluster(deployment->cluster);
    if (!cluster.ok()) return cluster.status();
    made->clusters_.push_back(std::move(*cluster));
    if (made->clusters_.size() == 1)
      if (Status s = CheckKind(*made->clusters_.front(), settings); !s.ok()) return s;
    const PipelineOptions pipeline = PipelineOf(role);
    const bool coordinates = !pipeline.only || pipeline.only == settings::Stage::kCoordinator;
    for (std::uint32_t t = 0; t < settings.threads; ++t) {
      Thread thread{.name = ThreadName(role, t), .role = RoleName(role)};
      if (coordinates) thread.coordinator = SlotCount(pipeline) - 1;
      thread.space = stream::kafka::MakeDirectoryStateSpace(
          StateDirectory(role, t), settings.memory.block_cache / settings.threads / roles.size());
      thread.refusals = std::make_unique<RefusalWatch>();
      stream::kafka::TaskOptions task = deployment->task;
      task.watch = thread.refusals.get();
      if (options.watched) thread.ledger = std::make_unique<metrics::LedgerWatch>();
      task.commits = thread.ledger.get();
      thread.worker = std::make_unique<stream::kafka::Worker>(
          stream::kafka::WorkerOptions{
              .instance = thread.name,
              .slots = SlotCount(pipeline),
              .task = std::move(task),
              .commit_min = duration_cast<Millis>(settings.kafka.commit_min),
              .commit_max = duration_cast<Millis>(settings.kafka.commit_max),
              .watch_interval = duration_cast<Millis>(settings.kafka.session_timeout / 2),
              .standby = StandbyOf(settings.kafka.standby),
              .standby_of = settings.threads,
              .standby_at = t,
              .report = report},
          *made->clusters_.back(), *thread.space, *made->background_, MakeSlotFactory(role));
      made->workers_.push_back(std::move(thread));
    }
  }
  if (settings.ticks == settings::Ticks::kWall)
    made->clock_ = std::make_unique<KafkaClock>(
        *made->clusters_.front(),
        KafkaClockOptions{.partitions = settings.partitions,
                          .producers_topic = kProducersTopic,
                          .future_limit = std::chrono::duration<double>(settings.future_limit).count(),
                          .accept_jump = options.accept_time_jump,
                          .report = report});
  return made;
}

KafkaWorkers::~KafkaWorkers() { (void)Stop(std::chrono::seconds(30)); }

void KafkaWorkers::Start() {
  last_turns_.assign(workers_.size(), {0, std::chrono::steady_clock::now()});
  for (std::size_t t = 0; t < workers_.size(); ++t)
    threads_.emplace_back([this, t] {
      NameThread("slots");
      Work(t);
    });
  window_began_ = std::chrono::steady_clock::now();
  housekeeper_ = std::thread([this] {
    NameThread("housekeeper");
    DoHousekeeping();
  });
}

void KafkaWorkers::DoHousekeeping() {
  auto next = std::chrono::steady_clock::now();
  while (!stopping_) {
    std::unique_lock lock(mutex_);
    stop_.wait_until(lock, next, [this] { return stopping_.load(); });
    lock.unlock();
    if (stopping_) break;
    next = std::chrono::steady_clock::now() + kHousekeepingInterval;
    LookForHanging();
    LookAtRefusals();
    LookAtScales();
    PublishStatus();
    LookAtClock();
  }
}

bool KafkaWorkers::Coordinates(std::size_t* thread) const {
  for (std::size_t t = 0; t < workers_.size(); ++t)
    for (const auto& task : workers_[t].worker->Look().tasks) {
      if (task.slot != workers_[t].coordinator || !task.owned || task.phase != stream::kafka::Phase::kRunning)
        continue;
      *thread = t;
      return true;
    }
  return false;
}

void KafkaWorkers::LookAtClock() {
  std::size_t thread = 0;
  if (clock_ != nullptr) clock_->Look(Coordinates(&thread), WallClock());
}

void KafkaWorkers::LookAtScales() {
  std::size_t thread = 0;
  const bool here = Coordinates(&thread);
  if (!here || coordinates_ || workers_[thread].ledger == nullptr) {
    if (!here) coordinates_ = false;
    return;
  }
  auto reader = clusters_.front()->NewReader(stream::kafka::kShortFetch);
  if (!reader.ok()) return;  // retried a second later
  metrics::LedgerWatch read;
  const Status s =
      stream::kafka::ReadAll(**reader, {wire::kControl, 0}, stream::kafka::kBeginning,
                             stream::kafka::Millis(5000), [&](const stream::kafka::Message& message) {
                               read.Wrote({wire::kControl, 0}, message.value());
                               read.Settled(true);
                               return Status::Ok();
                             });
  if (!s.ok()) return;
  metrics::LedgerCounts counts;
  read.AddTo(&counts);
  for (auto& [project, scales] : counts.scales) {
    workers_[thread].ledger->SeeEpoch(project, std::move(scales.before));
    workers_[thread].ledger->SeeEpoch(project, std::move(scales.now));
  }
  coordinates_ = true;
}

void KafkaWorkers::LookForHanging() {
  const auto now = std::chrono::steady_clock::now();
  const auto patience = std::max<std::chrono::microseconds>(
      kHangsAfter, kHangsAfterTransactions * settings_.kafka.transaction_timeout);
  for (std::size_t t = 0; t < workers_.size(); ++t) {
    const std::uint64_t turns = workers_[t].worker->turns();
    if (turns != last_turns_[t].first) {
      last_turns_[t] = {turns, now};
    } else if (now - last_turns_[t].second > patience) {
      report_("stream thread " + std::to_string(t) +
              " hangs; the process ends, so that other workers take its slots. No data is lost");
      std::fflush(nullptr);
      std::_Exit(70);
    }
  }
}

void KafkaWorkers::LookAtRefusals() {
  for (const Thread& thread : workers_) thread.refusals->MoveTo(&refusals_);
  const auto now = std::chrono::steady_clock::now();
  if (now - window_began_ < settings_.kafka.alarm_window) return;
  window_began_ = now;
  alarms_ = AboveShare(refusals_, settings_.kafka.alarm_refused_percent);
  refusals_.clear();
  for (const auto& [project, refusals] : alarms_) report_(RefusalAlarm(project, refusals));
}

// For `cobblestone tasks`. After a failure the next attempt is a second later.
void KafkaWorkers::PublishStatus() {
  if (status_producer_ == nullptr) {
    auto producer = clusters_.front()->NewProducer("status." + settings_.kafka.instance);
    if (!producer.ok() || !(*producer)->Init().ok()) return;
    status_producer_ = std::move(*producer);
  }
  const auto publish = [this] {
    if (auto o = status_producer_->Begin(); !o.ok()) return o;
    std::uint64_t ignored = 0;
    for (const Thread& thread : workers_) {
      nlohmann::json status = StatusJson(thread.name, thread.role, thread.worker->Look());
      if (&thread == workers_.data() && !alarms_.empty())
        status["alarms"] = AlarmsJson(alarms_);  // alarms of the process
      auto o = status_producer_->Produce({kStatusTopic, 0}, thread.name, status.dump(), &ignored);
      if (!o.ok()) return o;
    }
    if (auto o = status_producer_->Flush(); !o.ok()) return o;
    return status_producer_->Commit();
  };
  if (!publish().ok()) status_producer_.reset();
}

void KafkaWorkers::Work(std::size_t thread) {
  stream::kafka::Worker& worker = *workers_[thread].worker;
  Status s;
  while (!stopping_ && s.ok()) s = worker.Step(kIdle);
  if (s.ok()) {
    worker.Leave(true);
  } else {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = s;
  }
  ++ended_;
}

Status KafkaWorkers::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

bool KafkaWorkers::Stop(std::chrono::milliseconds at_most) {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  for (const Thread& thread : workers_) thread.worker->Interrupt();
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (ended_ < threads_.size() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (ended_ < threads_.size()) return false;
  if (housekeeper_.joinable()) housekeeper_.join();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
  ended_ = 0;
  return true;
}

std::vector<WorkerLook> KafkaWorkers::LookAtWorkers() const {
  std::vector<WorkerLook> all;
  for (const Thread& thread : workers_)
    all.push_back({.role = thread.role, .coordinator = thread.coordinator, .status = thread.worker->Look()});
  return all;
}

metrics::LedgerCounts KafkaWorkers::ledger_counts() const {
  metrics::LedgerCounts counts;
  for (const Thread& thread : workers_)
    if (thread.ledger != nullptr) thread.ledger->AddTo(&counts);
  // A process that no longer has the coordinator's slot has outdated scales.
  if (!coordinates_) counts.scales.clear();
  return counts;
}

std::vector<stream::kafka::WorkerStatus> KafkaWorkers::Look() const {
  std::vector<stream::kafka::WorkerStatus> all;
  for (const Thread& thread : workers_) all.push_back(thread.worker->Look());
  return all;
}

}  // namespace cobblestone::kafka
