// What the system knows of a thread.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cobblestone {

// Names the calling thread for those who look at a running program (top -H, perf, gdb). At most 15 characters.
inline void NameThread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

// The calling thread steps back where processors are short: for work that may take longer, such as state writes and
// indexes, so that it does not hold up what somebody waits for.
inline void LowerThreadPriority() { (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 5); }

}  // namespace cobblestone
