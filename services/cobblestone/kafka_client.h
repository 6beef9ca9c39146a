// A deployment on Kafka as a command reaches it: events go to its topics, exactly once, whoever works on them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/cobblestone/client.h"

namespace cobblestone {

// kRetry: the cluster does not answer. kNotFound, kInvalidArgument: its topics (CheckTopics).
Result<std::unique_ptr<Client>> ConnectKafka(const settings::RunSettings& settings,
                                             const std::function<void(const std::string&)>& report);

}  // namespace cobblestone
