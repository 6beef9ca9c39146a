// Linked into every program of the preset tsan. It tells ThreadSanitizer about the distribution's libraries, which
// are not instrumented.
//
// RocksDB: ThreadSanitizer does not see how its threads synchronise and reports races. These reports are suppressed,
// and so are those of the C library when RocksDB calls it through libstdc++. A race in our own code is still
// reported, because none of its frames is RocksDB's.
//
// librdkafka: it creates threads and locks through <threads.h>, which ThreadSanitizer does not intercept (a thread
// whose start it has not seen ends the process). In the C library these functions are pthread functions under other
// names, with the same types. Here they are forwarded to the intercepted pthread functions.
#if defined(__SANITIZE_THREAD__)
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <memory>

namespace {

struct Begin {
  thrd_start_t run;
  void* with;
};

void* Run(void* begin) {
  const std::unique_ptr<Begin> own(static_cast<Begin*>(begin));
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(own->run(own->with)));
}

pthread_mutex_t* Mutex(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* Condition(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }

int Code(int error) {
  switch (error) {
    case 0: return thrd_success;
    case ENOMEM: return thrd_nomem;
    case ETIMEDOUT: return thrd_timedout;
    case EBUSY: return thrd_busy;
    default: return thrd_error;
  }
}

}  // namespace

extern "C" {

const char* __tsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)

const char* __tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "called_from_lib:librocksdb.so\n"
         "called_from_lib:libstdc++.so\n"
         "race:librocksdb.so\n"
         "race:^rocksdb::\n";
}

int thrd_create(thrd_t* thread, thrd_start_t run, void* with) {
  auto begin = std::make_unique<Begin>(Begin{run, with});
  const int error = pthread_create(thread, nullptr, Run, begin.get());
  if (error == 0) (void)begin.release();
  return Code(error);
}
int thrd_join(thrd_t thread, int* result) {
  void* ended = nullptr;
  const int error = pthread_join(thread, &ended);
  if (result != nullptr) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(ended));
  return Code(error);
}
int mtx_init(mtx_t* mutex, int kind) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if ((kind & mtx_recursive) != 0) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  const int error = pthread_mutex_init(Mutex(mutex), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return Code(error);
}
int mtx_lock(mtx_t* mutex) { return Code(pthread_mutex_lock(Mutex(mutex))); }
int mtx_unlock(mtx_t* mutex) { return Code(pthread_mutex_unlock(Mutex(mutex))); }
void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(Mutex(mutex)); }
int cnd_init(cnd_t* condition) { return Code(pthread_cond_init(Condition(condition), nullptr)); }
int cnd_signal(cnd_t* condition) { return Code(pthread_cond_signal(Condition(condition))); }
int cnd_broadcast(cnd_t* condition) { return Code(pthread_cond_broadcast(Condition(condition))); }
int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return Code(pthread_cond_wait(Condition(condition), Mutex(mutex)));
}
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return Code(pthread_cond_timedwait(Condition(condition), Mutex(mutex), until));
}
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(Condition(condition)); }

}  // extern "C"
#endif
