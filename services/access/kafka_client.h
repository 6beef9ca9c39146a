// A deployment on Kafka as a command reaches it: events go to its topics, exactly once, whoever works on them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/access/client.h"

namespace cobblestone {

// Threads: any, several at once. Appends to one source follow each other in the order in which they came; those to other sources
// do not wait for them, not even while a block of broadcasts waits until all before it has been processed. With
// `order: lockstep` all sources take turns.
class KafkaClient : public Client {
 public:
  // How far a source has come whose publisher is open here. Waits for nothing; a moment old while a block is being appended.
  virtual std::optional<ProducerState> Published(const std::string& source) = 0;
};

// kRetry: the cluster does not answer. kNotFound, kInvalidArgument: its topics (CheckTopics).
Result<std::unique_ptr<KafkaClient>> ConnectKafka(const settings::RunSettings& settings,
                                                  const std::function<void(const std::string&)>& report);

}  // namespace cobblestone
