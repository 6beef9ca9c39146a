// Threads for jobs that depend on nothing but what they were given: blocks to compress. Who waits for a job that nobody has
// begun does it itself, so that no thread is idle while there is work, and none at all are needed.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cobblestone::statistics {

class Workers {
 public:
  struct Job {
    std::function<void()> work;
    bool begun = false;
    bool done = false;
  };
  using Handle = std::shared_ptr<Job>;

  // `threads`: beside the caller's; may be 0.
  explicit Workers(int threads);
  // Jobs that nobody waited for are dropped, unless they have begun.
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

}  // namespace cobblestone::statistics
