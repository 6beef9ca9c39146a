// Sends a project's events, delimited Envelopes (schemas/README.md), to a Cobblestone deployment on Kafka.
//
//     produce CLIENT.PROPERTIES [PREFIX] < events.pb
//
// CLIENT.PROPERTIES has lines NAME=VALUE with librdkafka's options: at least bootstrap.servers. Exit code 0 means that
// all events are durable. After any other exit code send all of them again: an event's id makes it count once.
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "schemas/events.pb.h"

namespace {

using cobblestone::v1::Envelope;

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

struct Delivery {
  std::uint64_t failed = 0;
  std::string first;  // the reason of the first failure
};

void OnDelivery(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
  if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  auto& delivery = *static_cast<Delivery*>(opaque);
  if (delivery.failed++ == 0) delivery.first = rd_kafka_err2str(message->err);
}

// The partition of all events of a host, by the partitioner of schemas/README.md, not Kafka's.
std::int32_t PartitionOf(std::uint32_t project, std::uint64_t host, std::uint64_t partitions) {
  std::uint64_t z = host + project * 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return static_cast<std::int32_t>(((z ^ z >> 31) >> 32) * partitions >> 32);
}

rd_kafka_t* NewProducer(const char* properties, Delivery* delivery) {
  rd_kafka_conf_t* options = rd_kafka_conf_new();
  char error[512];
  const auto set = [&](const std::string& name, const std::string& value) {
    if (rd_kafka_conf_set(options, name.c_str(), value.c_str(), error, sizeof error) != RD_KAFKA_CONF_OK)
      Fail(std::string(properties) + ": " + error);
  };
  std::ifstream file(properties);
  if (!file) Fail(std::string(properties) + " cannot be read");
  for (std::string line; std::getline(file, line);)
    if (const auto equals = line.find('='); equals != std::string::npos)
      set(line.substr(0, equals), line.substr(equals + 1));
  set("enable.idempotence", "true");  // acks=all, and no message twice or out of order
  rd_kafka_conf_set_opaque(options, delivery);
  rd_kafka_conf_set_dr_msg_cb(options, OnDelivery);
  rd_kafka_t* producer = rd_kafka_new(RD_KAFKA_PRODUCER, options, error, sizeof error);
  if (producer == nullptr) Fail(error);
  return producer;
}

// A topic, and its number of partitions.
struct Topic {
  rd_kafka_topic_t* handle = nullptr;
  std::uint64_t partitions = 0;
};

Topic OpenTopic(rd_kafka_t* producer, const std::string& name) {
  Topic topic{.handle = rd_kafka_topic_new(producer, name.c_str(), nullptr)};
  const struct rd_kafka_metadata* found = nullptr;
  const auto code = rd_kafka_metadata(producer, 0, topic.handle, &found, 30000);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) Fail(name + ": " + rd_kafka_err2str(code));
  topic.partitions = static_cast<std::uint64_t>(found->topics[0].partition_cnt);
  rd_kafka_metadata_destroy(found);
  if (topic.partitions == 0) Fail(name + " does not exist; check the prefix");
  return topic;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || count > 3) Fail("usage: produce CLIENT.PROPERTIES [PREFIX] < events.pb");
  const std::string prefix = count == 3 ? arguments[2] : "cobblestone";
  Delivery delivery;
  rd_kafka_t* producer = NewProducer(arguments[1], &delivery);
  std::map<Envelope::EventCase, Topic> topics;
  const auto open = [&](Envelope::EventCase kind, const char* name) {
    topics[kind] = OpenTopic(producer, prefix + "." + name);
  };
  open(Envelope::kCompletion, "completions");
  open(Envelope::kValidation, "validations");
  open(Envelope::kDispatch, "dispatches");
  open(Envelope::kTrickle, "trickles");
  open(Envelope::kTick, "catalogue");  // advances the project's event time in every stage

  google::protobuf::io::FileInputStream input(0);
  std::string value;
  for (std::uint64_t number = 0;; ++number) {
    Envelope envelope;
    bool end = false;
    if (!google::protobuf::util::ParseDelimitedFromZeroCopyStream(&envelope, &input, &end)) {
      if (end) break;
      Fail("record " + std::to_string(number) + " is not an Envelope");
    }
    std::uint64_t host = 0;
    switch (envelope.event_case()) {
      case Envelope::kCompletion: host = envelope.completion().host(); break;
      case Envelope::kValidation: host = envelope.validation().host(); break;
      case Envelope::kDispatch: host = envelope.dispatch().host(); break;
      case Envelope::kTrickle: host = envelope.trickle().host(); break;
      case Envelope::kTick: break;
      default:
        Fail("record " + std::to_string(number) +
             " is not an event of a result: use `cobblestone ingest` for the catalogue and members");
    }
    const bool tick = envelope.event_case() == Envelope::kTick;
    const Topic& topic = topics.at(envelope.event_case());
    const std::int32_t partition = tick ? 0 : PartitionOf(envelope.project(), host, topic.partitions);
    // Cobblestone reads only the value. Keys help people and tools that read the topic.
    const std::string key = tick ? "tick" : std::to_string(host);
    envelope.SerializeToString(&value);
    while (rd_kafka_produce(topic.handle, partition, RD_KAFKA_MSG_F_COPY, value.data(), value.size(),
                            key.data(), key.size(), nullptr) != 0) {
      if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
        Fail("record " + std::to_string(number) + ": " + rd_kafka_err2str(rd_kafka_last_error()));
      rd_kafka_poll(producer, 100);
    }
    if (number % 1000 == 0) rd_kafka_poll(producer, 0);
  }
  const auto flushed = rd_kafka_flush(producer, 10 * 60 * 1000);
  if (flushed != RD_KAFKA_RESP_ERR_NO_ERROR || delivery.failed > 0)
    Fail(std::to_string(delivery.failed) + " events were not delivered, the first because of " +
         delivery.first + "; send all of them again");
  for (const auto& [kind, topic] : topics) rd_kafka_topic_destroy(topic.handle);
  rd_kafka_destroy(producer);
  return 0;
}
