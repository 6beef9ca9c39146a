// What the system knows of a thread.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cobblestone {

// Names the calling thread for those who look at a running program (top -H, perf, gdb). At most 15 characters.
inline void NameThread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

// The calling thread steps back where processors are short: for work that may take longer, such as state writes and
// indexes, so that it does not hold up what somebody waits for. Threads that it starts from then on do as it does. `by`: 1 to
// 19; at 5 it gets a third of the time of what runs beside it, at 15 a thirtieth.
inline void LowerThreadPriority(int by = 5) {
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), by);
}

}  // namespace cobblestone
