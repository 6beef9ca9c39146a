#include <gtest/gtest.h>

#include <filesystem>

#include "common/stream/kafka/state.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::kafka {
namespace {

constexpr std::uint64_t kCacheBytes = 1 << 20;

// `cobblestone rebuild` opens the state of a running worker to detect it, and then refuses.
TEST(DirectoryStateSpace, AProcessWithoutTheStoreKeepsTheOwnersCopy) {
  const testing::TempDir dir;
  const std::string state = dir / "state";
  const std::string copy_path = state + "/slot-3.copy/CURRENT";
  const auto owner = MakeDirectoryStateSpace(state, kCacheBytes);
  auto store = owner->Open(3);
  ASSERT_TRUE(store.ok()) << store.status().message();
  auto copy = owner->OpenCopy(3, **store);
  ASSERT_TRUE(copy.ok()) << copy.status().message();

  const auto other = MakeDirectoryStateSpace(state, kCacheBytes);
  EXPECT_EQ(other->Open(3).status().code(), StatusCode::kFenced);
  EXPECT_FALSE(other->Remove(3).ok());
  EXPECT_TRUE(std::filesystem::exists(copy_path));

  // The next owner removes the copy of a dead owner.
  copy->reset();
  store->reset();
  const auto next = other->Open(3);
  EXPECT_TRUE(next.ok()) << next.status().message();
  EXPECT_FALSE(std::filesystem::exists(copy_path));
}

}  // namespace
}  // namespace cobblestone::stream::kafka
