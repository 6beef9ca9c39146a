#include "services/export/workers.h"

#include <algorithm>
#include <utility>

namespace cobblestone::exports {

Workers::Workers(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Workers::Handle Workers::Start(std::function<void()> work) {
  auto job = std::make_shared<Job>();
  job->work = std::move(work);
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(job);
  }
  changed_.notify_all();
  return job;
}

void Workers::Wait(const Handle& job) {
  std::unique_lock lock(mutex_);
  if (!job->begun) {
    job->begun = true;
    // Without threads no other code removes the job, and the queue would keep the job's data.
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), job));
    lock.unlock();
    job->work();
    lock.lock();
    job->done = true;
    return;
  }
  changed_.wait(lock, [&] { return job->done; });
}

void Workers::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
    if (ending_) return;
    const Handle job = waiting_.front();
    waiting_.pop_front();
    job->begun = true;
    lock.unlock();
    job->work();
    lock.lock();
    job->done = true;
    changed_.notify_all();
  }
}

}  // namespace cobblestone::exports
