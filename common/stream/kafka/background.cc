#include "common/stream/kafka/background.h"

#include "common/base/thread.h"

namespace cobblestone::stream::kafka {

BackgroundThread::BackgroundThread() {
  thread_ = std::thread([this] {
    NameThread("state-write");
    LowerThreadPriority();
    Work();
  });
}

BackgroundThread::~BackgroundThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void BackgroundThread::Run(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

void BackgroundThread::Drain() {
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [this] { return jobs_.empty() && !running_; });
}

void BackgroundThread::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    running_ = true;
    lock.unlock();
    job();
    lock.lock();
    running_ = false;
    if (jobs_.empty()) drained_.notify_all();
  }
}

}  // namespace cobblestone::stream::kafka
