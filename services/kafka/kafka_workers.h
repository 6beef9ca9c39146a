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

namespace cobblestone::kafka {

struct KafkaWorkersOptions {
  std::function<void(const std::string&)> report;
  // Counts the output of slots, for metrics (kafka_metrics.h).
  bool watched = false;
  bool accept_time_jump = false;  // `ticks: wall`: TickerOptions::accept_jump
};

// A stream thread, as of its last report.
struct WorkerLook {
  std::string role;                            // the only stage of its slots; empty: all stages
  std::optional<std::uint32_t> coordinator{};  // the coordinator among its slots
  stream::kafka::WorkerStatus status;

  // "pipeline", "coordinator", or the stage.
  [[nodiscard]] std::string RoleOf(std::uint32_t slot) const {
    if (slot == coordinator) return "coordinator";
    return role.empty() ? "pipeline" : role;
  }
};

class KafkaWorkers {
 public:
  // Starts nothing. kNotFound, kInvalidArgument: errors of the topics (CheckTopics).
  static Result<std::unique_ptr<KafkaWorkers>> Open(const settings::RunSettings& settings,
                                                    const KafkaWorkersOptions& options);
  ~KafkaWorkers();

  void Start();
  // Ok while running, else the reason why a thread has ended. The caller should then end the process.
  [[nodiscard]] Status failure() const;
  // Commits open work and gives the slots back. False: not finished within `at_most`.
  bool Stop(std::chrono::milliseconds at_most);

  [[nodiscard]] std::vector<stream::kafka::WorkerStatus> Look() const;
  [[nodiscard]] std::vector<WorkerLook> LookAtWorkers() const;
  // Output of the slots since they run in this process (KafkaWorkersOptions::watched); with the scales in force if
  // the coordinator is one of them.
  [[nodiscard]] metrics::LedgerCounts ledger_counts() const;
  [[nodiscard]] const settings::RunSettings& settings() const { return settings_; }

 private:
  KafkaWorkers() = default;
  void Work(std::size_t thread);
  // Runs on its own thread: publishes the status of the stream threads, appends ticks, and ends the process if a
  // stream thread hangs.
  void DoHousekeeping();
  void PublishStatus();
  void LookAtClock();
  void LookForHanging();
  void LookAtRefusals();
  // Reads the epochs that were published before this process received the coordinator's slot.
  void LookAtScales();
  // True if a slot of the coordinator runs in this process; *thread is its thread.
  [[nodiscard]] bool Coordinates(std::size_t* thread) const;

  struct Thread {
    std::string name;
    std::string role;
    std::optional<std::uint32_t> coordinator{};  // the coordinator among its slots
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
  // Of the housekeeping thread: refusals of the current window, and those of the last window that were above the
  // limit.
  RefusalsByProject refusals_;
  RefusalsByProject alarms_;
  std::chrono::steady_clock::time_point window_began_;
  std::unique_ptr<stream::kafka::Producer> status_producer_;
  std::unique_ptr<KafkaClock> clock_;     // null: events advance event time
  std::atomic<bool> coordinates_{false};  // and the scales have been read
  std::function<void(const std::string&)> report_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> ended_{0};
  mutable std::mutex mutex_;
  std::condition_variable stop_;
  Status failure_;  // guarded by mutex_
};

}  // namespace cobblestone::kafka
