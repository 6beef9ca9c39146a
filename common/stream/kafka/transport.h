// The interface to a Kafka cluster that a worker needs: the seam between the protocol of docs/runtime.md and
// its transport, either librdkafka (librdkafka/) or a cluster in memory (common/sim).
//
// Threads: a producer, a reader and a group belong to one thread; the cluster that creates them may be used
// by any.
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

// A message as read. The bytes live as long as the object.
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
  [[nodiscard]] double timestamp() const { return timestamp_; }  // UNIX s, millisecond resolution
  [[nodiscard]] std::string_view key() const { return key_; }
  [[nodiscard]] std::string_view value() const { return value_; }
  // No value at all; different from an empty value.
  [[nodiscard]] bool tombstone() const { return tombstone_; }

 private:
  std::uint64_t offset_ = 0;
  double timestamp_ = 0;
  std::string_view key_;
  std::string_view value_;
  bool tombstone_ = false;
  std::unique_ptr<void, Free> owned_{nullptr, [](void*) {}};
};

// Identifies a member to the transaction that sends its offsets. Fetch it for each transaction.
using Membership = std::shared_ptr<void>;

struct OffsetToSend {
  TopicPartition where;
  std::uint64_t offset = 0;
  std::string metadata{};
};

// The result of a producer call, named by the reaction that is required.
enum class Reaction : std::uint8_t {
  kNone,     // success
  kRetry,    // repeat the call with the same arguments
  kAbort,    // call Abort(); the producer remains usable
  kFenced,   // another producer has the transactional.id: this producer and its transaction are dead
  kReplace,  // this producer is dead; the outcome of its transaction must be read from the log
};
struct [[nodiscard]] Outcome {
  Reaction reaction = Reaction::kNone;
  std::string message{};  // from the client

  [[nodiscard]] bool ok() const { return reaction == Reaction::kNone; }
};

class Producer {
 public:
  virtual ~Producer() = default;

  // Fences the previous owner of the transactional.id and ends its transaction; on return no transaction is
  // open.
  virtual Outcome Init() = 0;
  virtual Outcome Begin() = 0;
  // Takes ownership of the bytes. `key` empty: no key. *offset receives the message's offset; it is valid
  // once Flush() returns ok and must live until then or until the producer ends. kRetry: too many messages
  // are in flight, call Flush() first.
  virtual Outcome Produce(TopicPartition where, std::string_view key, std::string value,
                          std::uint64_t* offset) = 0;
  virtual Outcome ProduceTombstone(TopicPartition where, std::string_view key, std::uint64_t* offset) = 0;
  // Waits until all messages are delivered or have failed.
  virtual Outcome Flush() = 0;
  virtual Outcome SendOffsets(const std::vector<OffsetToSend>& offsets, const Membership& membership) = 0;
  virtual Outcome Commit() = 0;
  virtual Outcome Abort() = 0;
  // A request that ends a transaction was sent twice. A stray request may hit the next transaction, so this
  // producer must not begin another (LRK #5423).
  [[nodiscard]] virtual bool suspect() const = 0;
};

inline constexpr std::uint64_t kBeginning = ~0ull;

// Reads partitions individually: committed messages only, in order.
class Reader {
 public:
  virtual ~Reader() = default;

  // kBeginning: the first existing offset.
  virtual Status Start(TopicPartition where, std::uint64_t offset) = 0;
  virtual void Stop(TopicPartition where) = 0;
  // Appends up to `most` arrived messages to `out`. kCorrupted: the log has no message at the offset to
  // continue from: it was trimmed or truncated.
  virtual Status Poll(TopicPartition where, std::size_t most, std::deque<Message>* out) = 0;
  // The end offset if all committed messages up to the last known end have been polled; empty: not yet.
  [[nodiscard]] virtual std::optional<std::uint64_t> AtEnd(TopicPartition where) const = 0;
  // The last known end for readers of committed messages; for status displays.
  [[nodiscard]] virtual std::uint64_t KnownEnd(TopicPartition where) const = 0;
  // Waits until something has arrived on any partition since the last call, Interrupt() is called, or the
  // time is over.
  virtual void Wait(Millis at_most) = 0;
  // Any thread.
  virtual void Interrupt() = 0;
};

class GroupListener {
 public:
  virtual ~GroupListener() = default;
  // Called from within Group::Poll(). Slots are partitions of the journal topic.
  virtual void Assigned(const std::vector<std::uint32_t>& slots) = 0;
  // `lost`: the slots already belong to another member, and nothing of theirs can be committed.
  virtual void Revoked(const std::vector<std::uint32_t>& slots, bool lost) = 0;
};

// For a group that is only queried.
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

// The cluster's view of the whole group.
struct GroupMember {
  std::string id;
  std::vector<std::uint32_t> slots;
};
struct GroupView {
  std::string self;                  // our member id
  std::vector<GroupMember> members;  // empty during a rebalance
};

// The membership that owns slots: the member assigned partition k of the journal topic owns slot k.
class Group {
 public:
  virtual ~Group() = default;

  virtual Status Join() = 0;
  // Notifies the listener of changes. kFenced: another process uses our name (group.instance.id). kFatal.
  virtual Status Poll() = 0;
  [[nodiscard]] virtual Membership Current() = 0;
  // `stable`: kRetry while a transaction has pending offsets of these slots. Otherwise pending offsets are
  // ignored.
  virtual Result<std::vector<CommittedPosition>> Committed(const std::vector<std::uint32_t>& slots,
                                                           bool stable, Millis at_most) = 0;
  // Requests the group's state and returns it at a later call. A failed request looks like a group without
  // members.
  [[nodiscard]] virtual std::optional<GroupView> View() = 0;
  // Triggers a rebalance among all members; it does not by itself take a slot from its owner.
  virtual Status RequestRebalance() = 0;
  // Revokes owned slots (listener) and leaves the group, so that no member has to wait for the session timeout.
  virtual void Leave() = 0;
};

// How long brokers hold a fetch that finds no record (`fetch_wait`). A reader learns the end of a partition from such a
// fetch, and a partition that it starts meanwhile on the same broker waits for the fetch, too.
inline constexpr Millis kLongFetch{100};  // of readers that follow partitions
inline constexpr Millis kShortFetch{5};   // of readers that read partitions to their ends

class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual Result<std::unique_ptr<Producer>> NewProducer(const std::string& transactional_id) = 0;
  // `fetch_wait`: kLongFetch or kShortFetch.
  virtual Result<std::unique_ptr<Reader>> NewReader(Millis fetch_wait) = 0;
  // `instance`: name of the member, stable across restarts.
  virtual Result<std::unique_ptr<Group>> NewGroup(const std::string& instance, GroupListener& listener) = 0;
  [[nodiscard]] virtual Time Now() = 0;
};

}  // namespace cobblestone::stream::kafka
