#include "common/http/fair_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

namespace cobblestone::http {
namespace {

using ::testing::ElementsAre;

TEST(FairPool, AnOwnerHasAtMostItsShareAndDoesNotDelayOthers) {
  FairPool pool(3, 2);
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::atomic<int> ended = 0;
  for (int i = 0; i < 10; ++i)
    pool.Run("greedy", [&] {
      const int now = ++running;
      for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
      }
      released.wait();
      --running;
      ++ended;
    });
  std::promise<void> other;
  pool.Run("modest", [&] { other.set_value(); });
  other.get_future().wait();
  EXPECT_EQ(ended, 0);
  release.set_value();
  pool.Join();
  EXPECT_EQ(ended, 10);
  EXPECT_EQ(most, 2);
}

TEST(FairPool, TasksOfOneOwnerStartInOrder) {
  FairPool pool(2, 1);
  std::vector<int> started;
  for (int i = 0; i < 5; ++i) pool.Run("one", [&started, i] { started.push_back(i); });
  pool.Join();
  EXPECT_THAT(started, ElementsAre(0, 1, 2, 3, 4));
}

}  // namespace
}  // namespace cobblestone::http
