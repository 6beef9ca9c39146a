// Shared by the files of this folder: owners of librdkafka's objects, and configurations. Not for use outside
// this folder.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>
#include <string>
#include <vector>

#include "common/stream/kafka/librdkafka/cluster.h"

namespace cobblestone::stream::kafka {

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* object) const {
    destroy(object);
  }
};

using Conf = std::unique_ptr<rd_kafka_conf_t, Destroy<rd_kafka_conf_destroy>>;
using PartitionList =
    std::unique_ptr<rd_kafka_topic_partition_list_t, Destroy<rd_kafka_topic_partition_list_destroy>>;
using Queue = std::unique_ptr<rd_kafka_queue_t, Destroy<rd_kafka_queue_destroy>>;
using Topic = std::unique_ptr<rd_kafka_topic_t, Destroy<rd_kafka_topic_destroy>>;
using Error = std::unique_ptr<rd_kafka_error_t, Destroy<rd_kafka_error_destroy>>;

// Destroys the handle on another thread and waits for at most 5 s, because librdkafka sometimes waits for
// ever for one of its own threads (LRK #1640, seen with 2.0.2). Never closes a consumer: closing waits for
// other members and has hung too.
void EndHandle(rd_kafka_t* handle);
struct DestroyHandle {
  void operator()(rd_kafka_t* handle) const { EndHandle(handle); }
};
using Handle = std::unique_ptr<rd_kafka_t, DestroyHandle>;

// Context passed to the callbacks of a handle.
struct Opaque {
  const ClusterOptions* options = nullptr;
  void* self = nullptr;
};

// `ours`, then the operator's properties for all clients and for this kind.
Result<Conf> MakeConf(const ClusterOptions& options, const Properties& ours, const Properties& theirs,
                      Opaque* opaque = nullptr);
// Takes ownership of the configuration.
Result<Handle> MakeHandle(rd_kafka_type_t type, Conf conf);

Result<std::unique_ptr<Producer>> MakeProducer(const ClusterOptions& options,
                                               const std::string& transactional_id);
Result<std::unique_ptr<Reader>> MakeReader(const ClusterOptions& options, Millis fetch_wait);
Result<std::unique_ptr<Group>> MakeGroup(const ClusterOptions& options, const std::string& instance,
                                         GroupListener& listener);

}  // namespace cobblestone::stream::kafka
