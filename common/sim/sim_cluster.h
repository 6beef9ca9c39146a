// A Kafka cluster in memory with a clock of its own, for schedules by the thousand: what brokers promise, and, when a fault
// is due, what they don't. The workers on it are the ones that ship (common/stream/kafka/worker.h).
//
// What it keeps of a real cluster: transactions with epochs and markers, last stable offsets, offsets that are pending
// until their transaction is decided, static members with sessions and generations, cooperative rebalancing (each slot that
// is to move is nobody's until who had it has joined again). What it has not:
// several brokers, bytes on a disk.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/stream/kafka/transport.h"

namespace cobblestone::sim {

using stream::TopicIndex;
using stream::TopicPartition;
using stream::TopicSpec;
using stream::kafka::Millis;
using stream::kafka::Time;

// The process dies here. Thrown through the worker, which is thrown away with all that it had in memory.
struct Crash {};

// How likely each thing is to go wrong, of one call, in 10^4.
struct Faults {
  unsigned crash = 0;               // at any call
  unsigned lost_request = 0;        // nothing happens, and the caller does not know
  unsigned lost_response = 0;       // it happens, and the caller does not know
  unsigned delivery = 0;            // a message is not delivered: abort
  unsigned duplicate_end = 0;       // the end of a transaction is sent twice; the second one arrives later
  unsigned unstable_positions = 0;  // committed offsets cannot be read just now
  unsigned slow_reads = 0;          // nothing arrives at this poll
};

struct FaultCounts {
  std::map<std::string, std::uint64_t> by_kind;
};

struct SimOptions {
  std::vector<TopicSpec> topics;
  TopicIndex journal = 0;
  Millis session_timeout{1000};
  Millis transaction_timeout{3000};
};

class SimCluster final {
 public:
  SimCluster(SimOptions options, std::uint64_t seed);
  ~SimCluster();

  // For one worker; calls of a client that is `dead` are those of a crashed process, and do not come.
  class Client;
  std::unique_ptr<Client> NewClient();

  void set_faults(const Faults& faults) { faults_ = faults; }
  // For a canary: producers that have sent an end twice do not say so.
  void hide_suspects() { hide_suspects_ = true; }
  [[nodiscard]] const FaultCounts& counts() const { return counts_; }
  [[nodiscard]] Time now() const { return now_; }
  // Time goes by: sessions end, transactions time out, strays arrive.
  void Advance(Millis by);

  // An append from outside, committed at once.
  void Append(TopicPartition where, std::string key, std::string value);
  // Everything that readers may see, in order, from an offset on.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::string>> Committed(TopicPartition where,
                                                                             std::uint64_t from = 0) const;
  // Before this offset everything is decided.
  [[nodiscard]] std::uint64_t StableEnd(TopicPartition where) const;
  // As a broker's cleaner: of each key that is there twice, before what is not decided, the last value stays.
  void Compact(TopicPartition where);
  [[nodiscard]] std::uint64_t open_transactions() const;
  // Who has which slot, for people.
  [[nodiscard]] std::string Describe() const;

 private:
  friend class SimProducer;
  friend class SimReader;
  friend class SimGroup;

  enum class TxnState : std::uint8_t { kOpen, kCommitted, kAborted };
  struct Txn {
    std::string id;
    std::uint64_t epoch = 0;
    TxnState state = TxnState::kOpen;
    Time begun{};
    std::map<TopicPartition, std::uint64_t> wrote;  // the first offset
    struct Offset {
      std::uint32_t slot = 0;
      std::uint64_t offset = 0;
      std::string metadata;
    };
    std::vector<Offset> offsets;
  };
  struct Entry {
    std::shared_ptr<Txn> txn;  // null: from outside, or a marker
    bool marker = false;
    std::string key;
    std::string value;
    bool tombstone = false;
    double timestamp = 0;
    bool compacted = false;  // it is gone
  };
  struct Partition {
    std::vector<Entry> entries;  // by offset
  };
  struct Producing {
    std::uint64_t epoch = 0;
    std::shared_ptr<Txn> open;
  };
  struct Member {
    std::string instance;
    std::uint64_t id = 0;
    std::uint64_t generation = 0;  // that it knows of
    std::uint64_t joined = 0;      // that it, or an earlier life of it, has answered to
    Time last_poll{};
    std::set<std::uint32_t> owned;  // as it knows
    bool lost = false;              // thrown out; it will hear of it
  };
  struct Stray {
    Time at{};
    std::string id;
    std::uint64_t epoch = 0;
  };

  Partition& At(TopicPartition where) { return partitions_[where.topic][where.partition]; }
  [[nodiscard]] const Partition& At(TopicPartition where) const {
    return partitions_[where.topic][where.partition];
  }
  void End(Txn& txn, bool commit);
  bool Happens(unsigned in_ten_thousand, const char* kind);
  void MayCrash();
  void Expire();
  void Rebalance();
  [[nodiscard]] bool AtRest() const;  // all members have answered to the last rebalance
  [[nodiscard]] bool Pending(std::uint32_t slot) const;

  SimOptions options_;
  std::mt19937_64 random_;
  Faults faults_;
  bool hide_suspects_ = false;
  FaultCounts counts_;
  Time now_{};
  std::vector<std::vector<Partition>> partitions_;
  std::map<std::string, Producing> producers_;
  std::vector<std::shared_ptr<Txn>> open_;
  std::map<std::uint64_t, Member> members_;
  std::uint64_t next_member_ = 1;
  std::uint64_t generation_ = 0;
  std::map<std::uint32_t, std::uint64_t> assigned_;  // slot -> member, as last shared out; 0: nobody yet
  struct CommittedOffset {
    std::uint64_t offset = 0;
    std::string metadata;
  };
  std::map<std::uint32_t, CommittedOffset> committed_;
  std::vector<Stray> strays_;
};

class SimCluster::Client final : public stream::kafka::Cluster {
 public:
  explicit Client(SimCluster& cluster) : cluster_(cluster) {}

  Result<std::unique_ptr<stream::kafka::Producer>> NewProducer(const std::string& transactional_id) override;
  Result<std::unique_ptr<stream::kafka::Reader>> NewReader() override;
  Result<std::unique_ptr<stream::kafka::Group>> NewGroup(const std::string& instance,
                                                         stream::kafka::GroupListener& listener) override;
  [[nodiscard]] Time Now() override { return cluster_.now_; }

 private:
  SimCluster& cluster_;
};

}  // namespace cobblestone::sim
