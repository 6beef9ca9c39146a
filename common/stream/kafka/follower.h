// Maintains the states of all slots on this machine as of the last commit, without owning a slot or joining
// the group: for read-only processes (services/view). Any number of followers may follow one deployment.
//
// A follower either applies checkpoints (state is as old as kafka.checkpoint_interval) or re-executes the
// owners' commits (as old as a state write; costs as much as a hot standby of every slot).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/base/status.h"
#include "common/stream/kafka/background.h"
#include "common/stream/kafka/state.h"
#include "common/stream/kafka/task.h"
#include "common/stream/kafka/transport.h"

namespace cobblestone::stream::kafka {

struct FollowerOptions {
  TaskOptions task;
  std::uint32_t slots = 1;
  bool execute = false;
  Millis look_every{2000};  // for slots without a commit
};

class StateFollower {
 public:
  // `space` holds states of an earlier run, or none. All arguments must outlive the follower. `report`:
  // messages for the operator, from the follower's thread.
  StateFollower(Cluster& cluster, FollowerOptions options, SlotFactory factory, StateSpace& space,
                std::function<void(const std::string&)> report);
  // Ends the thread. All stores from StoreOf() must have been released.
  ~StateFollower();

  // The state on disk, which continues to be updated. Null: no complete state yet. Any thread.
  [[nodiscard]] std::shared_ptr<const store::Store> StoreOf(std::uint32_t slot) const;
  // Why the follower stopped by itself: a failure of this machine's disk. Any thread.
  [[nodiscard]] Status failure() const;

 private:
  class Space;

  void Work();
  Status Follow(Reader& reader);
  Status FindPositions(Group& group, std::vector<std::unique_ptr<Task>>& tasks, Reader& reader);

  Cluster& cluster_;
  const FollowerOptions options_;
  const SlotFactory factory_;
  std::unique_ptr<Space> space_;
  std::function<void(const std::string&)> report_;
  BackgroundThread background_;
  std::atomic<bool> stopping_{false};
  std::condition_variable wake_;
  mutable std::mutex mutex_;
  Status failure_;            // guarded by mutex_
  Reader* reader_ = nullptr;  // guarded by mutex_; for Interrupt()
  std::thread thread_;
};

}  // namespace cobblestone::stream::kafka
