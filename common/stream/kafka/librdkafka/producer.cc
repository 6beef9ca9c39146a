#include <atomic>

#include "common/stream/kafka/librdkafka/handles.h"

namespace cobblestone::stream::kafka {

namespace {

constexpr int kEndTxn = 26;         // ApiKey
constexpr int kCallMillis = 10000;  // of a call that may be retried
constexpr int kInitMillis = 30000;
constexpr const char* kMaxMessage = "8388608";

// A message until its delivery report; librdkafka sends the bytes from here.
struct Sent {
  std::string key;
  std::string value;
  std::uint64_t* offset;
  std::string* failed;  // of the producer
};

class RdkafkaProducer final : public Producer {
 public:
  explicit RdkafkaProducer(const ClusterOptions& options) : options_(options) {}

  ~RdkafkaProducer() override {
    if (handle_ == nullptr) return;
    // A purged message returns through OnDelivery, which frees its bytes.
    rd_kafka_purge(handle_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    for (int turns = 0; turns < 100 && rd_kafka_outq_len(handle_.get()) > 0; ++turns)
      rd_kafka_poll(handle_.get(), 10);
    topics_.clear();
  }

  Status Open(const std::string& transactional_id) {
    // Flush() ends the linger time: the messages of a transaction for one partition form one batch. No
    // compression: every commit would wait for it (kafka.options, for deployments with a slow network or
    // disk).
    auto conf = MakeConf(options_,
                         {{"transactional.id", transactional_id},
                          {"client.id", transactional_id},
                          {"transaction.timeout.ms", std::to_string(options_.transaction_timeout.count())},
                          {"linger.ms", "100"},
                          {"message.max.bytes", kMaxMessage},
                          {"batch.size", "1000000"},
                          {"queue.buffering.max.messages", "2000000"},
                          {"queue.buffering.max.kbytes", "524288"},
                          {"socket.nagle.disable", "true"},
                          {"topic.metadata.refresh.interval.ms", "60000"}},
                         options_.producer, &opaque_);
    if (!conf.ok()) return conf.status();
    rd_kafka_conf_set_dr_msg_cb(conf->get(), OnDelivery);
    rd_kafka_conf_interceptor_add_on_new(conf->get(), "cobblestone", OnNew, this);
    auto handle = MakeHandle(RD_KAFKA_PRODUCER, std::move(*conf));
    if (!handle.ok()) return handle.status();
    handle_ = std::move(*handle);
    for (std::size_t t = 0; t < options_.topics.size(); ++t)
      topics_.emplace_back(rd_kafka_topic_new(
          handle_.get(), TopicName(options_, static_cast<TopicIndex>(t)).c_str(), nullptr));
    return Status::Ok();
  }

  Outcome Init() override {
    Outcome o = OutcomeOf(rd_kafka_init_transactions(handle_.get(), kInitMillis));
    if (!o.ok()) return o;
    // Loads the metadata of the topics; otherwise the first transaction waits a second for it.
    for (const Topic& topic : topics_) {
      const rd_kafka_metadata_t* metadata = nullptr;
      if (rd_kafka_metadata(handle_.get(), 0, topic.get(), &metadata, kCallMillis) ==
          RD_KAFKA_RESP_ERR_NO_ERROR)
        rd_kafka_metadata_destroy(metadata);
    }
    return o;
  }

  Outcome Begin() override {
    failed_.clear();
    return OutcomeOf(rd_kafka_begin_transaction(handle_.get()));
  }

  Outcome Produce(TopicPartition where, std::string_view key, std::string value,
                  std::uint64_t* offset) override {
    return Send(where, new Sent{std::string(key), std::move(value), offset, &failed_}, false);
  }

  Outcome ProduceTombstone(TopicPartition where, std::string_view key, std::uint64_t* offset) override {
    return Send(where, new Sent{std::string(key), {}, offset, &failed_}, true);
  }

  Outcome Flush() override {
    // Every message gets a delivery report, delivered or not, within the transaction's timeout.
    while (rd_kafka_outq_len(handle_.get()) > 0 && failed_.empty()) rd_kafka_flush(handle_.get(), 1000);
    if (failed_.empty()) return {};
    return Fatal({.reaction = Reaction::kAbort, .message = "a message was not delivered: " + failed_});
  }

  Outcome SendOffsets(const std::vector<OffsetToSend>& offsets, const Membership& membership) override {
    PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(offsets.size())));
    for (const OffsetToSend& one : offsets) {
      rd_kafka_topic_partition_t* at =
          rd_kafka_topic_partition_list_add(list.get(), rd_kafka_topic_name(topics_[one.where.topic].get()),
                                            static_cast<int>(one.where.partition));
      at->offset = static_cast<std::int64_t>(one.offset);
      if (one.metadata.empty()) continue;
      at->metadata = ::malloc(one.metadata.size());  // the list frees it
      one.metadata.copy(static_cast<char*>(at->metadata), one.metadata.size());
      at->metadata_size = one.metadata.size();
    }
    return OutcomeOf(rd_kafka_send_offsets_to_transaction(
        handle_.get(), list.get(), static_cast<rd_kafka_consumer_group_metadata_t*>(membership.get()),
        kCallMillis));
  }

  Outcome Commit() override {
    ends_sent_ = 0;
    Outcome o = OutcomeOf(rd_kafka_commit_transaction(handle_.get(), -1));
    if (ends_sent_ > 1) suspect_ = true;
    return o;
  }

  Outcome Abort() override {
    ends_sent_ = 0;
    Outcome o = OutcomeOf(rd_kafka_abort_transaction(handle_.get(), -1));
    if (ends_sent_ > 1) suspect_ = true;
    failed_.clear();
    return o;
  }

  [[nodiscard]] bool suspect() const override { return suspect_; }

 private:
  Outcome Send(TopicPartition where, Sent* sent, bool tombstone) {
    for (;;) {
      const int failed =
          rd_kafka_produce(topics_[where.topic].get(), static_cast<std::int32_t>(where.partition), 0,
                           tombstone ? nullptr : sent->value.data(), sent->value.size(),
                           sent->key.empty() ? nullptr : sent->key.data(), sent->key.size(), sent);
      if (failed == 0) break;
      const rd_kafka_resp_err_t error = rd_kafka_last_error();
      if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        rd_kafka_poll(handle_.get(), 10);
        continue;
      }
      delete sent;
      return Fatal({.reaction = Reaction::kAbort,
                    .message = "to " + TopicName(options_, where.topic) + ", partition " +
                               std::to_string(where.partition) + ": " + rd_kafka_err2str(error)});
    }
    if (++unpolled_ >= 100) {
      unpolled_ = 0;
      rd_kafka_poll(handle_.get(), 0);
    }
    return {};
  }

  static void OnDelivery(rd_kafka_t*, const rd_kafka_message_t* message, void*) {
    const std::unique_ptr<Sent> sent(static_cast<Sent*>(message->_private));
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      *sent->offset = static_cast<std::uint64_t>(message->offset);
    } else if (sent->failed->empty()) {
      *sent->failed = rd_kafka_err2str(message->err);
    }
  }

  // Maps an error of the client to the required reaction.
  Outcome OutcomeOf(rd_kafka_error_t* raw) {
    const Error error(raw);
    if (error == nullptr) return {};
    Outcome o{.reaction = Reaction::kReplace, .message = rd_kafka_error_string(error.get())};
    if (rd_kafka_error_is_fatal(error.get())) return Fatal(std::move(o));
    if (rd_kafka_error_txn_requires_abort(error.get()))
      o.reaction = Reaction::kAbort;
    else if (rd_kafka_error_is_retriable(error.get()))
      o.reaction = Reaction::kRetry;
    return o;
  }

  // A fatal error takes precedence over the error of a call.
  Outcome Fatal(Outcome o) {
    char why[512] = "";
    const rd_kafka_resp_err_t error = rd_kafka_fatal_error(handle_.get(), why, sizeof why);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return o;
    o.reaction = error == RD_KAFKA_RESP_ERR__FENCED || error == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
                         error == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH
                     ? Reaction::kFenced
                     : Reaction::kReplace;
    o.message += std::string("; ") + why;
    return o;
  }

  static rd_kafka_resp_err_t OnNew(rd_kafka_t* handle, const rd_kafka_conf_t*, void* self, char*,
                                   std::size_t) {
    return rd_kafka_interceptor_add_on_request_sent(handle, "cobblestone", OnRequestSent, self);
  }
  static rd_kafka_resp_err_t OnRequestSent(rd_kafka_t*, int, const char*, std::int32_t, std::int16_t api_key,
                                           std::int16_t, std::int32_t, std::size_t, void* self) {
    if (api_key == kEndTxn) ++static_cast<RdkafkaProducer*>(self)->ends_sent_;
    return RD_KAFKA_RESP_ERR_NO_ERROR;
  }

  const ClusterOptions& options_;
  Opaque opaque_{&options_, this};
  Handle handle_;
  std::vector<Topic> topics_;
  std::string failed_;  // why the first undelivered message was not delivered
  int unpolled_ = 0;
  std::atomic<int> ends_sent_{0};
  bool suspect_ = false;
};

}  // namespace

Result<std::unique_ptr<Producer>> MakeProducer(const ClusterOptions& options,
                                               const std::string& transactional_id) {
  auto producer = std::make_unique<RdkafkaProducer>(options);
  if (Status s = producer->Open(transactional_id); !s.ok()) return s;
  return std::unique_ptr<Producer>(std::move(producer));
}

}  // namespace cobblestone::stream::kafka
