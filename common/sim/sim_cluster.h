// A Kafka cluster in memory with its own clock, for thousands of simulated schedules. The cluster keeps all
// guarantees of brokers; faults affect only behaviour that brokers do not guarantee. The workers that run on
// the cluster are the production workers (common/stream/kafka/worker.h).
//
// Modeled: transactions with epochs and markers, last stable offsets, offsets that are pending until their
// transaction ends, static members with sessions and generations, cooperative rebalancing (a slot that moves
// has no owner until its previous owner has rejoined). Not modeled: several brokers, bytes on a disk.
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

// The process dies here. Thrown through the worker, which is destroyed with everything in its memory.
struct Crash {};

// Probability of each fault per call, in units of 1/10,000.
struct Faults {
  unsigned crash = 0;               // at any call
  unsigned lost_request = 0;        // nothing happens, and the caller does not know
  unsigned lost_response = 0;       // the request is executed, and the caller does not know
  unsigned delivery = 0;            // a message is not delivered: abort
  unsigned duplicate_end = 0;       // the end of a transaction is sent twice; the duplicate arrives later
  unsigned unstable_positions = 0;  // committed offsets cannot be read now
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

  // For one worker; calls of a client that is `dead` belong to a crashed process and have no effect.
  class Client;
  std::unique_ptr<Client> NewClient();

  void set_faults(const Faults& faults) { faults_ = faults; }
  // For a canary: producers that sent an end twice do not report suspect().
  void hide_suspects() { hide_suspects_ = true; }
  [[nodiscard]] const FaultCounts& counts() const { return counts_; }
  [[nodiscard]] Time now() const { return now_; }
  // Advances the clock: sessions end, transactions time out, strays arrive.
  void Advance(Millis by);

  // An append by an external producer, committed at once.
  void Append(TopicPartition where, std::string key, std::string value);
  // All records visible to readers, in order, starting at an offset.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::string>> Committed(TopicPartition where,
                                                                             std::uint64_t from = 0) const;
  // All transactions before this offset have ended.
  [[nodiscard]] std::uint64_t StableEnd(TopicPartition where) const;
  // Compacts as a broker's cleaner does: before the stable end, only the last value of each key stays.
  void Compact(TopicPartition where);
  [[nodiscard]] std::uint64_t open_transactions() const;
  // The owners of the slots, for messages.
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
    std::shared_ptr<Txn> txn;  // null: an external append, or a marker
    bool marker = false;
    std::string key;
    std::string value;
    bool tombstone = false;
    double timestamp = 0;
    bool compacted = false;  // removed by compaction
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
    std::uint64_t generation = 0;  // the generation that the member knows
    std::uint64_t joined = 0;  // the last generation that the member, or an earlier life of it, has joined
    Time last_poll{};
    std::set<std::uint32_t> owned;  // as the member knows
    bool lost = false;              // removed from the group; the member does not know yet
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
  [[nodiscard]] bool AtRest() const;  // all members have joined the last generation
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
  std::map<std::uint32_t, std::uint64_t> assigned_;  // slot -> member, by the last rebalance; 0: none yet
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
  Result<std::unique_ptr<stream::kafka::Reader>> NewReader(stream::kafka::Millis fetch_wait) override;
  Result<std::unique_ptr<stream::kafka::Group>> NewGroup(const std::string& instance,
                                                         stream::kafka::GroupListener& listener) override;
  [[nodiscard]] Time Now() override { return cluster_.now_; }

 private:
  SimCluster& cluster_;
};

}  // namespace cobblestone::sim
