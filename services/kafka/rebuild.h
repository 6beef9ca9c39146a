// An operator's ways out where a slot on Kafka stops by itself: its state on this machine is made again, or what the group
// has forgotten is found in the journal.
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

namespace cobblestone {

struct RebuiltState {
  std::uint64_t sequence =
      0;  // commits that the state has executed; 0: nothing is committed, there is no state now
  std::uint64_t rows = 0;        // that came from the checkpoint
  std::uint64_t reexecuted = 0;  // commits behind it, each with an equal fingerprint
};

struct JournalTaken {
  enum class What : std::uint8_t {
    kNothing,
    kCommitted,
    kTaken
  };  // nothing was ever written; the group knows it
  What what = What::kNothing;
  std::uint64_t sequence = 0;  // of the last commit
};

class Rebuild {
 public:
  // kNotFound, kInvalidArgument: topics (CheckTopics). `report`: for people.
  static Result<std::unique_ptr<Rebuild>> Open(const settings::RunSettings& settings,
                                               std::function<void(const std::string&)> report);

  // State of the slot on this machine, for the worker that is started next. It takes the place of what is there only when
  // it is whole. kFenced: a worker is using that. kCorrupted: a commit, executed again, gives another fingerprint.
  Result<RebuiltState> State(std::uint32_t slot,
                             const std::function<void(const stream::kafka::TaskStatus&)>& progress);

  // Commits the ends of the journals for a group that has forgotten them; all of them or none. kRetry: workers are in the
  // group.
  Result<std::vector<JournalTaken>> TakeJournals(const std::vector<std::uint32_t>& slots);

 private:
  Rebuild() = default;
  // Until no transaction is open that has written into what is read here.
  Status AwaitDecided(std::uint32_t slot);

  settings::RunSettings settings_;
  KafkaDeployment deployment_;
  std::unique_ptr<stream::kafka::Cluster> cluster_;
  std::unique_ptr<stream::kafka::TopicAdmin> admin_;
  stream::kafka::BackgroundThread background_;
  std::function<void(const std::string&)> report_;
};

}  // namespace cobblestone
