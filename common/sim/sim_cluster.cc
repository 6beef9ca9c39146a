#include "common/sim/sim_cluster.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

namespace cobblestone::sim {

using stream::kafka::CommittedPosition;
using stream::kafka::Group;
using stream::kafka::GroupListener;
using stream::kafka::Membership;
using stream::kafka::Message;
using stream::kafka::OffsetToSend;
using stream::kafka::Outcome;
using stream::kafka::Producer;
using stream::kafka::Reaction;
using stream::kafka::Reader;

namespace {

struct MemberRef {
  std::uint64_t id = 0;
  std::uint64_t generation = 0;
};

}  // namespace

// ---- The cluster --------------------------------------------------------------------------------------------

SimCluster::SimCluster(SimOptions options, std::uint64_t seed)
    : options_(std::move(options)), random_(seed), now_(Time(std::chrono::hours(1))) {
  for (const TopicSpec& topic : options_.topics) partitions_.emplace_back(topic.partitions);
}

SimCluster::~SimCluster() = default;

std::unique_ptr<SimCluster::Client> SimCluster::NewClient() { return std::make_unique<Client>(*this); }

bool SimCluster::Happens(unsigned in_ten_thousand, const char* kind) {
  if (in_ten_thousand == 0 || random_() % 10000 >= in_ten_thousand) return false;
  ++counts_.by_kind[kind];
  return true;
}

void SimCluster::MayCrash() {
  if (Happens(faults_.crash, "crash")) throw Crash{};
}

void SimCluster::Append(TopicPartition where, std::string key, std::string value) {
  At(where).entries.push_back({.key = std::move(key), .value = std::move(value), .timestamp = 1.0});
}

// The offset of the first entry of an open transaction, or the end of the log.
std::uint64_t SimCluster::StableEnd(TopicPartition where) const {
  std::uint64_t end = At(where).entries.size();
  for (const auto& txn : open_) {
    const auto first = txn->wrote.find(where);
    if (first != txn->wrote.end()) end = std::min(end, first->second);
  }
  return end;
}

void SimCluster::End(Txn& txn, bool commit) {
  txn.state = commit ? TxnState::kCommitted : TxnState::kAborted;
  for (const auto& [where, first] : txn.wrote) At(where).entries.push_back({.marker = true});
  if (commit)
    for (const Txn::Offset& one : txn.offsets)
      committed_[one.slot] = {.offset = one.offset, .metadata = one.metadata};
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const std::shared_ptr<Txn>& t) { return t.get() == &txn; });
  if (found != open_.end()) open_.erase(found);
}

bool SimCluster::Pending(std::uint32_t slot) const {
  for (const auto& txn : open_)
    for (const Txn::Offset& one : txn->offsets)
      if (one.slot == slot) return true;
  return false;
}

void SimCluster::Advance(Millis by) {
  now_ += by;
  // Strays: duplicated end requests that arrive only now. A stray ends the transaction that is open under its
  // epoch.
  for (std::size_t i = 0; i < strays_.size();) {
    if (strays_[i].at > now_) {
      ++i;
      continue;
    }
    Producing& producing = producers_[strays_[i].id];
    if (producing.epoch == strays_[i].epoch && producing.open != nullptr) {
      ++counts_.by_kind["stray end that hit"];
      End(*producing.open, true);
      producing.open.reset();
    }
    strays_.erase(strays_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (auto& [id, producing] : producers_) {
    if (producing.open == nullptr || now_ - producing.open->begun < options_.transaction_timeout) continue;
    ++counts_.by_kind["transaction timed out"];
    End(*producing.open, false);
    producing.open.reset();
    ++producing.epoch;  // fences the producer if it is still alive
  }
  Expire();
}

void SimCluster::Expire() {
  bool changed = false;
  for (auto& [id, member] : members_) {
    if (member.lost || now_ - member.last_poll < options_.session_timeout) continue;
    member.lost = true;
    ++counts_.by_kind["session ended"];
    changed = true;
  }
  if (changed) Rebalance();
}

// Assigns the slots: as evenly as possible, and a member loses a slot only if it has too many. A slot that
// its owner must give up stays unassigned (id 0) until the owner has seen the rebalance, has revoked the slot
// and has joined again.
void SimCluster::Rebalance() {
  ++generation_;
  std::vector<std::uint64_t> alive;
  std::map<std::uint32_t, std::uint64_t> holder;
  for (const auto& [id, member] : members_) {
    if (member.lost) continue;
    alive.push_back(id);
    for (const std::uint32_t k : member.owned) holder[k] = id;
  }
  assigned_.clear();
  if (alive.empty()) return;
  const std::uint32_t slots = options_.topics[options_.journal].partitions;
  std::map<std::uint64_t, std::uint32_t> count;
  const auto most = [&](std::uint64_t id) {
    const auto place = static_cast<std::size_t>(std::find(alive.begin(), alive.end(), id) - alive.begin());
    return slots / alive.size() + (place < slots % alive.size() ? 1 : 0);
  };
  for (const auto& [k, id] : holder) {
    if (count[id] >= most(id)) continue;
    assigned_[k] = id;
    ++count[id];
  }
  for (std::uint32_t k = 0; k < slots; ++k) {
    if (assigned_.count(k) > 0) continue;
    for (const std::uint64_t id : alive) {
      if (count[id] >= most(id)) continue;
      assigned_[k] = holder.count(k) == 0 ? id : 0;
      ++count[id];
      break;
    }
  }
}

bool SimCluster::AtRest() const {
  for (const auto& [id, member] : members_)
    if (!member.lost && member.joined != generation_) return false;
  return true;
}

void SimCluster::Compact(TopicPartition where) {
  Partition& partition = At(where);
  std::unordered_set<std::string_view> later;
  for (std::uint64_t o = StableEnd(where); o-- > 0;) {
    Entry& entry = partition.entries[o];
    if (entry.marker || (entry.txn != nullptr && entry.txn->state != TxnState::kCommitted)) continue;
    if (!later.insert(entry.key).second) entry.compacted = true;
  }
}

std::vector<std::pair<std::uint64_t, std::string>> SimCluster::Committed(TopicPartition where,
                                                                         std::uint64_t from) const {
  std::vector<std::pair<std::uint64_t, std::string>> all;
  const Partition& partition = At(where);
  const std::uint64_t end = StableEnd(where);
  for (std::uint64_t o = from; o < end; ++o) {
    const Entry& entry = partition.entries[o];
    if (entry.marker || entry.compacted) continue;
    if (entry.txn != nullptr && entry.txn->state != TxnState::kCommitted) continue;
    all.emplace_back(o, entry.value);
  }
  return all;
}

std::string SimCluster::Describe() const {
  std::string text = "generation " + std::to_string(generation_) + ";";
  for (const auto& [id, member] : members_)
    text += " member " + std::to_string(id) + " is " + member.instance + (member.lost ? ", lost" : "") +
            ", knows " + std::to_string(member.generation) + ", has " + std::to_string(member.owned.size()) +
            ";";
  for (const auto& [slot, id] : assigned_)
    text += " slot " + std::to_string(slot) + " is of " + (id == 0 ? "nobody" : std::to_string(id)) + ";";
  return text;
}

std::uint64_t SimCluster::open_transactions() const { return open_.size(); }

// ---- Producer -----------------------------------------------------------------------------------------------

class SimProducer final : public Producer {
 public:
  SimProducer(SimCluster& cluster, std::string id) : cluster_(cluster), id_(std::move(id)) {}

  Outcome Init() override {
    cluster_.MayCrash();
    if (cluster_.Happens(cluster_.faults_.lost_request, "lost request"))
      return {Reaction::kRetry, "lost request"};
    SimCluster::Producing& producing = cluster_.producers_[id_];
    ++producing.epoch;
    if (producing.open != nullptr) cluster_.End(*producing.open, false);
    producing.open.reset();
    epoch_ = producing.epoch;
    if (cluster_.Happens(cluster_.faults_.lost_response, "lost response"))
      return {Reaction::kRetry, "lost response"};
    return {};
  }

  Outcome Begin() override {
    cluster_.MayCrash();
    COBBLESTONE_CHECK(txn_ == nullptr, "a transaction began in another");
    if (fenced()) return {Reaction::kFenced, "fenced"};
    txn_ = std::make_shared<SimCluster::Txn>();
    txn_->id = id_;
    txn_->epoch = epoch_;
    failed_ = false;
    return {};
  }

  Outcome Produce(TopicPartition where, std::string_view key, std::string value,
                  std::uint64_t* offset) override {
    return Add({.where = where, .key = std::string(key), .value = std::move(value), .offset = offset});
  }
  Outcome ProduceTombstone(TopicPartition where, std::string_view key, std::uint64_t* offset) override {
    return Add({.where = where, .key = std::string(key), .tombstone = true, .offset = offset});
  }

  Outcome Flush() override {
    cluster_.MayCrash();
    if (Outcome o = SendSome(queue_.size()); !o.ok()) return o;
    return failed_ ? Outcome{Reaction::kAbort, "not delivered"} : Outcome{};
  }

  Outcome SendOffsets(const std::vector<OffsetToSend>& offsets, const Membership& membership) override {
    cluster_.MayCrash();
    if (Outcome o = Check(); !o.ok()) return o;
    if (cluster_.Happens(cluster_.faults_.lost_request, "lost request"))
      return {Reaction::kRetry, "lost request"};
    const auto& ref = *static_cast<const MemberRef*>(membership.get());
    const auto member = cluster_.members_.find(ref.id);
    if (member == cluster_.members_.end() || member->second.lost)
      return {Reaction::kAbort, "UNKNOWN_MEMBER_ID"};
    if (ref.generation != cluster_.generation_) return {Reaction::kAbort, "ILLEGAL_GENERATION"};
    Register();
    txn_->offsets.clear();  // a repeated call replaces the offsets
    for (const OffsetToSend& one : offsets)
      if (one.where.topic == cluster_.options_.journal)
        txn_->offsets.push_back(
            {.slot = one.where.partition, .offset = one.offset, .metadata = one.metadata});
    if (cluster_.Happens(cluster_.faults_.lost_response, "lost response"))
      return {Reaction::kRetry, "lost response"};
    return {};
  }

  Outcome Commit() override { return End(true); }
  Outcome Abort() override { return End(false); }
  [[nodiscard]] bool suspect() const override { return suspect_ && !cluster_.hide_suspects_; }

 private:
  struct Queued {
    TopicPartition where;
    std::string key;
    std::string value{};
    bool tombstone = false;
    std::uint64_t* offset = nullptr;
  };

  [[nodiscard]] bool fenced() const { return cluster_.producers_[id_].epoch != epoch_; }

  Outcome Check() {
    if (fenced()) return {Reaction::kFenced, "INVALID_PRODUCER_EPOCH"};
    COBBLESTONE_CHECK(txn_ != nullptr, "no transaction is open");
    // A stray of an earlier end request or the timeout has ended the transaction.
    if (txn_->state != SimCluster::TxnState::kOpen) return {Reaction::kReplace, "INVALID_TXN_STATE"};
    return {};
  }

  // Registers the transaction in the cluster at the first write.
  void Register() {
    SimCluster::Producing& producing = cluster_.producers_[id_];
    if (producing.open == txn_) return;
    txn_->begun = cluster_.now_;
    producing.open = txn_;
    cluster_.open_.push_back(txn_);
  }

  Outcome Add(Queued queued) {
    queue_.push_back(std::move(queued));
    // At random, some records are sent immediately.
    return cluster_.random_() % 4 == 0 ? SendSome(1 + cluster_.random_() % queue_.size()) : Outcome{};
  }

  Outcome SendSome(std::size_t count) {
    for (; count > 0 && !queue_.empty(); --count) {
      if (Outcome o = Check(); !o.ok()) return o;
      Queued queued = std::move(queue_.front());
      queue_.pop_front();
      if (cluster_.Happens(cluster_.faults_.delivery, "not delivered")) {
        failed_ = true;
        continue;
      }
      Register();
      auto& entries = cluster_.At(queued.where).entries;
      *queued.offset = entries.size();
      entries.push_back({.txn = txn_,
                         .key = std::move(queued.key),
                         .value = std::move(queued.value),
                         .tombstone = queued.tombstone,
                         .timestamp = 2.0});
      txn_->wrote.try_emplace(queued.where, *queued.offset);
    }
    return {};
  }

  Outcome End(bool commit) {
    cluster_.MayCrash();
    if (fenced()) return {Reaction::kFenced, "INVALID_PRODUCER_EPOCH"};
    if (txn_ == nullptr) return {};
    if (txn_->state != SimCluster::TxnState::kOpen) {
      // An earlier request has already ended the transaction: a repeated request gets the same answer as the
      // first.
      const bool same = (txn_->state == SimCluster::TxnState::kCommitted) == commit;
      if (same && ended_) {
        txn_.reset();
        return {};
      }
      return {Reaction::kReplace, "INVALID_TXN_STATE"};
    }
    COBBLESTONE_CHECK(!commit || queue_.empty(), "a commit before all was flushed");
    if (cluster_.Happens(cluster_.faults_.lost_request, "lost request of an end")) return Unknown();
    SimCluster::Producing& producing = cluster_.producers_[id_];
    if (producing.open == txn_) {
      if (cluster_.Happens(cluster_.faults_.duplicate_end, "end sent twice")) {
        suspect_ = true;
        cluster_.strays_.push_back(
            {.at = cluster_.now_ + Millis(1 + cluster_.random_() % 100), .id = id_, .epoch = epoch_});
      }
      cluster_.End(*txn_, commit);
      producing.open.reset();
    } else {
      txn_->state = commit ? SimCluster::TxnState::kCommitted : SimCluster::TxnState::kAborted;
    }
    queue_.clear();
    cluster_.MayCrash();
    if (cluster_.Happens(cluster_.faults_.lost_response, "lost response of an end")) {
      ended_ = true;
      return Unknown();
    }
    txn_.reset();
    ended_ = false;
    return {};
  }

  // The reaction of a client to a missing answer: retry, or give up.
  Outcome Unknown() {
    return {cluster_.random_() % 2 == 0 ? Reaction::kRetry : Reaction::kReplace, "no answer"};
  }

  SimCluster& cluster_;
  const std::string id_;
  std::uint64_t epoch_ = 0;
  std::shared_ptr<SimCluster::Txn> txn_;
  std::deque<Queued> queue_;
  bool failed_ = false;
  bool suspect_ = false;
  bool ended_ = false;
};

// ---- Reader -------------------------------------------------------------------------------------------------

class SimReader final : public Reader {
 public:
  explicit SimReader(SimCluster& cluster) : cluster_(cluster) {}

  Status Start(TopicPartition where, std::uint64_t offset) override {
    cluster_.MayCrash();
    COBBLESTONE_CHECK(next_.count(where) == 0, "a partition is started twice");
    next_[where] = {.offset = offset == stream::kafka::kBeginning ? 0 : offset};
    return Status::Ok();
  }
  void Stop(TopicPartition where) override { next_.erase(where); }

  Status Poll(TopicPartition where, std::size_t most, std::deque<Message>* out) override {
    Place& place = next_.at(where);
    place.at_end = false;
    if (cluster_.Happens(cluster_.faults_.slow_reads, "slow read")) return Status::Ok();
    const auto& entries = cluster_.At(where).entries;
    const std::uint64_t end = cluster_.StableEnd(where);
    if (place.offset > entries.size())
      return Status::Fatal("the log has nothing any more where reading must go on");
    most = std::min<std::size_t>(most, 1 + cluster_.random_() % 20);
    std::size_t got = 0;
    for (; place.offset < end && got < most; ++place.offset) {
      const SimCluster::Entry& entry = entries[place.offset];
      if (entry.marker || entry.compacted) continue;
      if (entry.txn != nullptr && entry.txn->state != SimCluster::TxnState::kCommitted) continue;
      auto* copy = new SimCluster::Entry(entry);
      out->emplace_back(place.offset, copy->timestamp, std::string_view(copy->key),
                        std::string_view(copy->value), copy->tombstone, copy,
                        [](void* e) { delete static_cast<SimCluster::Entry*>(e); });
      ++got;
    }
    place.at_end = got == 0 && place.offset >= end;
    return Status::Ok();
  }

  [[nodiscard]] std::optional<std::uint64_t> AtEnd(TopicPartition where) const override {
    const auto found = next_.find(where);
    if (found == next_.end() || !found->second.at_end) return std::nullopt;
    return found->second.offset;
  }
  [[nodiscard]] std::uint64_t KnownEnd(TopicPartition where) const override {
    return cluster_.StableEnd(where);
  }
  void Wait(Millis) override {}
  void Interrupt() override {}

 private:
  struct Place {
    std::uint64_t offset = 0;
    bool at_end = false;
  };
  SimCluster& cluster_;
  std::map<TopicPartition, Place> next_;
};

// ---- Group --------------------------------------------------------------------------------------------------

class SimGroup final : public Group {
 public:
  SimGroup(SimCluster& cluster, std::string instance, GroupListener& listener)
      : cluster_(cluster), instance_(std::move(instance)), listener_(listener) {}

  Status Join() override {
    cluster_.MayCrash();
    // A returning static member gets its former slots, without a rebalance unless one is under way.
    for (auto it = cluster_.members_.begin(); it != cluster_.members_.end(); ++it) {
      if (it->second.instance != instance_ || it->second.lost) continue;
      id_ = cluster_.next_member_++;
      for (auto& [slot, id] : cluster_.assigned_)
        if (id == it->first) id = id_;
      const bool at_rest = it->second.joined == cluster_.generation_;
      cluster_.members_.erase(it);
      cluster_.members_[id_] = {
          .instance = instance_, .id = id_, .joined = cluster_.generation_, .last_poll = cluster_.now_};
      if (!at_rest) cluster_.Rebalance();
      return Status::Ok();
    }
    id_ = cluster_.next_member_++;
    cluster_.members_[id_] = {.instance = instance_, .id = id_, .last_poll = cluster_.now_};
    cluster_.Rebalance();
    return Status::Ok();
  }

  Status Poll() override {
    cluster_.MayCrash();
    const auto found = cluster_.members_.find(id_);
    if (found == cluster_.members_.end()) return Status::Fenced("another has this instance");
    SimCluster::Member& member = found->second;
    member.last_poll = cluster_.now_;
    if (member.lost) {
      const std::vector<std::uint32_t> lost(member.owned.begin(), member.owned.end());
      if (!lost.empty()) listener_.Revoked(lost, true);
      cluster_.members_.erase(id_);
      return Join();
    }
    if (member.generation != cluster_.generation_ && cluster_.random_() % 2 == 0)
      member.generation = member.joined = cluster_.generation_;
    if (member.generation != cluster_.generation_) return Status::Ok();  // has not seen the rebalance yet
    std::set<std::uint32_t> ours;
    for (const auto& [k, id] : cluster_.assigned_)
      if (id == id_) ours.insert(k);
    std::vector<std::uint32_t> revoked;
    std::set_difference(member.owned.begin(), member.owned.end(), ours.begin(), ours.end(),
                        std::back_inserter(revoked));
    if (!revoked.empty()) {
      listener_.Revoked(revoked, false);
      cluster_.MayCrash();
      for (const std::uint32_t k : revoked) member.owned.erase(k);
      cluster_.Rebalance();  // the second round, as the member joins again
      return Status::Ok();
    }
    std::vector<std::uint32_t> assigned;
    std::set_difference(ours.begin(), ours.end(), member.owned.begin(), member.owned.end(),
                        std::back_inserter(assigned));
    member.owned = std::move(ours);
    if (!assigned.empty()) listener_.Assigned(assigned);
    return Status::Ok();
  }

  [[nodiscard]] Membership Current() override {
    const auto found = cluster_.members_.find(id_);
    return std::make_shared<MemberRef>(
        MemberRef{.id = id_, .generation = found == cluster_.members_.end() ? 0 : found->second.generation});
  }

  Result<std::vector<CommittedPosition>> Committed(const std::vector<std::uint32_t>& slots, bool stable,
                                                   Millis) override {
    cluster_.MayCrash();
    if (cluster_.Happens(cluster_.faults_.unstable_positions, "positions not readable"))
      return Status::Retry("not now");
    std::vector<CommittedPosition> all;
    for (const std::uint32_t k : slots) {
      if (stable && cluster_.Pending(k)) return Status::Retry("UNSTABLE_OFFSET_COMMIT");
      CommittedPosition one{.slot = k};
      const auto found = cluster_.committed_.find(k);
      if (found != cluster_.committed_.end()) {
        one.offset = found->second.offset;
        one.metadata = found->second.metadata;
      }
      all.push_back(std::move(one));
    }
    return all;
  }

  std::optional<stream::kafka::GroupView> View() override {
    cluster_.MayCrash();
    stream::kafka::GroupView view{.self = std::to_string(id_)};
    if (!cluster_.AtRest()) return view;
    for (const auto& [id, member] : cluster_.members_) {
      if (member.lost) continue;
      view.members.push_back({.id = std::to_string(id)});
      for (const auto& [k, owner] : cluster_.assigned_)
        if (owner == id) view.members.back().slots.push_back(k);
    }
    return view;
  }

  Status RequestRebalance() override {
    cluster_.MayCrash();
    ++cluster_.counts_.by_kind["slot that was nobody's"];
    cluster_.Rebalance();
    return Status::Ok();
  }

  void Leave() override {
    const auto found = cluster_.members_.find(id_);
    if (found == cluster_.members_.end()) return;
    const std::vector<std::uint32_t> owned(found->second.owned.begin(), found->second.owned.end());
    const bool lost = found->second.lost;
    if (!owned.empty()) listener_.Revoked(owned, lost);
    cluster_.members_.erase(id_);
    cluster_.Rebalance();
  }

 private:
  SimCluster& cluster_;
  const std::string instance_;
  GroupListener& listener_;
  std::uint64_t id_ = 0;
};

Result<std::unique_ptr<Producer>> SimCluster::Client::NewProducer(const std::string& transactional_id) {
  return std::unique_ptr<Producer>(std::make_unique<SimProducer>(cluster_, transactional_id));
}
Result<std::unique_ptr<Reader>> SimCluster::Client::NewReader(stream::kafka::Millis) {
  return std::unique_ptr<Reader>(std::make_unique<SimReader>(cluster_));
}
Result<std::unique_ptr<Group>> SimCluster::Client::NewGroup(const std::string& instance,
                                                            GroupListener& listener) {
  return std::unique_ptr<Group>(std::make_unique<SimGroup>(cluster_, instance, listener));
}

}  // namespace cobblestone::sim
