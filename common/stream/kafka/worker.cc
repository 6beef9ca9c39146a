#include "common/stream/kafka/worker.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "common/base/failpoint.h"

namespace cobblestone::stream::kafka {

namespace {

constexpr Millis kPublishEvery{100};
constexpr int kMaxTries = 20;
constexpr Millis kRestoreSlice{20};  // per slot, while others run

double Seconds(Time::duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

Worker::Worker(WorkerOptions options, Cluster& cluster, StateSpace& space, Background& background,
               SlotFactory factory)
    : options_(std::move(options)),
      cluster_(cluster),
      space_(space),
      background_(background),
      factory_(std::move(factory)),
      watch_(options_.slots, options_.watch_interval) {
  options_.task.owner = options_.instance;
}

Worker::~Worker() {
  tasks_.clear();  // before the reader that they use
}

// ---- The loop -----------------------------------------------------------------------------------------------

Status Worker::Step(Millis wait) {
  ++turns_;
  if (group_ == nullptr)
    if (Status s = Begin(); !s.ok()) return s;
  if (joined_) {
    if (Status s = TendGroup(); !s.ok()) return s;
  } else if (Status s = JoinWhenReady(); !s.ok()) {
    return s;
  }
  if (producer_ == nullptr)
    if (Status s = NewProducer(); !s.ok()) return s;
  FindPositions();
  SettleOthers();
  bool moved = AdvanceTasks();
  for (const auto& [k, task] : tasks_) {
    if (!task->owned() || task->needs_rules() == 0) continue;
    // The group assigns slots regardless of rules versions: as long as this worker is a member, no other
    // worker gets the slot.
    Status s = CannotRun(k, task->needs_rules());
    Leave(true);
    return s;
  }
  const bool consumed = producer_ != nullptr && RunRound();
  moved = moved || consumed;
  if (producer_ != nullptr && open_ && CommitDue(!consumed)) {
    Commit({});
    moved = true;
  }
  for (auto& [k, task] : tasks_) {
    task->Tend(cluster_.Now());
    if (task->failure().ok()) continue;
    GiveBack();
    return task->failure();
  }
  Publish();
  if (!moved) {
    Millis at_most = wait;
    if (open_) {
      const auto left = std::chrono::duration_cast<Millis>(begun_ + options_.commit_min - cluster_.Now());
      at_most = std::clamp(left, Millis(0), wait);
    }
    reader_->Wait(at_most);
  }
  return Status::Ok();
}

Status Worker::Begin() {
  auto reader = cluster_.NewReader(kLongFetch);
  if (!reader.ok()) return reader.status();
  reader_ = std::move(*reader);
  // Ends a transaction that this worker left open before a restart, so that no reader waits for it.
  if (Status s = NewProducer(); !s.ok()) return s;
  auto group = cluster_.NewGroup(options_.instance, *this);
  if (!group.ok()) return group.status();
  group_ = std::move(*group);
  // Recovers ahead: local state is brought up to date before the worker joins the group.
  for (const std::uint32_t k : space_.Slots())
    if (k < options_.slots && MayFollow(k)) (void)TaskOf(k);
  if (options_.standby == Standby::kHot)
    for (std::uint32_t k = 0; k < options_.slots; ++k)
      if (MayFollow(k)) (void)TaskOf(k);
  return Status::Ok();
}

// One of several workers on a machine follows a slot.
bool Worker::MayFollow(std::uint32_t slot) const { return slot % options_.standby_of == options_.standby_at; }

Status Worker::JoinWhenReady() {
  for (const auto& [k, task] : tasks_) {
    if (task->phase() == Phase::kPosition || task->phase() == Phase::kCheckpoint ||
        task->phase() == Phase::kReexecute)
      return Status::Ok();
    if (task->phase() == Phase::kStandby && !reader_->AtEnd({options_.task.journal, k})) return Status::Ok();
  }
  if (Status s = CheckRules(); !s.ok()) return s.code() == StatusCode::kRetry ? Status::Ok() : s;
  joined_ = true;
  return group_->Join();
}

Status Worker::TendGroup() {
  if (Status s = group_->Poll(); !s.ok()) return s;
  if (!watch_.Unowned(*group_, cluster_.Now())) return Status::Ok();
  options_.report("a slot has no owner: a member died during a rebalance; requesting another rebalance");
  return group_->RequestRebalance();
}

// Checked before the group takes slots from workers that can run them.
Status Worker::CheckRules() {
  std::vector<std::uint32_t> slots(options_.slots);
  std::iota(slots.begin(), slots.end(), 0);
  const auto committed = group_->Committed(slots, false, Millis(1000));
  if (!committed.ok()) {
    if (committed.status().code() != StatusCode::kRetry)
      options_.report("cannot read the positions of slots: " + committed.status().message());
    return Status::Retry(committed.status().message());
  }
  for (const CommittedPosition& one : *committed) {
    if (!one.offset) continue;
    const auto position = DecodePosition(*one.offset, one.metadata);  // an invalid one stops its slot later
    if (position.ok() && position->rules_version > options_.task.rules_version)
      return CannotRun(one.slot, position->rules_version);
  }
  return Status::Ok();
}

Status Worker::CannotRun(std::uint32_t slot, std::uint32_t rules_version) const {
  return Status::InvalidArgument(
      "slot " + std::to_string(slot) + " needs rules version " + std::to_string(rules_version) +
      ", but this program has " + std::to_string(options_.task.rules_version) +
      ": workers of a newer version are taking over, and this worker leaves its slots to "
      "them. Run the newer version on this machine");
}

Status Worker::NewProducer() {
  producer_.reset();
  auto producer = cluster_.NewProducer(options_.instance);
  if (!producer.ok()) return producer.status();
  ++counts_.producers;
  const Outcome o = (*producer)->Init();
  ++turns_;
  if (!o.ok()) {
    // The cluster is unavailable or slow: the next step retries.
    options_.report("the producer " + options_.instance + " is not ready: " + o.message);
    return Status::Ok();
  }
  producer_ = std::move(*producer);
  return Status::Ok();
}

Task& Worker::TaskOf(std::uint32_t slot) {
  auto& task = tasks_[slot];
  if (task == nullptr) {
    task =
        std::make_unique<Task>(slot, options_.task, factory_, space_, background_, *reader_, options_.report);
    unknown_since_[slot] = cluster_.Now();
  }
  return *task;
}

void Worker::Publish() {
  const Time at = cluster_.Now();
  if (at - published_at_ < kPublishEvery) return;
  published_at_ = at;
  WorkerStatus now = counts_;
  for (const auto& [k, task] : tasks_) now.tasks.push_back(task->Look());
  const std::lock_guard lock(mutex_);
  published_ = std::move(now);
}

WorkerStatus Worker::Look() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

// ---- Ownership ----------------------------------------------------------------------------------------------

void Worker::Assigned(const std::vector<std::uint32_t>& slots) {
  ++counts_.rebalances;
  others_since_ = cluster_.Now();
  for (const std::uint32_t k : slots) {
    Task& task = TaskOf(k);
    task.SetOwned(true);
    unknown_since_[k] = cluster_.Now();
    fenced_.erase(k);
  }
}

void Worker::Revoked(const std::vector<std::uint32_t>& slots, bool lost) {
  ++counts_.rebalances;
  if (producer_ != nullptr) {
    if (!lost) {
      // Commits the open transaction, and with it that these slots are released: their next owner need not
      // fence this worker.
      if (open_ || OpenTransaction()) Commit(slots);
    } else if (open_) {
      Undo({.reaction = Reaction::kAbort, .message = "slots were lost to another worker"});
    }
  }
  others_since_ = cluster_.Now();
  for (const std::uint32_t k : slots) {
    const auto found = tasks_.find(k);
    if (found == tasks_.end()) continue;
    if (options_.standby != Standby::kNone && MayFollow(k)) {
      found->second->SetOwned(false);
      unknown_since_[k] = cluster_.Now();
    } else {
      tasks_.erase(found);
      unknown_since_.erase(k);
    }
  }
}

// Reads the committed positions of slots that need one.
void Worker::FindPositions() {
  std::vector<std::uint32_t> slots;
  for (const auto& [k, task] : tasks_)
    if (task->phase() == Phase::kPosition) slots.push_back(k);
  if (slots.empty()) return;
  auto committed = group_->Committed(slots, true, Millis(200));
  if (!committed.ok()) {
    if (committed.status().code() != StatusCode::kRetry) {
      options_.report("cannot read the positions of slots: " + committed.status().message());
      return;
    }
    // An open transaction hides the positions. If it does not end soon, its owner is dead.
    bool patient = false;
    for (const std::uint32_t k : slots)
      patient = patient || cluster_.Now() - unknown_since_[k] < options_.unstable_patience;
    if (patient) return;
    auto before = group_->Committed(slots, false, Millis(1000));
    if (!before.ok()) return;
    std::set<std::string> owners;
    for (const CommittedPosition& one : *before) {
      if (!one.offset || !tasks_[one.slot]->owned()) continue;
      const auto position = DecodePosition(*one.offset, one.metadata);
      if (position.ok() && position->owner != options_.instance && !position->released)
        owners.insert(position->owner);
    }
    for (const std::string& owner : owners) (void)Fence(owner);
    for (const std::uint32_t k : slots) unknown_since_[k] = cluster_.Now();
    return;
  }
  std::set<std::string> fenced_now;
  for (const CommittedPosition& one : *committed) {
    Task& task = *tasks_[one.slot];
    if (!one.offset) {
      task.SetPosition(std::nullopt);
      continue;
    }
    const auto position = DecodePosition(*one.offset, one.metadata);
    if (!position.ok()) {
      task.Stop(position.status().message());
      continue;
    }
    // An owner that did not release the slot may have left a transaction open, which hides its records from
    // every reader, and the owner may resume.
    if (task.owned() && !position->released && position->owner != options_.instance &&
        fenced_[one.slot] != position->owner) {
      if (fenced_now.count(position->owner) == 0 && !Fence(position->owner)) continue;
      fenced_now.insert(position->owner);
      fenced_[one.slot] = position->owner;
      continue;  // all pending transactions are now decided: read again
    }
    task.SetPosition(*position);
  }
}

bool Worker::Fence(const std::string& owner) {
  auto producer = cluster_.NewProducer(owner);
  if (!producer.ok()) return false;
  const Outcome o = (*producer)->Init();
  ++turns_;
  if (!o.ok()) {
    options_.report("the previous owner, " + owner + ", cannot be fenced: " + o.message);
    return false;
  }
  ++counts_.fenced;
  options_.report("the previous owner, " + owner + ", did not leave cleanly and was fenced");
  return true;
}

// Called at every step; acts when the assignment has not changed for settle_after. Slots of other workers that this
// worker has recovered ahead or owned before are kept or dropped as the standby mode requires.
void Worker::SettleOthers() {
  if (options_.standby == Standby::kHot || !others_since_ ||
      cluster_.Now() - *others_since_ < options_.settle_after)
    return;
  others_since_.reset();
  if (options_.standby == Standby::kCheckpoint) {
    for (std::uint32_t k = 0; k < options_.slots; ++k) {
      if (!MayFollow(k) || TaskOf(k).owned()) continue;
      TaskOf(k).FollowCheckpoints();
      unknown_since_[k] = cluster_.Now();
    }
    return;
  }
  for (auto task = tasks_.begin(); task != tasks_.end();) {
    if (task->second->owned()) {
      ++task;
      continue;
    }
    unknown_since_.erase(task->first);
    task = tasks_.erase(task);
  }
}

bool Worker::AdvanceTasks() {
  bool moved = false;
  for (auto& [k, task] : tasks_) {
    const Phase phase = task->phase();
    if (phase == Phase::kRunning || phase == Phase::kPosition || phase == Phase::kStopped) continue;
    moved = task->Advance(cluster_, cluster_.Now() + kRestoreSlice) || moved;
  }
  return moved;
}

// ---- Records and transactions -------------------------------------------------------------------------------

bool Worker::OpenTransaction() {
  if (open_) return true;
  if (producer_->suspect()) {
    options_.report("the producer " + options_.instance +
                    " is replaced, because it sent the end of a transaction twice");
    if (Status s = NewProducer(); !s.ok() || producer_ == nullptr) return false;
  }
  const Outcome o = producer_->Begin();
  if (!o.ok()) {
    Undo(o);
    return false;
  }
  open_ = true;
  ending_ = false;
  begun_ = cluster_.Now();
  records_in_it_ = 0;
  return true;
}

// One round of every running slot, or of a single careful slot (DeathCare). Outputs are produced at once.
bool Worker::RunRound() {
  Task* alone = nullptr;
  for (auto& [k, task] : tasks_) {
    if (task->phase() != Phase::kRunning || !task->careful() || !task->has_input()) continue;
    if (alone == nullptr || (alone->slot() <= last_alone_ && k > last_alone_)) alone = task.get();
  }
  if (alone != nullptr && open_) {
    commit_now_ = true;  // first commit the open transaction
    return false;
  }
  bool consumed = false;
  bool wanted = false;
  for (auto& [k, task] : tasks_) {
    if (task->phase() != Phase::kRunning || (alone != nullptr && task.get() != alone)) continue;
    commit_now_ = commit_now_ || task->announces();
    wanted = wanted || task->wants_commit() || task->announces();
    if (!open_) {
      if (!task->has_input()) continue;
      if (!OpenTransaction()) return false;
      Failpoint("K0");
    }
    std::uint64_t records = 0;
    std::uint64_t work = 0;
    const Outcome o = task->Round(*producer_, &records, &work);
    if (!o.ok() || task->tainted()) {
      Undo(o.ok() ? Outcome{.reaction = Reaction::kAbort, .message = "a slot has stopped"} : o);
      return true;
    }
    consumed = consumed || work > 0;
    records_in_it_ += work;
    counts_.records += records;
  }
  if (alone != nullptr) {
    last_alone_ = alone->slot();
    commit_now_ = true;
  }
  if (!open_ && wanted) (void)OpenTransaction();
  return consumed;
}

// Without waiting input: after commit_min, so that not every record gets its own commit. Otherwise after
// commit_max; slow commits are made less often (3 times their mean duration).
bool Worker::CommitDue(bool drained) const {
  const double age = Seconds(cluster_.Now() - begun_);
  if (commit_now_) return true;
  if (records_in_it_ >= options_.commit_records) return true;
  if (drained) return age >= Seconds(options_.commit_min);
  return age >= std::max(Seconds(options_.commit_max), 3 * commit_time_);
}

bool Worker::Commit(const std::vector<std::uint32_t>& released) {
  const Time start = cluster_.Now();
  const Outcome o = TryCommit(released);
  if (!o.ok()) {
    Undo(o);
    return false;
  }
  open_ = false;
  ending_ = false;
  commit_now_ = false;
  ++counts_.commits;
  const double took = Seconds(cluster_.Now() - start);
  counts_.commit_seconds += took;
  commit_time_ = commit_time_ == 0 ? took : 0.9 * commit_time_ + 0.1 * took;
  return true;
}

Outcome Worker::TryCommit(const std::vector<std::uint32_t>& released) {
  for (auto& [k, task] : tasks_)
    if (task->tainted()) return {Reaction::kAbort, "slot " + std::to_string(k) + " has failed"};
  const auto gives_back = [&](std::uint32_t k) {
    return std::find(released.begin(), released.end(), k) != released.end();
  };
  std::vector<Task*> parts;
  for (auto& [k, task] : tasks_) {
    if (task->phase() != Phase::kRunning) continue;
    if (Outcome o = task->Write(*producer_); !o.ok()) return o;
    if (task->tainted()) return {Reaction::kAbort, "slot " + std::to_string(k) + " has failed"};
    if (task->touched() || task->announces() || gives_back(k)) parts.push_back(task.get());
  }
  Failpoint("K2");
  Time at = cluster_.Now();
  const auto lap = [&] {
    const Time before = std::exchange(at, cluster_.Now());
    return Seconds(at - before);
  };
  if (Outcome o = producer_->Flush(); !o.ok()) return o;
  ++turns_;
  counts_.flush_seconds += lap();
  Failpoint("K3");
  const bool inputs = cluster_.Now() - last_offsets_ >= options_.offsets_interval;
  std::vector<OffsetToSend> offsets;
  for (Task* task : parts) task->AddOffsets(options_.instance, gives_back(task->slot()), inputs, &offsets);
  if (inputs) last_offsets_ = cluster_.Now();
  if (!offsets.empty()) {
    const Outcome o = Try(kMaxTries, [&] { return producer_->SendOffsets(offsets, group_->Current()); });
    if (!o.ok()) return o.reaction == Reaction::kRetry ? Outcome{Reaction::kAbort, o.message} : o;
  }
  counts_.offsets_seconds += lap();
  Failpoint("K4");
  ending_ = true;
  if (Outcome o = Try(0, [&] { return producer_->Commit(); }); !o.ok()) return o;
  counts_.end_seconds += lap();
  Failpoint("K5");
  const Time now = cluster_.Now();
  for (Task* task : parts) task->Committed(now, begun_);
  if (options_.task.commits != nullptr) options_.task.commits->Settled(true);
  Failpoint("K6");
  return {};
}

Outcome Worker::Try(int tries, const std::function<Outcome()>& call) {
  for (int tried = 1;; ++tried) {
    Outcome o = call();
    ++turns_;
    if (o.reaction != Reaction::kRetry || tried == tries) return o;
  }
}

// The transaction has failed, or its outcome is unknown. Its tasks return to the committed state.
void Worker::Undo(const Outcome& why) {
  ++counts_.aborts;
  if (options_.task.commits != nullptr) options_.task.commits->Settled(false);
  options_.report("a transaction of " + options_.instance + " is being aborted: " + why.message);
  Reaction reaction = why.reaction;
  if (open_ && reaction == Reaction::kAbort && producer_ != nullptr) {
    const Outcome o = Try(kMaxTries, [&] { return producer_->Abort(); });
    if (!o.ok()) {
      options_.report("cannot abort the transaction: " + o.message);
      reaction = Reaction::kReplace;
    }
  }
  open_ = false;
  commit_now_ = false;
  if (reaction != Reaction::kAbort) producer_.reset();  // the next step creates another
  ending_ = false;
  for (auto& [k, task] : tasks_) {
    if (!task->touched() && !task->tainted()) continue;
    task->Rewind();
    unknown_since_[k] = cluster_.Now();
  }
}

// The worker ends by itself (a full disk): the next owner must not take this for a crash that a record
// caused.
void Worker::GiveBack() {
  std::vector<std::uint32_t> slots;
  for (const auto& [k, task] : tasks_)
    if (task->owned() && task->phase() == Phase::kRunning) slots.push_back(k);
  if (slots.empty() || producer_ == nullptr) return;
  if (open_ || OpenTransaction()) Commit(slots);
}

void Worker::Leave(bool politely) {
  if (group_ == nullptr) return;
  if (politely) group_->Leave();  // calls Revoked()
}

}  // namespace cobblestone::stream::kafka
