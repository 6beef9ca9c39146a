// Threads that answer connections, one each, so many at most. Of those that wait for one there are no more than that again:
// then the next is hung up on, or, with an older library, not taken from the system's queue. So the descriptors that
// strangers can hold are bounded, of which the pipeline needs its own.
#pragma once

#include <httplib.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cobblestone::gateway {

class Workers final : public httplib::TaskQueue {
 public:
  explicit Workers(std::size_t threads);
  ~Workers() override;

  // void in Debian 12, bool in Debian 13.
  using Enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue(std::function<void()>()));
  Enqueued enqueue(std::function<void()> job) override;
  // What waits is answered still.
  void shutdown() override;

 private:
  void Work();

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable space_;
  std::deque<std::function<void()>> waiting_;
  std::size_t idle_ = 0;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cobblestone::gateway
