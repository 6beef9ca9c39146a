// Threads for independent jobs, such as compressing blocks. A caller that waits for a job that has not begun
// runs the job itself: no thread is idle while there is work, and zero worker threads are enough.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cobblestone::exports {

class Workers {
 public:
  struct Job {
    std::function<void()> work;
    bool begun = false;
    bool done = false;
  };
  using Handle = std::shared_ptr<Job>;

  // `threads`: in addition to the caller's thread; may be 0.
  explicit Workers(int threads);
  // Drops jobs that have not begun and that no caller waits for.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  Handle Start(std::function<void()> work);
  // Returns when the job is done.
  void Wait(const Handle& job);

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Handle> waiting_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cobblestone::exports
