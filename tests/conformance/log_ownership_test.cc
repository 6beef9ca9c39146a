// Which process may open a log, and with which topics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/stream/embedded/log.h"
#include "tests/conformance/log_process.h"
#include "tests/conformance/log_stories.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TempDir;

TEST(LogOwnership, ASecondProcessLearnsWhichProcessHoldsTheLog) {
  const TempDir dir;
  auto log = Log::Open(StoryOptions(dir / "log"));
  ASSERT_TRUE(log.ok()) << log.status().message();
  LogProcess second({dir / "log", "1", "10"});
  const LogProcess::End end = second.Wait();
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.output,
              AllOf(HasSubstr("process " + std::to_string(::getpid()) + " holds"), HasSubstr("stop that")));
  // A second open within the process or by a query is refused as well.
  EXPECT_EQ(Log::Open(StoryOptions(dir / "log")).status().code(), StatusCode::kFenced);
  LogOptions query = StoryOptions(dir / "log");
  query.read_only = true;
  EXPECT_EQ(Log::Open(query).status().code(), StatusCode::kFenced);
}

TEST(LogOwnership, TheLockOfAKilledOwnerIsFree) {
  const TempDir dir;
  LogProcess owner({dir / "log", "0", "10"});
  ASSERT_TRUE(owner.WaitOpen());
  EXPECT_EQ(Log::Open(StoryOptions(dir / "log")).status().code(), StatusCode::kFenced);
  owner.Kill();
  owner.Wait();
  auto log = Log::Open(StoryOptions(dir / "log"));
  ASSERT_TRUE(log.ok()) << log.status().message();
  EXPECT_EQ((*log)->owner_epoch(), 2u);
}

std::vector<std::pair<std::string, std::filesystem::file_time_type>> FilesOf(const std::string& path) {
  std::vector<std::pair<std::string, std::filesystem::file_time_type>> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    files.emplace_back(entry.path(), entry.last_write_time());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(LogOwnership, AQueryReadsAnUnownedLogAndChangesNothing) {
  const TempDir dir;
  {
    LogProcess owner({dir / "log", "0", "1000"});
    ASSERT_TRUE(owner.WaitAcknowledged(50));
    owner.Kill();  // so that the end is only in the write-ahead log
    owner.Wait();
  }
  LogOptions query = StoryOptions(dir / "log");
  query.read_only = true;
  const auto before = FilesOf(dir / "log");
  {
    auto log = Log::Open(query);
    ASSERT_TRUE(log.ok()) << log.status().message();
    auto another = Log::Open(query);  // queries do not exclude each other
    ASSERT_TRUE(another.ok()) << another.status().message();
    const StoryLength length = MeasureStory(**log, 1000);
    EXPECT_EQ(length.wrong, "");
    EXPECT_GE(length.units, 50u);
    EXPECT_EQ((*log)->owner_epoch(), 1u);
    const Status verified = (*log)->Verify({});
    EXPECT_TRUE(verified.ok()) << verified.message();
  }
  EXPECT_EQ(FilesOf(dir / "log"), before);
  EXPECT_TRUE(Log::Open(StoryOptions(dir / "log")).ok()) << "a query leaves no lock behind";
}

TEST(LogOwnership, AQueryOfADirectoryWithoutALogFails) {
  const TempDir dir;
  LogOptions query = StoryOptions(dir / "nothing");
  query.read_only = true;
  const Status status = Log::Open(query).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("no log in"));
  EXPECT_FALSE(std::filesystem::exists(dir / "nothing"));
}

TEST(LogOwnership, AnotherListOfTopicsIsRefused) {
  const TempDir dir;
  ASSERT_TRUE(Log::Open(StoryOptions(dir / "log")).ok());
  const auto status_with = [&](const std::function<void(std::vector<TopicSpec>&)>& change) {
    LogOptions options = StoryOptions(dir / "log");
    change(options.topics);
    return Log::Open(options).status();
  };
  const Status repartitioned = status_with([](auto& topics) { topics[kClaims].partitions = 3; });
  EXPECT_EQ(repartitioned.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(repartitioned.message(),
              AllOf(HasSubstr("'claims 2 trimmed'"), HasSubstr("'claims 3 trimmed'")));
  EXPECT_EQ(status_with([](auto& topics) { topics[kGrants].retention = Retention::kTrimmed; }).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(status_with([](auto& topics) { std::swap(topics[0], topics[1]); }).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(status_with([](auto& topics) { topics.pop_back(); }).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status_with([](auto& topics) { topics.push_back({.name = "more"}); }).code(),
            StatusCode::kInvalidArgument);
  auto log = Log::Open(StoryOptions(dir / "log"));
  ASSERT_TRUE(log.ok()) << log.status().message();
  EXPECT_EQ((*log)->owner_epoch(), 2u) << "a refused open does not count as an owner";
}

// A process died while it created the log: before RocksDB's CURRENT existed, or before the first acknowledgement.
TEST(LogOwnership, AnInterruptedCreationOfALogIsRepeated) {
  const TempDir dir;
  std::filesystem::create_directories(dir / "log/db");
  std::ofstream(dir / "log/db/MANIFEST-000001") << "half a manifest";
  {
    auto log = Log::Open(StoryOptions(dir / "log"));
    ASSERT_TRUE(log.ok()) << log.status().message();
  }
  std::filesystem::remove(dir / "log/acknowledged");  // is written after the first commit, the owner's epoch
  auto log = Log::Open(StoryOptions(dir / "log"));
  ASSERT_TRUE(log.ok()) << log.status().message();
}

}  // namespace
}  // namespace cobblestone::stream::embedded
