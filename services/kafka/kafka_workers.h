// The stream threads of one process on Kafka.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "common/stream/kafka/worker.h"
#include "services/kafka/kafka_clock.h"
#include "services/kafka/kafka_deployment.h"
#include "services/kafka/refusal_watch.h"
#include "services/metrics/ledger_watch.h"

namespace cobblestone {

struct KafkaWorkersOptions {
  std::function<void(const std::string&)> report;
  // Counts what slots write: for whoever gathers metrics (kafka_metrics.h).
  bool watched = false;
  bool accept_time_jump = false;  // `ticks: wall`: TickerOptions::accept_jump
};

// A stream thread, as of its last look at itself.
struct WorkerLook {
  std::string role;                            // the stage that its slots have alone; empty: all of them
  std::optional<std::uint32_t> coordinator{};  // which of its slots
  stream::kafka::WorkerStatus status;

  // "pipeline", "coordinator", or the stage.
  [[nodiscard]] std::string RoleOf(std::uint32_t slot) const {
    if (slot == coordinator) return "coordinator";
    return role.empty() ? "pipeline" : role;
  }
};

class KafkaWorkers {
 public:
  // kNotFound, kInvalidArgument: topics (CheckTopics). Nothing runs yet.
  static Result<std::unique_ptr<KafkaWorkers>> Open(const settings::RunSettings& settings,
                                                    const KafkaWorkersOptions& options);
  ~KafkaWorkers();

  void Start();
  // Ok while running; else why a thread has ended. What is left to do then is to end the process.
  [[nodiscard]] Status failure() const;
  // Commits what is open and gives the slots back. False: it was not done within the time.
  bool Stop(std::chrono::milliseconds at_most);

  [[nodiscard]] std::vector<stream::kafka::WorkerStatus> Look() const;
  [[nodiscard]] std::vector<WorkerLook> LookAtWorkers() const;
  // What their slots have written since they run here (KafkaWorkersOptions::watched), and, where the coordinator is one of
  // them, the scales in force.
  [[nodiscard]] metrics::LedgerCounts ledger_counts() const;
  [[nodiscard]] const settings::RunSettings& settings() const { return settings_; }

 private:
  KafkaWorkers() = default;
  void Work(std::size_t thread);
  // A thread of its own: says on the cluster how the stream threads are doing, moves time, and ends the process when one of
  // them hangs.
  void KeepHouse();
  void TellStatus();
  void LookAtClock();
  void LookForHanging();
  void LookAtRefusals();
  // Reads the epochs that were published before the coordinator came here.
  void LookAtScales();
  // A slot of the coordinator runs here; which thread has it.
  [[nodiscard]] bool Coordinates(std::size_t* thread) const;

  struct Thread {
    std::string name;
    std::string role;
    std::optional<std::uint32_t> coordinator{};  // which of its slots
    std::unique_ptr<RefusalWatch> refusals{};
    std::unique_ptr<metrics::LedgerWatch> ledger{};  // null: not watched
    std::unique_ptr<stream::kafka::StateSpace> space{};
    std::unique_ptr<stream::kafka::Worker> worker{};
  };

  settings::RunSettings settings_;
  std::vector<std::unique_ptr<stream::kafka::Cluster>> clusters_;  // by role
  std::unique_ptr<stream::kafka::BackgroundThread> background_;
  std::vector<Thread> workers_;
  std::vector<std::thread> threads_;
  std::vector<std::pair<std::uint64_t, std::chrono::steady_clock::time_point>> last_turns_;
  std::thread housekeeper_;
  // The housekeeper's: how much was refused in the window under way, and, where it was too much, in the last one.
  RefusalsByProject refusals_;
  RefusalsByProject alarms_;
  std::chrono::steady_clock::time_point window_began_;
  std::unique_ptr<stream::kafka::Producer> status_producer_;
  std::unique_ptr<KafkaClock> clock_;     // null: events move time
  std::atomic<bool> coordinates_{false};  // and has read the scales
  std::function<void(const std::string&)> report_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> ended_{0};
  mutable std::mutex mutex_;
  std::condition_variable stop_;
  Status failure_;  // guarded by mutex_
};

}  // namespace cobblestone
