// Keeps the states of all slots on this machine, as of what is committed, without owning or joining anything: for those who
// only look (services/view). Any number of them may follow one deployment.
//
// Follows checkpoints (as old as kafka.checkpoint_interval), or executes what the owners commit (as old as a state write; costs
// what a hot standby of every slot costs).
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
  Millis look_every{2000};  // for slots of which nothing was committed yet
};

class StateFollower {
 public:
  // `space` has states of an earlier run, or none. All must outlive it. `report`: what an operator should know; its thread.
  StateFollower(Cluster& cluster, FollowerOptions options, SlotFactory factory, StateSpace& space,
                std::function<void(const std::string&)> report);
  // Ends its thread. All stores that it gave must have been given back.
  ~StateFollower();

  // The state as it lies on disk; it goes on being written. Null: none is whole yet. Any thread.
  [[nodiscard]] std::shared_ptr<const store::Store> StoreOf(std::uint32_t slot) const;
  // Why it has ended by itself: this machine's disk. Any thread.
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
  Reader* reader_ = nullptr;  // guarded by mutex_; to be woken
  std::thread thread_;
};

}  // namespace cobblestone::stream::kafka
