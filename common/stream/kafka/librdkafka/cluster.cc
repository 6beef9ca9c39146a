#include "common/stream/kafka/librdkafka/cluster.h"

#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "common/stream/kafka/librdkafka/handles.h"

namespace cobblestone::stream::kafka {

namespace {

class RdkafkaCluster final : public Cluster {
 public:
  explicit RdkafkaCluster(const ClusterOptions& options) : options_(options) {}

  Result<std::unique_ptr<Producer>> NewProducer(const std::string& transactional_id) override {
    return MakeProducer(options_, options_.prefix + "." + transactional_id);
  }
  Result<std::unique_ptr<Reader>> NewReader(Millis fetch_wait) override {
    return MakeReader(options_, fetch_wait);
  }
  Result<std::unique_ptr<Group>> NewGroup(const std::string& instance, GroupListener& listener) override {
    return MakeGroup(options_, instance, listener);
  }
  Time Now() override { return std::chrono::steady_clock::now(); }

 private:
  const ClusterOptions options_;
};

// Messages of the client library: reports levels 0 (emergency) to 4 (warning) of 7 (debug) to the operator.
void OnLog(const rd_kafka_t* handle, int level, const char* facility, const char* text) {
  constexpr int kWarning = 4;
  if (level > kWarning) return;
  const auto* opaque = static_cast<const Opaque*>(rd_kafka_opaque(handle));
  if (opaque != nullptr && opaque->options->report)
    opaque->options->report(std::string("kafka client, ") + facility + ": " + text);
}

}  // namespace

std::string TopicName(const ClusterOptions& options, TopicIndex topic) {
  return options.prefix + "." + options.topics[topic].name;
}

Result<Conf> MakeConf(const ClusterOptions& options, const Properties& ours, const Properties& theirs,
                      Opaque* opaque) {
  Conf conf(rd_kafka_conf_new());
  char why[512];
  for (const Properties* properties : {&ours, &options.connection, &theirs}) {
    for (const auto& [name, value] : *properties) {
      if (rd_kafka_conf_set(conf.get(), name.c_str(), value.c_str(), why, sizeof why) != RD_KAFKA_CONF_OK)
        return Status::InvalidArgument("the Kafka client rejects the option " + name + ": " + why);
    }
  }
  rd_kafka_conf_set_log_cb(conf.get(), OnLog);
  rd_kafka_conf_set_opaque(conf.get(), opaque);
  return conf;
}

void EndHandle(rd_kafka_t* handle) {
  constexpr std::chrono::seconds kAtMost{5};
  rd_kafka_set_log_level(handle, 0);  // the receiver of log messages may no longer exist
  const auto ended = std::make_shared<std::promise<void>>();
  auto wait = ended->get_future();
  std::thread([handle, ended] {
    rd_kafka_destroy_flags(handle, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    ended->set_value();
  }).detach();
  (void)wait.wait_for(kAtMost);
}

Result<Handle> MakeHandle(rd_kafka_type_t type, Conf conf) {
  char why[512];
  rd_kafka_t* handle = rd_kafka_new(type, conf.get(), why, sizeof why);
  if (handle == nullptr) return Status::InvalidArgument(std::string("the Kafka client cannot start: ") + why);
  (void)conf.release();  // owned by the handle
  return Handle(handle);
}

Result<std::unique_ptr<Cluster>> MakeCluster(const ClusterOptions& options) {
  for (const Properties* properties : {&options.producer, &options.consumer}) {
    auto conf = MakeConf(options, {}, *properties);
    if (!conf.ok()) return conf.status();
  }
  return std::unique_ptr<Cluster>(std::make_unique<RdkafkaCluster>(options));
}

}  // namespace cobblestone::stream::kafka
