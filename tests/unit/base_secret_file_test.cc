// Which files may hold a secret: a table of owners, modes and kinds of files.
#include "common/base/secret_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "tests/support/temp_dir.h"

namespace cobblestone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSecret = "a-secret-that-nobody-sees";
constexpr std::size_t kLargest = 100;

void Write(const std::string& path, const std::string& text, mode_t mode) {
  std::ofstream(path) << text;
  ASSERT_EQ(::chmod(path.c_str(), mode), 0);
}

// The reason why the file is not read; "" if the file is read.
std::string Problem(const std::string& path) {
  const auto text = ReadSecretFile("the.option", path, kLargest);
  if (text.ok()) return "";
  EXPECT_EQ(text.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(text.status().message(), AllOf(HasSubstr("the.option: " + path), Not(HasSubstr(kSecret))));
  return text.status().message();
}

TEST(SecretFile, IsReadIfNobodyElseCanReadOrChangeIt) {
  const testing::TempDir dir;
  Write(dir / "f", kSecret, 0600);
  EXPECT_EQ(*ReadSecretFile("the.option", dir / "f", kLargest), kSecret);
  for (const auto& [mode, good] : {std::pair<mode_t, bool>{0600, true},
                                   {0400, true},
                                   {0440, true},
                                   {0640, true},
                                   {0644, false},
                                   {0604, false},
                                   {0602, false},
                                   {0620, false},
                                   {0660, false}}) {
    ASSERT_EQ(::chmod((dir / "f").c_str(), mode), 0);
    EXPECT_EQ(Problem(dir / "f").empty(), good) << std::oct << mode;
    if (!good) {
      EXPECT_THAT(Problem(dir / "f"), HasSubstr("chmod 600 " + (dir / "f")));
    }
  }
}

TEST(SecretFile, OnlyARegularFileIsReadAndAFifoDoesNotBlock) {
  const testing::TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(Problem(dir / "fifo"), HasSubstr("not a regular file"));
  EXPECT_THAT(Problem(dir.path()), HasSubstr("not a regular file"));
  EXPECT_THAT(Problem("/dev/null"), HasSubstr("not a regular file"));
  EXPECT_THAT(Problem(dir / "nothing"), HasSubstr("cannot be read"));
  Write(dir / "large", std::string(kLargest + 1, 'x'), 0600);
  EXPECT_THAT(Problem(dir / "large"), HasSubstr("more than 100 bytes"));
  Write(dir / "full", std::string(kLargest, 'x'), 0600);
  EXPECT_EQ(Problem(dir / "full"), "");
}

// Kubernetes mounts a secret as a link to a link to a file. The owner and mode of the opened file count.
TEST(SecretFile, TheTargetOfALinkIsChecked) {
  const testing::TempDir dir;
  ASSERT_EQ(::mkdir((dir / "..v1").c_str(), 0755), 0);
  Write(dir / "..v1/tokens", kSecret, 0400);
  ASSERT_EQ(::symlink("..v1", (dir / "..data").c_str()), 0);
  ASSERT_EQ(::symlink("..data/tokens", (dir / "tokens").c_str()), 0);
  EXPECT_EQ(Problem(dir / "tokens"), "");
  ASSERT_EQ(::chmod((dir / "..v1/tokens").c_str(), 0444), 0);
  EXPECT_THAT(Problem(dir / "tokens"), HasSubstr("other users can read"));
}

TEST(SecretFile, AnotherUsersFileIsReadOnlyIfTheUserIsRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const testing::TempDir dir;
  Write(dir / "f", kSecret, 0600);
  ASSERT_EQ(::chown((dir / "f").c_str(), 65534, 65534), 0);
  EXPECT_THAT(Problem(dir / "f"), HasSubstr("belongs to user 65534"));
  ASSERT_EQ(::chown((dir / "f").c_str(), 0, 65534), 0);
  ASSERT_EQ(::chmod((dir / "f").c_str(), 0640), 0);
  EXPECT_EQ(Problem(dir / "f"), "");
}

TEST(SecretFile, WipeOverwritesTheWholeText) {
  std::string text = std::string(kSecret) + kSecret;  // too long for the small-string buffer
  const char* bytes = text.data();
  const std::size_t size = text.size();
  Wipe(&text);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(std::string(bytes, size), std::string(size, '\0')) << "the string still owns its capacity";
}

}  // namespace
}  // namespace cobblestone
