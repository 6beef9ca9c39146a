// Part of a test in a process of its own, which may die of it.
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

// What became of it, as waitpid() tells: 0 where `work` came to its end and no assertion of it failed, kFailedInChild as exit
// code where one did (which is printed).
// The child has the memory of this process but none of its threads, and who waits for one of those waits for ever (a store
// has threads once for a process, and keeps them). So this process must not have had any: what makes them goes into a child
// as well, or behind the last child. That is checked.
inline int RunInChild(const std::function<void()>& work) {
#ifndef __SANITIZE_THREAD__  // which has a thread of its own
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
