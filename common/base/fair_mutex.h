// A mutex that waiting threads get in the order of arrival, so a thread that takes it repeatedly cannot
// starve others. (std::mutex gives no such guarantee and can starve threads for seconds.) Works with
// std::lock_guard and std::unique_lock. Not recursive. Threads: any.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

namespace cobblestone {

class FairMutex {
 public:
  FairMutex() = default;
  FairMutex(const FairMutex&) = delete;
  FairMutex& operator=(const FairMutex&) = delete;

  void lock();
  void unlock();
  // Number of waiting threads; for tests and status displays.
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Waiter {
    std::condition_variable wake;
    bool has_turn = false;
  };

  mutable std::mutex mutex_;
  bool held_ = false;
  std::deque<Waiter*> waiters_;  // in the order of arrival; each is on its thread's stack
};

}  // namespace cobblestone
