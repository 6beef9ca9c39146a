#include "services/kafka/kafka_log.h"

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cobblestone::kafka {

using ledger::IndexedLogOf;

namespace {

using stream::TopicPartition;
using stream::kafka::Message;
using stream::kafka::Millis;

constexpr Millis kLogPatience{10000};
constexpr Millis kWait{20};
constexpr std::size_t kFetch = 1000;

class KafkaLog final : public stream::IndexedLog {
 public:
  KafkaLog(stream::kafka::Cluster& cluster, stream::kafka::TopicAdmin& admin, std::vector<bool> packed,
           bool anywhere)
      : cluster_(cluster), admin_(admin), packed_(std::move(packed)), anywhere_(anywhere) {}

  // 0 although the brokers may have deleted the first records: Read() returns the place of the first remaining
  // record.
  [[nodiscard]] std::uint64_t Begin(TopicPartition) override { return 0; }
  [[nodiscard]] std::uint64_t End(TopicPartition where) override {
    const auto found = partitions_.find(where);
    if (found != partitions_.end() && found->second.reading && reader_->KnownEnd(where) > 0)
      return reader_->KnownEnd(where);
    const auto ends = admin_.EndsOf(where);
    return ends.ok() ? ends->stable : 0;  // no answer: no new records
  }

  Result<Piece> Read(TopicPartition where, std::uint64_t offset) override {
    if (Status s = GoTo(where, offset); !s.ok()) return s;
    Partition& at = partitions_.at(where);
    for (Millis waited{0}; at.messages.empty();) {
      if (!at.reading)
        if (Status s = Start(where, at.next); !s.ok()) return s;
      Status s = reader_->Poll(where, kFetch, &at.messages);
      if (s.code() == StatusCode::kCorrupted && offset == 0) {  // the partition's first records were deleted
        Pause(where);
        s = Start(where, stream::kafka::kBeginning);
        if (s.ok()) continue;
      }
      if (!s.ok()) {
        Forget(where);
        return s;
      }
      if (!at.messages.empty()) {
        // A partition being read delays the start of others: a fetch that waits for new records occupies the
        // connection.
        if (anywhere_) Pause(where);
        break;
      }
      if (const auto end = reader_->AtEnd(where)) {
        at.next = std::max(at.next, *end);
        if (anywhere_) Pause(where);
        return *end > offset ? Piece{.first = offset, .end = *end} : Piece{};
      }
      if (waited >= kLogPatience)
        return Status::Retry("cannot read a partition; check that the cluster is reachable");
      reader_->Wait(kWait);
      waited += kWait;
    }
    auto message = std::make_shared<Message>(std::move(at.messages.front()));
    at.messages.pop_front();
    at.next = message->offset() + 1;
    Piece piece{.first = message->offset(), .end = at.next, .one_place = true};
    if (packed_[where.topic]) {
      stream::RecordCursor cursor(message->value());
      for (std::string_view record; cursor.Next(&record);) piece.records.push_back(record);
    } else {
      piece.records.push_back(message->value());
    }
    piece.bytes = std::move(message);
    return piece;
  }

 private:
  struct Partition {
    std::uint64_t next = 0;
    bool reading = false;
    std::deque<Message> messages;
  };

  // Makes `offset` the next offset to be read.
  Status GoTo(TopicPartition where, std::uint64_t offset) {
    const auto [found, made] = partitions_.try_emplace(where);
    Partition& at = found->second;
    if (!made) {
      while (!at.messages.empty() && at.next <= offset && at.messages.front().offset() < offset) {
        at.next = at.messages.front().offset() + 1;
        at.messages.pop_front();
      }
      if (at.next == offset || (!at.messages.empty() && at.next < offset)) return Status::Ok();
      Pause(where);
      at.messages.clear();
    }
    at.next = offset;
    return Status::Ok();
  }
  Status Start(TopicPartition where, std::uint64_t offset) {
    if (reader_ == nullptr) {
      auto made = cluster_.NewReader(stream::kafka::kShortFetch);
      if (!made.ok()) return made.status();
      reader_ = std::move(*made);
    }
    if (Status s = reader_->Start(where, offset); !s.ok()) return s;
    partitions_.at(where).reading = true;
    return Status::Ok();
  }
  void Pause(TopicPartition where) {
    Partition& at = partitions_.at(where);
    if (std::exchange(at.reading, false)) reader_->Stop(where);
  }
  void Forget(TopicPartition where) {
    Pause(where);
    partitions_.erase(where);
  }

  stream::kafka::Cluster& cluster_;
  stream::kafka::TopicAdmin& admin_;
  const std::vector<bool> packed_;
  const bool anywhere_;
  std::unique_ptr<stream::kafka::Reader> reader_;
  std::map<TopicPartition, Partition> partitions_;  // partitions that are being read
};

}  // namespace

IndexedLogOf LogsOf(stream::kafka::Cluster& cluster, stream::kafka::TopicAdmin& admin,
                    const KafkaDeployment& deployment, Reads reads) {
  return [&cluster, &admin, packed = deployment.task.packed, reads](stream::TopicIndex) {
    return std::make_unique<KafkaLog>(cluster, admin, packed, reads == Reads::kAnywhere);
  };
}

}  // namespace cobblestone::kafka
