#include "common/base/private_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "tests/support/temp_dir.h"

namespace cobblestone {
namespace {

mode_t ModeOf(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 07777U : 0;
}

TEST(PrivateDirectory, IsAccessibleToItsOwnerOnly) {
  const testing::TempDir dir;
  std::string reported;
  const auto report = [&](const std::string& what) { reported += what; };
  ASSERT_TRUE(MakePrivateDirectory(dir / "a/b", report).ok());
  EXPECT_EQ(ModeOf(dir / "a/b"), 0700U);
  EXPECT_EQ(reported, "") << "a new directory already has the right mode";
}

TEST(PrivateDirectory, AnExistingOneLosesWorldAccessAndKeepsGroupAccess) {
  const testing::TempDir dir;
  std::string reported;
  const auto report = [&](const std::string& what) { reported += what; };
  ASSERT_EQ(::mkdir((dir / "data").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((dir / "data").c_str(), 02755), 0);
  ASSERT_TRUE(MakePrivateDirectory(dir / "data", report).ok());
  EXPECT_EQ(ModeOf(dir / "data"), 02750U);
  EXPECT_NE(reported.find(dir / "data"), std::string::npos);
  reported.clear();
  ASSERT_TRUE(MakePrivateDirectory(dir / "data", report).ok());
  EXPECT_EQ(reported, "") << "reported only once";
}

TEST(PrivateDirectory, AFileInThePathIsAnError) {
  const testing::TempDir dir;
  EXPECT_EQ(MakePrivateDirectory("/dev/null/data", {}).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cobblestone
