// Topics of a real cluster (topics.h).
#pragma once

#include <memory>

#include "common/base/status.h"
#include "common/stream/kafka/librdkafka/cluster.h"
#include "common/stream/kafka/topics.h"

namespace cobblestone::stream::kafka {

Result<std::unique_ptr<TopicAdmin>> MakeTopicAdmin(const ClusterOptions& options);

}  // namespace cobblestone::stream::kafka
