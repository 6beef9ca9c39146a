// What is committed in a deployment on Kafka, for those who only look: states that follow (StateFollower), the ledger with
// indexes of our own, and the questions over both. Any number of processes may have one, beside workers or without.
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

namespace cobblestone {

class KafkaView {
 public:
  // Under `view` in the data directory, which is made again where it is lost. `execute`: see FollowerOptions.
  // kRetry: the cluster does not answer. kFenced: another process has the directory.
  static Result<std::unique_ptr<KafkaView>> Open(const settings::RunSettings& settings, bool execute,
                                                 const std::function<void(const std::string&)>& report);
  ~KafkaView();

  [[nodiscard]] view::Questions& questions() { return *questions_; }
  [[nodiscard]] view::State& state() { return *state_; }
  [[nodiscard]] view::Ledger& ledger() { return *ledger_; }
  // The deployment's topics, to be read from a place on; not longer than this lives.
  [[nodiscard]] IndexedLogOf logs();
  // A slot of the deployment, and how much of it is here. Asks the brokers, where the last look is some moments old.
  struct ShownSlot {
    std::string role;  // "pipeline", "coordinator", or the stage that it has alone
    std::uint32_t slot = 0;
    std::uint64_t shown = 0;                   // commits that the state here has executed
    std::optional<std::uint64_t> committed{};  // commits that there are; none: the brokers do not say
  };
  [[nodiscard]] std::vector<ShownSlot> Look();
  // Why it does not follow any more.
  [[nodiscard]] Status failure() const;

 private:
  // Slots of one group: all, or those of a stage.
  struct Role {
    settings::RunSettings settings;
    KafkaDeployment deployment;
    std::unique_ptr<stream::kafka::Cluster> cluster;
    std::unique_ptr<stream::kafka::StateSpace> space;
    stream::kafka::NoListener nobody;
    std::unique_ptr<stream::kafka::Group> onlooker;  // asks what is committed; used under look_
    std::unique_ptr<stream::kafka::StateFollower> follower;
  };
  class State;

  KafkaView() = default;

  std::vector<std::unique_ptr<Role>> roles_;
  std::mutex look_;
  std::vector<ShownSlot> looks_;  // guarded by look_, as is what follows
  std::optional<std::chrono::steady_clock::time_point> looked_at_;
  std::unique_ptr<stream::kafka::TopicAdmin> admin_;
  std::unique_ptr<LedgerIndex> index_;
  std::unique_ptr<view::State> state_;
  std::unique_ptr<view::Ledger> ledger_;
  std::unique_ptr<view::Questions> questions_;
};

}  // namespace cobblestone
