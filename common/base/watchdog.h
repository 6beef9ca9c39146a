// A deadline for work that may never return.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace cobblestone {

// Calls `late` once, on its own thread, unless the watchdog is destroyed within `patience`.
class Watchdog {
 public:
  Watchdog(std::chrono::steady_clock::duration patience, std::function<void()> late)
      : thread_([this, patience, late = std::move(late)] {
          std::unique_lock lock(mutex_);
          if (!finished_.wait_for(lock, patience, [&] { return done_; })) late();
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    finished_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable finished_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace cobblestone
