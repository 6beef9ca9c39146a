// Recovery of a slot on Kafka that stopped with an error: rebuilds its state on this machine, or commits
// offsets from the journal that the consumer group has lost.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "common/stream/kafka/background.h"
#include "services/kafka/kafka_deployment.h"

namespace cobblestone::kafka {

struct RebuiltState {
  // Commits that the state has executed; 0: nothing is committed, and no state exists.
  std::uint64_t sequence = 0;
  std::uint64_t rows = 0;        // rows restored from the checkpoint
  std::uint64_t reexecuted = 0;  // commits re-executed after the checkpoint, each with an equal fingerprint
};

struct JournalTaken {
  // kNothing: the journal is empty. kCommitted: the group has the offsets already. kTaken: offsets committed
  // now.
  enum class What : std::uint8_t { kNothing, kCommitted, kTaken };
  What what = What::kNothing;
  std::uint64_t sequence = 0;  // of the last commit
};

class Rebuild {
 public:
  // kNotFound, kInvalidArgument: errors of the topics (CheckTopics). `report`: messages for the operator.
  static Result<std::unique_ptr<Rebuild>> Open(const settings::RunSettings& settings,
                                               std::function<void(const std::string&)> report);

  // Rebuilds the state of the slot on this machine, for the worker that is started next. The new state
  // replaces the old one only when it is complete. kFenced: a worker is using the old state. kCorrupted: a
  // re-executed commit has another fingerprint.
  Result<RebuiltState> State(std::uint32_t slot,
                             const std::function<void(const stream::kafka::TaskStatus&)>& progress);

  // Commits the offsets at the ends of the journals for a group that has lost its offsets; all of them or none.
  // kRetry: the group has workers.
  Result<std::vector<JournalTaken>> TakeJournals(const std::vector<std::uint32_t>& slots);

 private:
  Rebuild() = default;
  // Waits until no open transaction has written into the records that this object reads.
  Status AwaitDecided(std::uint32_t slot);

  settings::RunSettings settings_;
  KafkaDeployment deployment_;
  std::unique_ptr<stream::kafka::Cluster> cluster_;
  std::unique_ptr<stream::kafka::TopicAdmin> admin_;
  stream::kafka::BackgroundThread background_;
  std::function<void(const std::string&)> report_;
};

}  // namespace cobblestone::kafka
