// Access of a command to a deployment on Kafka: appends events to the topics exactly once, whichever workers process
// them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/access/client.h"

namespace cobblestone::access {

// Threads: any, several at once. Appends to one source keep their order. Appends to other sources do not wait for
// them, not even while a block of broadcasts waits until everything before it is processed. With `order: lockstep`
// all sources take turns.
class KafkaClient : public Client {
 public:
  // Position of a source whose publisher is open in this process. Does not block; a moment old during an append.
  virtual std::optional<intake::ProducerState> Published(const std::string& source) = 0;
};

// kRetry: the cluster does not answer. kNotFound, kInvalidArgument: errors of the topics (CheckTopics).
Result<std::unique_ptr<KafkaClient>> ConnectKafka(const settings::RunSettings& settings,
                                                  const std::function<void(const std::string&)>& report);

}  // namespace cobblestone::access
