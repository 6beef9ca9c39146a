// A mutex that is given to waiting threads in the order in which they came, so that a thread that takes it again and again
// lets everybody who waits go first. (std::mutex makes no such promise: such a thread can keep all others out for seconds.)
// Lockable with std::lock_guard and std::unique_lock. Not recursive. Threads: any.
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
  // Threads that wait now; for tests and for people.
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Waiter {
    std::condition_variable wake;
    bool has_turn = false;
  };

  mutable std::mutex mutex_;
  bool held_ = false;
  std::deque<Waiter*> waiters_;  // in the order in which they came; each lies on its thread's stack
};

}  // namespace cobblestone
