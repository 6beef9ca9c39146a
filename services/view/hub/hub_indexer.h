// Keeps the index of a hub's accounts up to date from a thread of its own (hub_index.h). Readers go on with the index
// before until the next one is complete.
// index_schedule.h decides when a build begins.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "services/view/hub/hub_lists.h"

namespace cobblestone::view {

class HubIndexer {
 public:
  // Starts the thread. `lists` and its state must outlive this object. `warn`: why a build failed, once per reason; any
  // thread.
  HubIndexer(HubLists& lists, std::function<void(const std::string&)> warn);
  // Stops a build that is running. There is no index afterwards.
  ~HubIndexer();
  HubIndexer(const HubIndexer&) = delete;
  HubIndexer& operator=(const HubIndexer&) = delete;

 private:
  void Run();
  // Waits; true: the object is being destroyed.
  bool Wait(double seconds);
  void Warn(const Status& status);

  HubLists& lists_;
  const std::function<void(const std::string&)> warn_;
  std::string warned_;  // used by the thread alone
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace cobblestone::view
