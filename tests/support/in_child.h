// Runs part of a test in a child process, which may die.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>

namespace cobblestone::testing {

constexpr int kFailedInChild = 11;

// Returns the child's status as waitpid() reports it: 0 if `work` returned and none of its assertions failed; the
// exit code kFailedInChild if an assertion failed (its message is printed).
// The child has the memory of this process but none of its threads, so a wait for such a thread would never end (a
// store starts its threads once per process and keeps them). This process must therefore have no other threads, which
// is checked: code that starts threads runs in a child too, or after the last child.
inline int RunInChild(const std::function<void()>& work) {
#ifndef __SANITIZE_THREAD__  // ThreadSanitizer has a thread of its own
  const auto threads = std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  if (threads != 1) {
    ADD_FAILURE() << "this process has " << threads
                  << " threads, which a child would not have; ctest runs each test in a "
                  << "process of its own";
    return kFailedInChild << 8;
  }
#endif
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? kFailedInChild : 0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

}  // namespace cobblestone::testing
