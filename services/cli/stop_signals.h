// Stop signals of a program that runs until it is stopped.
#pragma once

#include <pthread.h>

#include <csignal>
#include <ctime>

namespace cobblestone::cli {

// SIGTERM and SIGINT stay pending until Wait(). Create it before any thread starts.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  // The signal that arrived, or 0 after a moment (200 ms) without one.
  [[nodiscard]] int Wait() const {
    const int signal = sigtimedwait(&signals_, nullptr, &kMoment);
    return signal > 0 ? signal : 0;
  }
  // Whether a signal is pending; Wait() still returns it.
  [[nodiscard]] bool pending() const {
    sigset_t came;
    sigpending(&came);
    return sigismember(&came, SIGTERM) == 1 || sigismember(&came, SIGINT) == 1;
  }
  // From now on a stop signal ends the process at once.
  void LetKill() const {
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGINT, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  }

 private:
  static constexpr timespec kMoment = {.tv_sec = 0, .tv_nsec = 200'000'000};

  sigset_t signals_{};
};

}  // namespace cobblestone::cli
