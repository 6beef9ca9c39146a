#include "common/stream/kafka/follower.h"

#include <condition_variable>
#include <map>
#include <utility>

#include "common/base/thread.h"
#include "common/stream/kafka/position.h"

namespace cobblestone::stream::kafka {

namespace {

constexpr Millis kPatience{10000};
constexpr Millis kAwhile{200};
constexpr Millis kRest{5000};  // delay before the follower starts again

// One of several handles to a shared store.
class SharedStore final : public store::Store {
 public:
  explicit SharedStore(std::shared_ptr<store::Store> store) : store_(std::move(store)) {}

  Status Get(std::string_view key, std::string* value) const override { return store_->Get(key, value); }
  Status ScanFrom(std::string_view prefix, std::string_view from, const Visit& visit) const override {
    return store_->ScanFrom(prefix, from, visit);
  }
  [[nodiscard]] Result<std::string> Meta() const override { return store_->Meta(); }
  [[nodiscard]] std::unique_ptr<const store::Reader> Snapshot() const override { return store_->Snapshot(); }
  Status Apply(const std::vector<store::Row>& rows, std::string_view meta) override {
    return store_->Apply(rows, meta);
  }
  Status Checkpoint(const std::string& path) override { return store_->Checkpoint(path); }
  [[nodiscard]] Status VerifyBeyond(const std::string& copy) const override {
    return store_->VerifyBeyond(copy);
  }
  [[nodiscard]] std::uint64_t disk_bytes() const override { return store_->disk_bytes(); }

 private:
  const std::shared_ptr<store::Store> store_;
};

}  // namespace

// Shares each store that a task has open with readers, and waits for the readers before the store is removed
// or opened again.
class StateFollower::Space final : public StateSpace {
 public:
  explicit Space(StateSpace& space) : space_(space) {}

  Result<std::unique_ptr<store::Store>> Open(std::uint32_t slot) override {
    TakeBack(slot);
    auto opened = space_.Open(slot);
    if (!opened.ok()) return opened.status();
    std::shared_ptr<store::Store> shared = std::move(*opened);
    {
      const std::lock_guard lock(mutex_);
      stores_[slot] = shared;
    }
    return std::unique_ptr<store::Store>(std::make_unique<SharedStore>(std::move(shared)));
  }
  Status Remove(std::uint32_t slot) override {
    TakeBack(slot);
    return space_.Remove(slot);
  }
  Result<std::unique_ptr<store::Store>> OpenCopy(std::uint32_t slot, store::Store& of) override {
    return space_.OpenCopy(slot, of);
  }
  void RemoveCopy(std::uint32_t slot) override { space_.RemoveCopy(slot); }
  Trace* TraceOf(std::uint32_t) override { return nullptr; }
  std::vector<std::uint32_t> Slots() override { return space_.Slots(); }

  std::shared_ptr<const store::Store> Get(std::uint32_t slot) {
    const std::lock_guard lock(mutex_);
    const auto found = stores_.find(slot);
    if (found == stores_.end()) return nullptr;
    // A handle for one reader: dropping it wakes TakeBack(), which waits for the last handle.
    return {found->second.get(), [this, held = found->second](const store::Store*) mutable {
              held.reset();
              const std::lock_guard notifying(mutex_);
              returned_.notify_all();
            }};
  }

 private:
  void TakeBack(std::uint32_t slot) {
    std::unique_lock lock(mutex_);
    const auto found = stores_.find(slot);
    if (found == stores_.end()) return;
    const std::weak_ptr<store::Store> returned = found->second;
    stores_.erase(found);
    returned_.wait(lock, [&] { return returned.expired(); });
  }

  StateSpace& space_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::map<std::uint32_t, std::shared_ptr<store::Store>> stores_;  // guarded by mutex_
};

StateFollower::StateFollower(Cluster& cluster, FollowerOptions options, SlotFactory factory,
                             StateSpace& space, std::function<void(const std::string&)> report)
    : cluster_(cluster),
      options_(std::move(options)),
      factory_(std::move(factory)),
      space_(std::make_unique<Space>(space)),
      report_(std::move(report)),
      thread_([this] {
        NameThread("follower");
        Work();
      }) {}

StateFollower::~StateFollower() {
  stopping_ = true;
  {
    const std::lock_guard lock(mutex_);
    if (reader_ != nullptr) reader_->Interrupt();
    wake_.notify_all();
  }
  thread_.join();
}

std::shared_ptr<const store::Store> StateFollower::StoreOf(std::uint32_t slot) const {
  auto store = space_->Get(slot);
  if (store == nullptr) return nullptr;
  const auto meta = store->Meta();
  return meta.ok() && !IsUnfinishedRestore(*meta) ? store : nullptr;
}

Status StateFollower::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void StateFollower::Work() {
  Status ended;
  while (!stopping_ && ended.code() != StatusCode::kFatal && ended.code() != StatusCode::kFull) {
    auto reader = cluster_.NewReader(kLongFetch);
    if (!reader.ok()) {
      ended = reader.status();
      break;
    }
    {
      const std::lock_guard lock(mutex_);
      reader_ = reader->get();
    }
    ended = Follow(**reader);
    {
      const std::lock_guard lock(mutex_);
      reader_ = nullptr;
    }
    background_.Drain();
    if (ended.ok() || stopping_) continue;
    report_("the view restarts: " + ended.message());
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, kRest, [this] { return stopping_.load(); });
  }
  if (stopping_) return;
  const std::lock_guard lock(mutex_);
  failure_ = ended;
}

// Sets the positions of tasks in Phase::kPosition. A slot without any commit is queried again at the next
// call.
Status StateFollower::FindPositions(Group& group, std::vector<std::unique_ptr<Task>>& tasks, Reader& reader) {
  std::vector<std::uint32_t> wanted;
  for (std::uint32_t k = 0; k < tasks.size(); ++k)
    if (tasks[k] == nullptr || tasks[k]->phase() == Phase::kPosition) wanted.push_back(k);
  if (wanted.empty()) return Status::Ok();
  const auto committed = group.Committed(wanted, true, kPatience);
  if (committed.status().code() == StatusCode::kRetry) return Status::Ok();
  if (!committed.ok()) return committed.status();
  for (const CommittedPosition& one : *committed) {
    if (!one.offset) continue;
    const auto position = DecodePosition(*one.offset, one.metadata);
    if (!position.ok()) return position.status();
    auto& task = tasks[one.slot];
    if (task == nullptr) {
      task = std::make_unique<Task>(one.slot, options_.task, factory_, *space_, background_, reader, report_);
      if (!options_.execute) task->FollowCheckpoints();
    }
    task->SetPosition(*position);
  }
  return Status::Ok();
}

Status StateFollower::Follow(Reader& reader) {
  NoListener listener;
  auto group = cluster_.NewGroup("view", listener);
  if (!group.ok()) return group.status();
  std::vector<std::unique_ptr<Task>> tasks(options_.slots);
  Time looked{};
  while (!stopping_) {
    if (cluster_.Now() - looked >= options_.look_every) {
      looked = cluster_.Now();
      if (Status s = FindPositions(**group, tasks, reader); !s.ok()) return s;
    }
    bool moved = false;
    for (const auto& task : tasks) {
      if (task == nullptr || task->phase() == Phase::kPosition || stopping_) continue;
      if (task->phase() == Phase::kStopped) {
        // The state here is a copy, so any problem with it is solved by removing it.
        const std::uint32_t slot = task->slot();
        const std::string problem = task->problem();
        tasks.clear();
        background_.Drain();
        if (Status s = space_->Remove(slot); !s.ok()) return s;
        return Status::Retry("slot " + std::to_string(slot) + " is stopped: " + problem);
      }
      moved = task->Advance(cluster_, cluster_.Now() + kAwhile) || moved;
      task->Tend(cluster_.Now());
      if (!task->failure().ok()) return task->failure();
    }
    if (!moved) reader.Wait(kAwhile);
  }
  return Status::Ok();
}

}  // namespace cobblestone::stream::kafka
