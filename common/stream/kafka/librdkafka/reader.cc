#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

#include "common/stream/kafka/librdkafka/handles.h"

namespace cobblestone::stream::kafka {

namespace {

constexpr std::size_t kBatch = 500;

class RdkafkaReader final : public Reader {
 public:
  RdkafkaReader(const ClusterOptions& options, Millis fetch_wait)
      : options_(options), fetch_wait_(fetch_wait) {}

  ~RdkafkaReader() override {
    while (!partitions_.empty()) Stop(partitions_.begin()->first);
    topics_.clear();
  }

  Status Open() {
    auto conf = MakeConf(options_,
                         {{"client.id", options_.prefix + ".reader"},
                          {"isolation.level", "read_committed"},
                          {"enable.partition.eof", "true"},
                          {"enable.auto.commit", "false"},
                          {"auto.offset.reset", "error"},
                          {"check.crcs", "true"},
                          {"queued.min.messages", "20000"},
                          {"queued.max.messages.kbytes", "4096"},  // per partition
                          {"fetch.message.max.bytes", "1048576"},
                          {"fetch.wait.max.ms", std::to_string(fetch_wait_.count())},
                          {"fetch.error.backoff.ms", "50"},
                          {"socket.nagle.disable", "true"}},
                         options_.consumer, &opaque_);
    if (!conf.ok()) return conf.status();
    auto handle = MakeHandle(RD_KAFKA_CONSUMER, std::move(*conf));
    if (!handle.ok()) return handle.status();
    handle_ = std::move(*handle);
    for (std::size_t t = 0; t < options_.topics.size(); ++t)
      topics_.emplace_back(rd_kafka_topic_new(
          handle_.get(), TopicName(options_, static_cast<TopicIndex>(t)).c_str(), nullptr));
    return Status::Ok();
  }

  Status Start(TopicPartition where, std::uint64_t offset) override {
    rd_kafka_topic_t* topic = topics_[where.topic].get();
    const auto partition = static_cast<std::int32_t>(where.partition);
    COBBLESTONE_CHECK(partitions_.count(where) == 0, "the partition is started twice");
    auto state = std::make_unique<Partition>();
    state->next = offset == kBeginning ? 0 : offset;
    state->anywhere = offset == kBeginning;
    state->signal = &signal_;
    if (rd_kafka_consume_start(
            topic, partition,
            offset == kBeginning ? RD_KAFKA_OFFSET_BEGINNING : static_cast<std::int64_t>(offset)) != 0)
      return Status::Fatal(Name(where) + " cannot be read: " + rd_kafka_err2str(rd_kafka_last_error()));
    state->queue.reset(rd_kafka_queue_get_partition(handle_.get(), rd_kafka_topic_name(topic), partition));
    rd_kafka_queue_cb_event_enable(state->queue.get(), OnArrival, state.get());
    partitions_[where] = std::move(state);
    return Status::Ok();
  }

  void Stop(TopicPartition where) override {
    const auto found = partitions_.find(where);
    if (found == partitions_.end()) return;
    rd_kafka_queue_cb_event_enable(found->second->queue.get(), nullptr, nullptr);
    rd_kafka_consume_stop(topics_[where.topic].get(), static_cast<std::int32_t>(where.partition));
    partitions_.erase(found);
  }

  Status Poll(TopicPartition where, std::size_t most, std::deque<Message>* out) override {
    Partition& partition = *partitions_.at(where);
    if (!partition.arrived.exchange(false)) return Status::Ok();
    rd_kafka_message_t* messages[kBatch];
    const std::size_t wanted = std::min(most, kBatch);
    const ssize_t got = rd_kafka_consume_batch_queue(partition.queue.get(), 0, messages, wanted);
    if (got <= 0) return Status::Ok();
    if (static_cast<std::size_t>(got) == wanted) partition.arrived = true;  // more messages may be queued
    Status status;
    for (ssize_t i = 0; i < got; ++i) {
      rd_kafka_message_t* message = messages[i];
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
          partition.end = static_cast<std::uint64_t>(message->offset);
        else if (status.ok())
          status = StatusOf(where, *message);
        rd_kafka_message_destroy(message);
        continue;
      }
      const auto offset = static_cast<std::uint64_t>(message->offset);
      if (!status.ok() || offset < partition.next) {
        rd_kafka_message_destroy(message);
        continue;
      }
      partition.next = offset + 1;
      partition.end.reset();
      rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
      const std::int64_t millis = rd_kafka_message_timestamp(message, &type);
      out->emplace_back(offset, static_cast<double>(millis) / 1000.0,
                        std::string_view(static_cast<const char*>(message->key), message->key_len),
                        std::string_view(static_cast<const char*>(message->payload), message->len),
                        message->payload == nullptr, message,
                        [](void* m) { rd_kafka_message_destroy(static_cast<rd_kafka_message_t*>(m)); });
    }
    return status;
  }

  [[nodiscard]] std::optional<std::uint64_t> AtEnd(TopicPartition where) const override {
    const auto found = partitions_.find(where);
    if (found == partitions_.end() || found->second->arrived) return std::nullopt;
    return found->second->end;
  }

  [[nodiscard]] std::uint64_t KnownEnd(TopicPartition where) const override {
    std::int64_t low = 0;
    std::int64_t high = 0;
    if (rd_kafka_get_watermark_offsets(handle_.get(), rd_kafka_topic_name(topics_[where.topic].get()),
                                       static_cast<std::int32_t>(where.partition), &low,
                                       &high) != RD_KAFKA_RESP_ERR_NO_ERROR ||
        high < 0)
      return 0;
    return static_cast<std::uint64_t>(high);
  }

  void Wait(Millis at_most) override {
    std::unique_lock lock(signal_.mutex);
    signal_.wake.wait_for(lock, at_most, [this] { return signal_.set; });
    signal_.set = false;
  }

  void Interrupt() override { signal_.Set(); }

 private:
  struct Signal {
    void Set() {
      {
        const std::lock_guard lock(mutex);
        set = true;
      }
      wake.notify_one();
    }
    std::mutex mutex;
    std::condition_variable wake;
    bool set = false;
  };
  struct Partition {
    Queue queue;
    std::atomic<bool> arrived{true};  // the queue may contain messages
    std::uint64_t next = 0;
    bool anywhere = false;
    std::optional<std::uint64_t> end;
    Signal* signal = nullptr;
  };

  // Called on a thread of the client when an empty queue receives a message.
  static void OnArrival(rd_kafka_t*, void* opaque) {
    auto* partition = static_cast<Partition*>(opaque);
    partition->arrived = true;
    partition->signal->Set();
  }

  [[nodiscard]] std::string Name(TopicPartition where) const {
    return TopicName(options_, where.topic) + ", partition " + std::to_string(where.partition);
  }

  Status StatusOf(TopicPartition where, const rd_kafka_message_t& message) const {
    const std::string text = Name(where) + ": " + rd_kafka_message_errstr(&message);
    switch (message.err) {
      case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
      case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
        return Status::Fatal(text +
                             ": the log no longer has records at the position where reading must continue");
      case RD_KAFKA_RESP_ERR__BAD_MSG: return Status::Fatal(text + ": damaged");
      case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED: return Status::Fatal(text);
      default: return Status::Ok();  // the client retries by itself
    }
  }

  const ClusterOptions& options_;
  const Millis fetch_wait_;
  Opaque opaque_{&options_, this};
  Handle handle_;
  std::vector<Topic> topics_;
  Signal signal_;
  std::map<TopicPartition, std::unique_ptr<Partition>> partitions_;
};

}  // namespace

Result<std::unique_ptr<Reader>> MakeReader(const ClusterOptions& options, Millis fetch_wait) {
  auto reader = std::make_unique<RdkafkaReader>(options, fetch_wait);
  if (Status s = reader->Open(); !s.ok()) return s;
  return std::unique_ptr<Reader>(std::move(reader));
}

}  // namespace cobblestone::stream::kafka
