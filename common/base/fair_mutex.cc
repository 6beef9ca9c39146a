#include "common/base/fair_mutex.h"

namespace cobblestone {

void FairMutex::lock() {
  std::unique_lock lock(mutex_);
  if (!held_) {
    held_ = true;
    return;
  }
  Waiter self;
  waiters_.push_back(&self);
  self.wake.wait(lock, [&] { return self.has_turn; });
}

// The mutex stays held while it passes to a waiter, so no other thread can take it in between.
void FairMutex::unlock() {
  const std::lock_guard lock(mutex_);
  if (waiters_.empty()) {
    held_ = false;
    return;
  }
  Waiter& next = *waiters_.front();
  waiters_.pop_front();
  next.has_turn = true;
  next.wake.notify_one();  // under mutex_: once mutex_ is released, the waiter may be destroyed
}

std::size_t FairMutex::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiters_.size();
}

}  // namespace cobblestone
