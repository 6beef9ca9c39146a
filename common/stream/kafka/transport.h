// What a worker needs of a Kafka cluster, and nothing else: the seam between the protocol of docs/runtime.md and
// whoever carries it out: librdkafka (librdkafka/), or a cluster in memory (common/sim).
//
// Threads: a producer, a reader and a group belong to one thread; the cluster that makes them to any.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/stream/record.h"

namespace cobblestone::stream::kafka {

using Time = std::chrono::steady_clock::time_point;
using Millis = std::chrono::milliseconds;

// A message as it was read. Bytes live as long as the object.
class Message {
 public:
  using Free = void (*)(void*);

  Message() = default;
  Message(std::uint64_t offset, double timestamp, std::string_view key, std::string_view value,
          bool tombstone, void* owned, Free free)
      : offset_(offset),
        timestamp_(timestamp),
        key_(key),
        value_(value),
        tombstone_(tombstone),
        owned_(owned, free) {}

  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] double timestamp() const { return timestamp_; }  // UNIX s, to the millisecond
  [[nodiscard]] std::string_view key() const { return key_; }
  [[nodiscard]] std::string_view value() const { return value_; }
  [[nodiscard]] bool tombstone() const { return tombstone_; }  // no value at all, which is not an empty one

 private:
  std::uint64_t offset_ = 0;
  double timestamp_ = 0;
  std::string_view key_;
  std::string_view value_;
  bool tombstone_ = false;
  std::unique_ptr<void, Free> owned_{nullptr, [](void*) {}};
};

// How a group knows one of its members, for the transaction in which its offsets are sent. Taken anew for each.
using Membership = std::shared_ptr<void>;

struct OffsetToSend {
  TopicPartition where;
  std::uint64_t offset = 0;
  std::string metadata{};
};

// What a call of a producer came to, named by what is asked of its owner.
enum class Reaction : std::uint8_t {
  kNone,     // it has happened
  kRetry,    // the same call again, with the same arguments
  kAbort,    // Abort(); the producer goes on
  kFenced,   // somebody else has the transactional.id: this producer is dead, and so is its transaction
  kReplace,  // this producer is dead; what became of its transaction must be read from the log
};
struct [[nodiscard]] Outcome {
  Reaction reaction = Reaction::kNone;
  std::string message{};  // the client's words

  [[nodiscard]] bool ok() const { return reaction == Reaction::kNone; }
};

class Producer {
 public:
  virtual ~Producer() = default;

  // Fences whoever had the transactional.id and ends his transaction, so that nothing of it is open on return.
  virtual Outcome Init() = 0;
  virtual Outcome Begin() = 0;
  // Takes the bytes over. `key` empty: none. Where the message came to lie is in *offset once Flush() has said ok; it
  // must live until then or until the end of the producer. kRetry: what is on its way is too much, Flush() first.
  virtual Outcome Produce(TopicPartition where, std::string_view key, std::string value,
                          std::uint64_t* offset) = 0;
  virtual Outcome ProduceTombstone(TopicPartition where, std::string_view key, std::uint64_t* offset) = 0;
  // Until all is delivered, or cannot be.
  virtual Outcome Flush() = 0;
  virtual Outcome SendOffsets(const std::vector<OffsetToSend>& offsets, const Membership& membership) = 0;
  virtual Outcome Commit() = 0;
  virtual Outcome Abort() = 0;
  // A request that ends a transaction was sent twice: a stray one may hit the next transaction, so this producer must
  // not begin any more (LRK #5423).
  [[nodiscard]] virtual bool suspect() const = 0;
};

inline constexpr std::uint64_t kBeginning = ~0ull;

// Reads partitions one by one, committed messages alone, in order.
class Reader {
 public:
  virtual ~Reader() = default;

  virtual Status Start(TopicPartition where, std::uint64_t offset) = 0;  // kBeginning: the first there is
  virtual void Stop(TopicPartition where) = 0;
  // What has arrived, up to `most` messages, behind what `out` has. kCorrupted: the log has nothing at the offset where
  // reading was to go on: trimmed, or cut off.
  virtual Status Poll(TopicPartition where, std::size_t most, std::deque<Message>* out) = 0;
  // Everything that was committed when it was told has been polled; the offset behind it. Empty: not now.
  [[nodiscard]] virtual std::optional<std::uint64_t> AtEnd(TopicPartition where) const = 0;
  // Behind the last message that readers may see, as far as is known; for people.
  [[nodiscard]] virtual std::uint64_t KnownEnd(TopicPartition where) const = 0;
  // Until something has arrived anywhere since the last call, or Interrupt(), or the time is over.
  virtual void Wait(Millis at_most) = 0;
  // Any thread.
  virtual void Interrupt() = 0;
};

class GroupListener {
 public:
  virtual ~GroupListener() = default;
  // From within Group::Poll(). Slots are partitions of the journal's topic.
  virtual void Assigned(const std::vector<std::uint32_t>& slots) = 0;
  // `lost`: they belong to somebody else already, nothing of theirs can be committed any more.
  virtual void Revoked(const std::vector<std::uint32_t>& slots, bool lost) = 0;
};

// For one who only asks.
class NoListener final : public GroupListener {
 public:
  void Assigned(const std::vector<std::uint32_t>&) override {}
  void Revoked(const std::vector<std::uint32_t>&, bool) override {}
};

struct CommittedPosition {
  std::uint32_t slot = 0;
  std::optional<std::uint64_t> offset;  // none: nothing was ever committed
  std::string metadata;
};

// What the cluster says of the whole group.
struct GroupMember {
  std::string id;
  std::vector<std::uint32_t> slots;
};
struct GroupView {
  std::string self;                  // our id
  std::vector<GroupMember> members;  // none while slots are being shared out
};

// The membership that owns slots: to be assigned partition k of the journal's topic is to own slot k.
class Group {
 public:
  virtual ~Group() = default;

  virtual Status Join() = 0;
  // Tells the listener of what has changed. kFenced: another process has our name (group.instance.id). kFatal.
  virtual Status Poll() = 0;
  [[nodiscard]] virtual Membership Current() = 0;
  // `stable`: kRetry while a transaction has offsets of theirs in the air; else what was committed before it.
  virtual Result<std::vector<CommittedPosition>> Committed(const std::vector<std::uint32_t>& slots,
                                                           bool stable, Millis at_most) = 0;
  // Asks the cluster, and at a later call tells what it said; what could not be had looks like a group without members.
  [[nodiscard]] virtual std::optional<GroupView> View() = 0;
  // Everything is shared out anew among all members; nobody loses what it has by that alone.
  virtual Status ShareOutAgain() = 0;
  // Revokes what is owned (listener), and says good-bye, so that nobody waits for a session to end.
  virtual void Leave() = 0;
};

class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual Result<std::unique_ptr<Producer>> NewProducer(const std::string& transactional_id) = 0;
  virtual Result<std::unique_ptr<Reader>> NewReader() = 0;
  // `instance`: name of the member, the same after a restart.
  virtual Result<std::unique_ptr<Group>> NewGroup(const std::string& instance, GroupListener& listener) = 0;
  [[nodiscard]] virtual Time Now() = 0;
};

}  // namespace cobblestone::stream::kafka
