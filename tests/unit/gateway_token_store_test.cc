// Tokens that change while the program runs: which tokens are valid at which time of the test's clock.
#include "services/gateway/rights/token_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/support/temp_dir.h"

namespace cobblestone::gateway {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kOld = "old-token-0123456789";
constexpr const char* kNew = "new-token-0123456789";

class TokenStoreTest : public ::testing::Test {
 protected:
  TokenStoreTest() { Replace(std::string("read ") + kOld + "\n"); }

  // Replaces the file atomically, as an operator should.
  void Replace(const std::string& text) {
    std::ofstream(path_ + ".new") << text;
    ASSERT_EQ(::chmod((path_ + ".new").c_str(), 0600), 0);
    ASSERT_EQ(std::rename((path_ + ".new").c_str(), path_.c_str()), 0);
  }
  void Open() {
    auto store =
        TokenStore::OpenFile(path_, {.warn = [this](const std::string& what) { warnings_.push_back(what); },
                                     .steady = [this] { return now_.load(); }});
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = std::move(*store);
  }
  bool Knows(const char* token) { return store_->Find(token).has_value(); }

  const testing::TempDir dir_;
  const std::string path_ = dir_ / "tokens";
  std::atomic<double> now_{100};
  std::vector<std::string> warnings_;
  std::unique_ptr<TokenStore> store_;
};

TEST_F(TokenStoreTest, AChangedFileTakesEffectAfterASecondAndRevokesTokens) {
  Open();
  Replace(std::string("read ") + kOld + "\nread " + kNew + "\n");
  EXPECT_FALSE(Knows(kNew)) << "the file was checked less than a second ago";
  now_ = 101;
  EXPECT_TRUE(Knows(kNew));
  EXPECT_TRUE(Knows(kOld));
  Replace(std::string("read ") + kNew + "\n");
  now_ = 102;
  EXPECT_FALSE(Knows(kOld));
  EXPECT_TRUE(Knows(kNew));
  // The file is rewritten in place with the same length, within one tick of the file system's clock.
  std::ofstream(path_) << "read " << kOld << "\n";
  now_ = 103;
  EXPECT_TRUE(Knows(kOld));
  EXPECT_FALSE(Knows(kNew));
  // All tokens are revoked.
  Replace("");
  now_ = 104;
  EXPECT_FALSE(Knows(kOld));
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_EQ(store_->problem(), "");
}

TEST_F(TokenStoreTest, AnUnusableFileKeepsTheLastGoodTokensAndWarnsOnce) {
  Open();
  const auto breaks = [&](const std::function<void()>& change, const char* why) {
    warnings_.clear();
    change();
    for (int i = 0; i < 3; ++i) {
      now_ = now_ + 1;
      EXPECT_TRUE(Knows(kOld)) << why;
      EXPECT_FALSE(Knows(kNew)) << why;
    }
    EXPECT_THAT(store_->problem(), HasSubstr("token file is unusable"));
    EXPECT_THAT(store_->problem(), Not(HasSubstr("/")));
    ASSERT_THAT(warnings_, SizeIs(1)) << why;
    EXPECT_THAT(warnings_[0], HasSubstr(why));
    EXPECT_THAT(warnings_[0], Not(HasSubstr("token-0123456789")));
  };
  breaks([&] { Replace(std::string("read ") + kNew + "\ningest " + kNew + "\n"); }, "ingest PROJECT");
  breaks([&] { ASSERT_EQ(std::remove(path_.c_str()), 0); }, "cannot be read");
  breaks([&] { ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0); }, "not a regular file");
  breaks(
      [&] {
        ASSERT_EQ(std::remove(path_.c_str()), 0);
        Replace(std::string("read ") + kNew + "\n");
        ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
      },
      "chmod 600");
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  now_ = now_ + 1;
  EXPECT_TRUE(Knows(kNew));
  EXPECT_FALSE(Knows(kOld));
  EXPECT_EQ(store_->problem(), "");
}

TEST_F(TokenStoreTest, AChangedTargetOfALinkIsAChange) {
  std::ofstream(dir_ / "second") << "read " << kNew << "\n";
  ASSERT_EQ(::chmod((dir_ / "second").c_str(), 0600), 0);
  ASSERT_EQ(std::rename(path_.c_str(), (dir_ / "first").c_str()), 0);
  ASSERT_EQ(::symlink("first", path_.c_str()), 0);
  Open();
  EXPECT_TRUE(Knows(kOld));
  ASSERT_EQ(::symlink("second", (dir_ / "link").c_str()), 0);
  ASSERT_EQ(std::rename((dir_ / "link").c_str(), path_.c_str()), 0);
  now_ = 101;
  EXPECT_FALSE(Knows(kOld));
  EXPECT_TRUE(Knows(kNew));
}

TEST_F(TokenStoreTest, ManyThreadsFindTokensWhileTheFileChanges) {
  Open();
  std::atomic<bool> stop{false};
  std::atomic<int> unknown{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (!stop) unknown += Knows(kOld) ? 0 : 1;
    });
  for (int i = 0; i < 50; ++i) {
    Replace(std::string("read ") + kOld + "\nread " + kNew + "\n");
    now_ = now_ + 1;
    EXPECT_TRUE(Knows(kOld));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unknown, 0) << "the old token is in every version of the file";
}

}  // namespace
}  // namespace cobblestone::gateway
