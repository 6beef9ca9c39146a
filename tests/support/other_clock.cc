// A library to preload (LD_PRELOAD) that shifts the wall clock of a process by COBBLESTONE_OTHER_CLOCK seconds, for
// every function that reads the clock. Monotonic clocks are unchanged. A wait until a wall-clock time lasts as long
// as it would without the shift.

#include <dlfcn.h>
#include <pthread.h>
#include <sys/time.h>
#include <threads.h>

#include <cstdlib>
#include <ctime>

namespace {

// No monotonic clock exceeds this value.
constexpr time_t kWallClock = 1'000'000'000;

time_t Off() {
  static const time_t off = [] {
    const char* text = std::getenv("COBBLESTONE_OTHER_CLOCK");
    return text == nullptr ? time_t{0} : static_cast<time_t>(std::atoll(text));
  }();
  return off;
}

template <class Function>
Function Real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

bool IsWall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* at) {
  static const auto real = Real<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int failed = real(clock, at);
  if (failed == 0 && IsWall(clock)) at->tv_sec += Off();
  return failed;
}

int gettimeofday(timeval* at, void* zone) {
  static const auto real = Real<int (*)(timeval*, void*)>("gettimeofday");
  const int failed = real(at, zone);
  if (failed == 0) at->tv_sec += Off();
  return failed;
}

time_t time(time_t* at) {
  static const auto real = Real<time_t (*)(time_t*)>("time");
  const time_t now = real(nullptr) + Off();
  if (at != nullptr) *at = now;
  return now;
}

int timespec_get(timespec* at, int base) {
  static const auto real = Real<int (*)(timespec*, int)>("timespec_get");
  const int got = real(at, base);
  if (got == TIME_UTC) at->tv_sec += Off();
  return got;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  static const auto real =
      Real<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)>("pthread_cond_timedwait");
  timespec at = *until;
  if (at.tv_sec > kWallClock) at.tv_sec -= Off();
  return real(condition, mutex, &at);
}

int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  static const auto real = Real<int (*)(cnd_t*, mtx_t*, const timespec*)>("cnd_timedwait");
  timespec at = *until;
  at.tv_sec -= Off();
  return real(condition, mutex, &at);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  static const auto real =
      Real<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>("pthread_cond_clockwait");
  timespec at = *until;
  if (IsWall(clock)) at.tv_sec -= Off();
  return real(condition, mutex, clock, &at);
}
}
