// The committed state of a deployment on Kafka, for readers: states that follow the topics (StateFollower), the ledger
// with indexes of its own, and the questions over both. Any number of processes may have a view, with or without
// workers.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "common/stream/kafka/follower.h"
#include "common/stream/kafka/topics.h"
#include "services/kafka/kafka_deployment.h"
#include "services/ledger/ledger_index.h"
#include "services/view/questions.h"

namespace cobblestone::kafka {

class KafkaView {
 public:
  // Files are under `view` in the data directory; a lost directory is rebuilt. `execute`: see FollowerOptions.
  // kRetry: the cluster does not answer. kFenced: another process has the directory.
  static Result<std::unique_ptr<KafkaView>> Open(const settings::RunSettings& settings, bool execute,
                                                 const std::function<void(const std::string&)>& report);
  ~KafkaView();

  [[nodiscard]] view::Questions& questions() { return *questions_; }
  [[nodiscard]] view::State& state() { return *state_; }
  [[nodiscard]] view::Ledger& ledger() { return *ledger_; }
  // The deployment's topics, for reading from an offset on. The view must outlive the result.
  [[nodiscard]] ledger::IndexedLogOf logs();
  // A slot of the deployment, and the commits of it that this view shows. Look() queries the brokers if the
  // last result is older than a few seconds.
  struct ShownSlot {
    std::string role;  // "pipeline", "coordinator", or the only stage of the slot
    std::uint32_t slot = 0;
    std::uint64_t shown = 0;                   // commits that the state of this view has executed
    std::optional<std::uint64_t> committed{};  // commits of the slot; none: the brokers do not report them
  };
  [[nodiscard]] std::vector<ShownSlot> Look();
  // Reason why the view has stopped following; Ok while it follows.
  [[nodiscard]] Status failure() const;

 private:
  // Slots of one group: all slots, or those of one stage.
  struct Role {
    settings::RunSettings settings;
    KafkaDeployment deployment;
    std::unique_ptr<stream::kafka::Cluster> cluster;
    std::unique_ptr<stream::kafka::StateSpace> space;
    stream::kafka::NoListener nobody;
    std::unique_ptr<stream::kafka::Group> observer;  // queries committed offsets; used under look_
    std::unique_ptr<stream::kafka::StateFollower> follower;
  };
  class State;

  KafkaView() = default;

  std::vector<std::unique_ptr<Role>> roles_;
  std::mutex look_;
  std::vector<ShownSlot> looks_;  // guarded by look_, as is looked_at_
  std::optional<std::chrono::steady_clock::time_point> looked_at_;
  std::unique_ptr<stream::kafka::TopicAdmin> admin_;
  std::unique_ptr<ledger::LedgerIndex> index_;
  std::unique_ptr<view::State> state_;
  std::unique_ptr<view::Ledger> ledger_;
  std::unique_ptr<view::Questions> questions_;
};

}  // namespace cobblestone::kafka
