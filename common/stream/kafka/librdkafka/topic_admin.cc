#include <algorithm>
#include <mutex>
#include <thread>
#include <tuple>

#include "common/stream/kafka/librdkafka/handles.h"
#include "common/stream/kafka/librdkafka/topic_admin.h"

namespace cobblestone::stream::kafka {

namespace {

constexpr int kMillis = 30000;
constexpr int kFirstLookMillis = 1000;
constexpr int kLongestLookMillis = 8000;
constexpr int kAskMillis =
    10000;  // librdkafka 2.0.2 was seen to wait for a controller without looking for one
constexpr int kMaxTries = 4;
constexpr int kScramWorksFrom = 0x020601ff;  // for Kafka from 3.8.1 on, which checks the nonce

using Event = std::unique_ptr<rd_kafka_event_t, Destroy<rd_kafka_event_destroy>>;
using AdminOptions = std::unique_ptr<rd_kafka_AdminOptions_t, Destroy<rd_kafka_AdminOptions_destroy>>;
using NewTopic = std::unique_ptr<rd_kafka_NewTopic_t, Destroy<rd_kafka_NewTopic_destroy>>;
using ConfigResource = std::unique_ptr<rd_kafka_ConfigResource_t, Destroy<rd_kafka_ConfigResource_destroy>>;

class RdkafkaTopicAdmin final : public TopicAdmin {
 public:
  explicit RdkafkaTopicAdmin(const ClusterOptions& options) : options_(options) {}

  Status Open() {
    auto conf = MakeConf(options_, {{"client.id", options_.prefix + ".admin"}}, {}, &opaque_);
    if (!conf.ok()) return conf.status();
    rd_kafka_conf_set_error_cb(conf->get(), OnError);
    auto handle = MakeHandle(RD_KAFKA_PRODUCER, std::move(*conf));
    if (!handle.ok()) return handle.status();
    handle_ = std::move(*handle);
    queue_.reset(rd_kafka_queue_new(handle_.get()));
    return Status::Ok();
  }

  Result<std::vector<TopicDrift>> Check(const std::vector<TopicPlan>& plan, int replication) override {
    auto known = Metadata();
    if (!known.ok()) return known.status();
    std::vector<TopicDrift> drifts;
    std::vector<const TopicPlan*> there;
    for (const TopicPlan& topic : plan) {
      const std::string name = Name(topic);
      const auto found = known->find(name);
      if (found == known->end()) {
        drifts.push_back({.topic = name, .what = "is missing", .missing = true});
        continue;
      }
      if (found->second.partitions != topic.spec.partitions)
        drifts.push_back({.topic = name,
                          .what = "has " + std::to_string(found->second.partitions) + " partitions, but " +
                                  std::to_string(topic.spec.partitions) + " are configured"});
      if (replication != 0 && found->second.replication != replication)
        drifts.push_back({.topic = name,
                          .what = "has " + std::to_string(found->second.replication) + " replicas, but " +
                                  std::to_string(replication) + " are configured"});
      there.push_back(&topic);
    }
    if (Status s = CheckSettings(there, &drifts); !s.ok()) return s;
    return drifts;
  }

  Result<std::vector<std::string>> Create(const std::vector<TopicPlan>& plan, int replication) override {
    auto known = Metadata();
    if (!known.ok()) return known.status();
    std::vector<NewTopic> owned;
    std::vector<rd_kafka_NewTopic_t*> wanted;
    char why[512];
    for (const TopicPlan& topic : plan) {
      const std::string name = Name(topic);
      if (known->count(name) > 0) continue;
      owned.emplace_back(rd_kafka_NewTopic_new(name.c_str(), static_cast<int>(topic.spec.partitions),
                                               replication == 0 ? -1 : replication, why, sizeof why));
      if (owned.back() == nullptr) return Status::InvalidArgument("topic " + name + ": " + why);
      for (const auto& [key, value] : topic.settings)
        rd_kafka_NewTopic_set_config(owned.back().get(), key.c_str(), value.c_str());
      wanted.push_back(owned.back().get());
    }
    if (wanted.empty()) return std::vector<std::string>();
    const AdminOptions options(rd_kafka_AdminOptions_new(handle_.get(), RD_KAFKA_ADMIN_OP_CREATETOPICS));
    rd_kafka_AdminOptions_set_operation_timeout(options.get(), kMillis, why, sizeof why);
    rd_kafka_CreateTopics(handle_.get(), wanted.data(), wanted.size(), options.get(), queue_.get());
    const Event event(rd_kafka_queue_poll(queue_.get(), 2 * kMillis));
    if (Status s = StatusOf(event.get(), "cannot create topics"); !s.ok()) return s;
    std::size_t count = 0;
    const rd_kafka_topic_result_t** results =
        rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
    std::vector<std::string> made;
    for (std::size_t i = 0; i < count; ++i) {
      const rd_kafka_resp_err_t error = rd_kafka_topic_result_error(results[i]);
      if (error == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) continue;  // another process has created it
      if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
        const char* text = rd_kafka_topic_result_error_string(results[i]);
        return Status::Fatal(std::string("topic ") + rd_kafka_topic_result_name(results[i]) +
                             " cannot be created: " + (text != nullptr ? text : rd_kafka_err2str(error)));
      }
      made.emplace_back(rd_kafka_topic_result_name(results[i]));
    }
    if (Status s = AwaitAll(plan); !s.ok()) return s;
    return made;
  }

  Result<std::string> ClusterId() override {
    // librdkafka returns at once, without an id, if its metadata came over a connection on which a busy broker had not
    // answered the request for API versions in time. The next metadata have the id.
    const auto deadline = std::chrono::steady_clock::now() + Millis(kMillis);
    char* id = nullptr;
    while ((id = rd_kafka_clusterid(handle_.get(), kFirstLookMillis)) == nullptr) {
      if (std::chrono::steady_clock::now() > deadline) return Unreachable("no cluster id");
      const rd_kafka_metadata_t* metadata = nullptr;
      if (rd_kafka_metadata(handle_.get(), 0, nullptr, &metadata, kLongestLookMillis) ==
          RD_KAFKA_RESP_ERR_NO_ERROR)
        rd_kafka_metadata_destroy(metadata);
      if (refusal_ != 0) return Refused();
      rd_kafka_poll(handle_.get(), 100);
    }
    std::string text(id);
    rd_kafka_mem_free(handle_.get(), id);
    return text;
  }

  Result<std::vector<std::string>> Members() override {
    const char* group = options_.group.c_str();
    rd_kafka_DescribeConsumerGroups(handle_.get(), &group, 1, nullptr, queue_.get());
    const Event event(rd_kafka_queue_poll(queue_.get(), 2 * kMillis));
    if (Status s = StatusOf(event.get(), "the members of the group " + options_.group + " cannot be read");
        !s.ok())
      return s;
    std::size_t count = 0;
    const rd_kafka_ConsumerGroupDescription_t** groups = rd_kafka_DescribeConsumerGroups_result_groups(
        rd_kafka_event_DescribeConsumerGroups_result(event.get()), &count);
    std::vector<std::string> members;
    for (std::size_t g = 0; g < count; ++g) {
      const rd_kafka_error_t* error = rd_kafka_ConsumerGroupDescription_error(groups[g]);
      if (error != nullptr && rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND)
        return Status::Retry("the members of the group " + options_.group +
                             " cannot be read: " + rd_kafka_error_string(error));
      for (std::size_t m = 0; m < rd_kafka_ConsumerGroupDescription_member_count(groups[g]); ++m)
        members.emplace_back(
            rd_kafka_MemberDescription_client_id(rd_kafka_ConsumerGroupDescription_member(groups[g], m)));
    }
    return members;
  }

  Result<Ends> EndsOf(TopicPartition where) override {
    Ends ends;
    for (auto& [handle, isolation, end] : {std::tuple{&stable_, "read_committed", &ends.stable},
                                           std::tuple{&all_, "read_uncommitted", &ends.all}}) {
      auto asks = Asking(handle, isolation);
      if (!asks.ok()) return asks.status();
      const std::string name = TopicName(options_, where.topic);
      std::int64_t low = 0;
      std::int64_t high = 0;
      const auto deadline = std::chrono::steady_clock::now() + Millis(kMillis);
      for (;;) {
        const rd_kafka_resp_err_t error = rd_kafka_query_watermark_offsets(
            *asks, name.c_str(), static_cast<std::int32_t>(where.partition), &low, &high, kAskMillis);
        if (error == RD_KAFKA_RESP_ERR_NO_ERROR) break;
        // The new leader of a topic that was just created does not answer at once.
        if (std::chrono::steady_clock::now() > deadline)
          return Unreachable("the end of " + name + ", partition " + std::to_string(where.partition) + ": " +
                             rd_kafka_err2str(error));
        std::this_thread::sleep_for(Millis(50));
      }
      *end = static_cast<std::uint64_t>(high);
    }
    return ends;
  }

  Result<std::vector<Ends>> EndsOfAll(const std::vector<TopicPartition>& where) override {
    std::vector<Ends> ends(where.size());
    for (auto& [handle, isolation, end] : {std::tuple{&stable_, "read_committed", &Ends::stable},
                                           std::tuple{&all_, "read_uncommitted", &Ends::all}}) {
      auto asks = Asking(handle, isolation);
      if (!asks.ok()) return asks.status();
      const PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(where.size())));
      for (const TopicPartition& one : where)
        rd_kafka_topic_partition_list_add(list.get(), TopicName(options_, one.topic).c_str(),
                                          static_cast<std::int32_t>(one.partition))
            ->offset = RD_KAFKA_OFFSET_END;
      rd_kafka_resp_err_t error = rd_kafka_offsets_for_times(*asks, list.get(), kAskMillis);
      for (std::size_t i = 0; i < where.size() && error == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
        error = list->elems[i].err;
        ends[i].*end = static_cast<std::uint64_t>(list->elems[i].offset);
      }
      if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
        return Unreachable(std::string("the ends of the partitions: ") + rd_kafka_err2str(error));
    }
    return ends;
  }

 private:
  struct Known {
    std::uint32_t partitions = 0;
    int replication = 0;
    bool led = true;  // each partition has a leader
  };

  [[nodiscard]] std::string Name(const TopicPlan& topic) const {
    return options_.prefix + "." + topic.spec.name;
  }

  // One of several threads creates the handle; it exists until the end, and any thread may use it.
  Result<rd_kafka_t*> Asking(Handle* handle, const char* isolation) {
    const std::lock_guard<std::mutex> lock(making_);
    if (*handle == nullptr) {
      auto conf =
          MakeConf(options_, {{"client.id", options_.prefix + ".admin"}, {"isolation.level", isolation}},
                   options_.consumer);
      if (!conf.ok()) return conf.status();
      auto made = MakeHandle(RD_KAFKA_CONSUMER, std::move(*conf));
      if (!made.ok()) return made.status();
      *handle = std::move(*made);
    }
    return handle->get();
  }

  [[nodiscard]] std::string Connection(const char* property) const {
    const auto found = options_.connection.find(property);
    return found == options_.connection.end() ? std::string() : found->second;
  }

  [[nodiscard]] Status Unreachable(const std::string& why) const {
    return Status::Retry("the Kafka cluster at " + Connection("bootstrap.servers") +
                         " does not answer: " + why + (trouble_.empty() ? "" : " (" + trouble_ + ")") +
                         ". Check that the cluster is running, and check kafka.bootstrap and kafka.security");
  }

  // The cluster answers, and either side rejects the other's credentials or certificate.
  [[nodiscard]] Status Refused() const {
    const std::string who = "the Kafka cluster at " + Connection("bootstrap.servers");
    if (refusal_ == RD_KAFKA_RESP_ERR__SSL)
      return Status::InvalidArgument(
          "no TLS connection to " + who + ": " + trouble_ +
          ". kafka.ca_file must contain the certificate authority of the brokers, and "
          "kafka.certificate_file the client certificate if the brokers require one");
    std::string advice =
        ". Check kafka.user, kafka.mechanism, and the password in kafka.password_file or "
        "kafka.password_variable";
    if (Connection("sasl.mechanism").starts_with("SCRAM") && rd_kafka_version() < kScramWorksFrom)
      advice += std::string("; Kafka 3.8.1 and newer reject SCRAM of the Kafka client ") +
                rd_kafka_version_str() +
                " with any password: use PLAIN with TLS, a certificate, or client 2.6.1 or newer";
    return Status::InvalidArgument(who + " rejects user " + Connection("sasl.username") + ": " + trouble_ +
                                   advice);
  }

  // Called within rd_kafka_poll().
  static void OnError(rd_kafka_t*, int error, const char* reason, void* opaque) {
    auto* self = static_cast<RdkafkaTopicAdmin*>(static_cast<Opaque*>(opaque)->self);
    const bool refused = error == RD_KAFKA_RESP_ERR__AUTHENTICATION || error == RD_KAFKA_RESP_ERR__SSL;
    if (!refused && (self->refusal_ != 0 || error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)) return;
    if (refused) self->refusal_ = error;
    self->trouble_ = reason;
  }

  Result<std::map<std::string, Known>> Metadata() {
    const rd_kafka_metadata_t* metadata = nullptr;
    const auto deadline = std::chrono::steady_clock::now() + Millis(kMillis);
    refusal_ = 0;
    for (int patience = kFirstLookMillis;; patience = std::min(2 * patience, kLongestLookMillis)) {
      const rd_kafka_resp_err_t error = rd_kafka_metadata(handle_.get(), 1, nullptr, &metadata, patience);
      if (error == RD_KAFKA_RESP_ERR_NO_ERROR) break;
      // Poll once more: a broker that shuts down may break off a handshake.
      if (refusal_ != 0) return Refused();
      rd_kafka_poll(handle_.get(), 100);
      if (std::chrono::steady_clock::now() > deadline) return Unreachable(rd_kafka_err2str(error));
    }
    std::map<std::string, Known> known;
    for (int t = 0; t < metadata->topic_cnt; ++t) {
      const rd_kafka_metadata_topic_t& topic = metadata->topics[t];
      if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
      Known& one = known[topic.topic];
      one.partitions = static_cast<std::uint32_t>(topic.partition_cnt);
      if (topic.partition_cnt > 0) one.replication = topic.partitions[0].replica_cnt;
      for (int p = 0; p < topic.partition_cnt; ++p) one.led = one.led && topic.partitions[p].leader >= 0;
    }
    rd_kafka_metadata_destroy(metadata);
    return known;
  }

  // Brokers receive metadata of new topics with a short delay; a broker that creates many topics on a busy disk
  // may need minutes. The wait continues as long as more topics appear.
  Status AwaitAll(const std::vector<TopicPlan>& plan) {
    auto deadline = std::chrono::steady_clock::now() + Millis(kMillis);
    for (std::size_t fewest = plan.size() + 1;;) {
      auto known = Metadata();
      if (!known.ok()) return known.status();
      std::vector<std::string> missing;
      for (const TopicPlan& topic : plan) {
        const auto found = known->find(Name(topic));
        if (found == known->end() || found->second.partitions == 0 || !found->second.led)
          missing.push_back(Name(topic));
      }
      if (missing.empty()) return Status::Ok();
      const auto now = std::chrono::steady_clock::now();
      if (missing.size() < fewest) {
        fewest = missing.size();
        deadline = now + 2 * Millis(kMillis);
      }
      if (now > deadline)
        return Unreachable(std::to_string(missing.size()) + " created topics do not appear, or have " +
                           "no leader, including " + missing.front());
      std::this_thread::sleep_for(Millis(50));
    }
  }

  Status CheckSettings(const std::vector<const TopicPlan*>& topics, std::vector<TopicDrift>* drifts) {
    if (topics.empty()) return Status::Ok();
    std::vector<ConfigResource> owned;
    std::vector<rd_kafka_ConfigResource_t*> wanted;
    for (const TopicPlan* topic : topics) {
      owned.emplace_back(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, Name(*topic).c_str()));
      wanted.push_back(owned.back().get());
    }
    const AdminOptions options(rd_kafka_AdminOptions_new(handle_.get(), RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS));
    char why[512];
    rd_kafka_AdminOptions_set_request_timeout(options.get(), kAskMillis, why, sizeof why);
    Event event;
    Status asked;
    for (int tries = 0; tries < kMaxTries; ++tries) {
      rd_kafka_DescribeConfigs(handle_.get(), wanted.data(), wanted.size(), options.get(), queue_.get());
      event.reset(rd_kafka_queue_poll(queue_.get(), 2 * kMillis));
      asked = StatusOf(event.get(), "cannot read settings of topics");
      if (asked.ok()) break;
    }
    if (!asked.ok()) return asked;
    std::size_t count = 0;
    const rd_kafka_ConfigResource_t** resources =
        rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event.get()), &count);
    for (std::size_t r = 0; r < count; ++r) {
      std::size_t entries = 0;
      const rd_kafka_ConfigEntry_t** configs = rd_kafka_ConfigResource_configs(resources[r], &entries);
      const std::string name = rd_kafka_ConfigResource_name(resources[r]);
      const auto plan =
          std::find_if(topics.begin(), topics.end(), [&](const TopicPlan* t) { return Name(*t) == name; });
      if (plan == topics.end()) continue;
      for (std::size_t e = 0; e < entries; ++e) {
        const auto wants = (*plan)->settings.find(rd_kafka_ConfigEntry_name(configs[e]));
        const char* value = rd_kafka_ConfigEntry_value(configs[e]);
        if (wants == (*plan)->settings.end() || value == nullptr || wants->second == value) continue;
        drifts->push_back(
            {.topic = name, .what = wants->first + " is " + value + ", but must be " + wants->second});
      }
    }
    return Status::Ok();
  }

  Status StatusOf(rd_kafka_event_t* event, const std::string& what) const {
    if (event == nullptr) return Unreachable(what);
    const rd_kafka_resp_err_t error = rd_kafka_event_error(event);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return Status::Ok();
    return Status::Retry(what + ": " + rd_kafka_event_error_string(event));
  }

  const ClusterOptions options_;
  Opaque opaque_{&options_, this};
  std::string trouble_;  // the last error of the client
  int refusal_ = 0;      // error code of an authentication or TLS failure; else 0
  Handle handle_;
  Queue queue_;
  std::mutex making_;  // guards the creation of the next two
  Handle stable_;      // consumers that only query end offsets
  Handle all_;
};

}  // namespace

Result<std::unique_ptr<TopicAdmin>> MakeTopicAdmin(const ClusterOptions& options) {
  auto admin = std::make_unique<RdkafkaTopicAdmin>(options);
  if (Status s = admin->Open(); !s.ok()) return s;
  return std::unique_ptr<TopicAdmin>(std::move(admin));
}

}  // namespace cobblestone::stream::kafka
