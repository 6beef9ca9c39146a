// Name and priority of threads.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cobblestone {

// Names the calling thread for top -H, perf and gdb. At most 15 characters.
inline void NameThread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

// Lowers the CPU priority of the calling thread, for background work such as state writes and indexes.
// Threads that it starts afterwards inherit the priority. `by`: 1 to 19; at 5 the thread gets a third of the
// CPU time of a competing thread, at 15 a thirtieth.
inline void LowerThreadPriority(int by = 5) {
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), by);
}

}  // namespace cobblestone
