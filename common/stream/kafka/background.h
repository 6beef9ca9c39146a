// Work that must not block a stream thread: writing state, reading checkpoints back.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace cobblestone::stream::kafka {

// Runs jobs one at a time, in the order of submission.
class Background {
 public:
  virtual ~Background() = default;
  virtual void Run(std::function<void()> job) = 0;
  // Waits until all submitted jobs have run.
  virtual void Drain() = 0;
};

class BackgroundThread final : public Background {
 public:
  BackgroundThread();
  ~BackgroundThread() override;  // runs submitted jobs first
  void Run(std::function<void()> job) override;
  void Drain() override;

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable drained_;
  std::deque<std::function<void()>> jobs_;
  bool running_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cobblestone::stream::kafka
