#include "services/gateway/workers.h"

#include <type_traits>
#include <utility>

namespace cobblestone::gateway {

Workers::Workers(std::size_t threads) : most_(threads) { threads_.reserve(threads); }

Workers::~Workers() { shutdown(); }

Workers::Enqueued Workers::enqueue(std::function<void()> job) {
  std::unique_lock lock(mutex_);
  if constexpr (std::is_same_v<Enqueued, bool>) {
    if (waiting_.size() >= most_) return Enqueued(false);
  } else {
    space_.wait(lock, [&] { return waiting_.size() < most_ || ended_; });
  }
  waiting_.push_back(std::move(job));
  // Threads come as they are needed: most machines never see so many connections.
  if (idle_ < waiting_.size() && threads_.size() < most_) threads_.emplace_back([this] { Work(); });
  lock.unlock();
  ready_.notify_one();
  return Enqueued(true);
}

void Workers::shutdown() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ready_.notify_all();
  space_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void Workers::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    ready_.wait(lock, [&] { return !waiting_.empty() || ended_; });
    --idle_;
    if (waiting_.empty()) return;
    const std::function<void()> job = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    space_.notify_one();
    job();
    lock.lock();
  }
}

}  // namespace cobblestone::gateway
