#include "services/cobblestone/kafka_workers.h"

#include "common/base/thread.h"

namespace cobblestone {

namespace {
constexpr stream::kafka::Millis kIdle{100};
}

Result<std::unique_ptr<KafkaWorkers>> KafkaWorkers::Open(const settings::RunSettings& settings,
                                                         std::function<void(const std::string&)> report) {
  std::unique_ptr<KafkaWorkers> made(new KafkaWorkers);
  made->settings_ = settings;
  auto deployment = DeploymentOf(settings, report);
  if (!deployment.ok()) return deployment.status();
  made->deployment_ = std::move(*deployment);
  if (Status s = CheckTopics(made->deployment_); !s.ok()) return s;
  auto cluster = stream::kafka::MakeCluster(made->deployment_.cluster);
  if (!cluster.ok()) return cluster.status();
  made->cluster_ = std::move(*cluster);
  made->background_ = std::make_unique<stream::kafka::BackgroundThread>();
  using std::chrono::duration_cast;
  using stream::kafka::Millis;
  for (std::uint32_t t = 0; t < settings.threads; ++t) {
    const std::string name = settings.kafka.instance + "." + std::to_string(t);
    made->spaces_.push_back(stream::kafka::MakeDirectoryStateSpace(
        settings.data_directory + "/kafka-state/thread-" + std::to_string(t),
        settings.memory.block_cache / settings.threads));
    made->workers_.push_back(std::make_unique<stream::kafka::Worker>(
        stream::kafka::WorkerOptions{
            .instance = name,
            .slots = settings.partitions + 1,
            .task = made->deployment_.task,
            .commit_min = duration_cast<Millis>(settings.kafka.commit_min),
            .commit_max = duration_cast<Millis>(settings.kafka.commit_max),
            .standby = settings.kafka.standby == settings::KafkaStandby::kHot ? stream::kafka::Standby::kHot
                                                                              : stream::kafka::Standby::kNone,
            .standby_of = settings.threads,
            .standby_at = t,
            .report = report},
        *made->cluster_, *made->spaces_.back(), *made->background_, MakeSlotFactory(settings)));
  }
  return made;
}

KafkaWorkers::~KafkaWorkers() { (void)Stop(std::chrono::seconds(30)); }

void KafkaWorkers::Start() {
  for (std::size_t t = 0; t < workers_.size(); ++t)
    threads_.emplace_back([this, t] {
      NameThread("slots");
      Work(t);
    });
}

void KafkaWorkers::Work(std::size_t thread) {
  stream::kafka::Worker& worker = *workers_[thread];
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
  stopping_ = true;
  for (const auto& worker : workers_) worker->Interrupt();
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (ended_ < threads_.size() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (ended_ < threads_.size()) return false;
  for (std::thread& t : threads_) t.join();
  threads_.clear();
  ended_ = 0;
  return true;
}

std::vector<stream::kafka::WorkerStatus> KafkaWorkers::Look() const {
  std::vector<stream::kafka::WorkerStatus> all;
  for (const auto& worker : workers_) all.push_back(worker->Look());
  return all;
}

}  // namespace cobblestone
