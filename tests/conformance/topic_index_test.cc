// The index of a topic by key: look-ups before and after it is written, across restarts, crashes and damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "common/stream/embedded/indexed_log.h"
#include "common/stream/embedded/log.h"
#include "common/stream/index/topic_index.h"
#include "tests/conformance/log_stories.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TempDir;

// Records look like "key other-key ...": every word is a key.
void Words(std::string_view record, const AddKey& add) {
  while (!record.empty()) {
    const std::size_t end = std::min(record.find(' '), record.size());
    if (end > 0) add(record.substr(0, end));
    record.remove_prefix(std::min(end + 1, record.size()));
  }
}

KeyIndexOptions Options(const std::string& path) {
  KeyIndexOptions options;
  options.path = path;
  options.name = "words of grants";
  options.topic = kGrants;
  options.partitions = 2;
  options.keys = Words;
  options.chunk_age = std::chrono::hours(1);  // tests flush explicitly
  options.follow_every = std::chrono::hours(1);
  return options;
}

class TopicIndexTest : public ::testing::Test {
 protected:
  void OpenLog(bool read_only = false) {
    LogOptions options = StoryOptions(dir_ / "log");
    options.read_only = read_only;
    auto log = Log::Open(options);
    ASSERT_TRUE(log.ok()) << log.status().message();
    log_ = *std::move(log);
  }
  void OpenIndex(const KeyIndexOptions& options) {
    auto index = KeyIndex::Open(MakeIndexedLog(*log_), options);
    ASSERT_TRUE(index.ok()) << index.status().message();
    index_ = *std::move(index);
  }
  void Append(std::uint32_t partition, const std::vector<std::string>& records) {
    log_->WaitDurable(log_->Append({.outputs = {Output({kGrants, partition}, records)}}));
  }
  // "0@3 1@0": partition and offset.
  std::string Find(std::string_view key) {
    const auto places = index_->Find(key);
    if (!places.ok()) return places.status().message();
    std::string text;
    for (const RecordPlace& place : *places) {
      if (!text.empty()) text += ' ';
      text += std::to_string(place.partition) + "@" + std::to_string(place.offset);
    }
    return text;
  }

  TempDir dir_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<KeyIndex> index_;
};

TEST_F(TopicIndexTest, FindsEveryPlaceOfAKeyInFilesAndInMemory) {
  OpenLog();
  Append(0, {"ant bee", "cat", "bee bee"});
  Append(1, {"bee", "be", "beer"});
  OpenIndex(Options(dir_ / "index"));
  EXPECT_EQ(Find("bee"), "0@0 0@2 1@0");
  EXPECT_EQ(index_->behind(), 6u);
  ASSERT_TRUE(index_->Flush().ok());
  EXPECT_EQ(index_->behind(), 0u);
  EXPECT_EQ(Find("bee"), "0@0 0@2 1@0");
  EXPECT_EQ(Find("be"), "1@1");
  EXPECT_EQ(Find("dog"), "");
  Append(0, {"bee dog"});
  EXPECT_EQ(Find("bee"), "0@0 0@2 0@3 1@0") << "some in a file, one in memory";
  EXPECT_EQ(Find("dog"), "0@3");
  ASSERT_TRUE(index_->Flush().ok());
  ASSERT_TRUE(index_->Flush().ok());
  EXPECT_EQ(Find("bee"), "0@0 0@2 0@3 1@0");
}

TEST_F(TopicIndexTest, FindsTheLastPlacesOfAKeyInEachPartition) {
  OpenLog();
  Append(0, {"bee", "bee", "ant bee", "beer"});
  Append(1, {"bee", "ant"});
  OpenIndex(Options(dir_ / "index"));
  ASSERT_TRUE(index_->Flush().ok());
  const auto last = [&](std::size_t limit) {
    std::string text;
    const auto places = index_->FindLast("bee", limit);
    for (const RecordPlace& place : *places)
      text += std::to_string(place.partition) + "@" + std::to_string(place.offset) + " ";
    return text;
  };
  EXPECT_EQ(last(2), "0@1 0@2 1@0 ");
  Append(0, {"bee"});
  EXPECT_EQ(last(2), "0@2 0@4 1@0 ") << "some in a file, one in memory";
  EXPECT_EQ(last(9), "0@0 0@1 0@2 0@4 1@0 ");
  EXPECT_EQ(last(0), "");
}

TEST_F(TopicIndexTest, KeysMayBeAnyBytes) {
  OpenLog();
  const std::string zero("\0", 1);
  const std::string zero_n("\0n", 2);  // looks like a row of the index itself
  const std::string longest(255, '\xff');
  Append(0, {zero, zero_n, longest, zero + zero});
  OpenIndex(Options(dir_ / "index"));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Find(zero), "0@0");
    EXPECT_EQ(Find(zero_n), "0@1");
    EXPECT_EQ(Find(longest), "0@2");
    EXPECT_EQ(Find(zero + zero), "0@3");
    ASSERT_TRUE(index_->Flush().ok());
  }
}

// The position is in the same file as the entries, so the index continues exactly after the written entries.
TEST_F(TopicIndexTest, ARestartContinuesAfterTheWrittenEntries) {
  OpenLog();
  Append(0, {"a", "b"});
  Append(1, {"a"});
  OpenIndex(Options(dir_ / "index"));
  ASSERT_TRUE(index_->Flush().ok());
  Append(0, {"a"});
  EXPECT_EQ(Find("a"), "0@0 0@2 1@0");
  index_.reset();  // without a Flush(): entries in memory are lost
  KeyIndexOptions options = Options(dir_ / "index");
  std::vector<std::string> seen;
  options.keys = [&](std::string_view record, const AddKey& add) {
    seen.emplace_back(record);
    Words(record, add);
  };
  OpenIndex(options);
  EXPECT_EQ(index_->behind(), 1u);
  EXPECT_EQ(Find("a"), "0@0 0@2 1@0");
  EXPECT_THAT(seen, ElementsAre("a")) << "the three earlier records are in the file";
  EXPECT_EQ(index_->rebuilt(), "");
}

TEST_F(TopicIndexTest, AQueryCatchesUpInMemoryAndChangesNothing) {
  OpenLog();
  Append(0, {"a", "b"});
  OpenIndex(Options(dir_ / "index"));
  ASSERT_TRUE(index_->Flush().ok());
  Append(1, {"a", "c"});
  index_.reset();
  log_.reset();

  OpenLog(true);
  KeyIndexOptions query = Options(dir_ / "index");
  query.read_only = true;
  OpenIndex(query);
  EXPECT_EQ(Find("a"), "0@0 1@0");
  EXPECT_EQ(Find("c"), "1@1");
  EXPECT_EQ(index_->behind(), 2u);
  // Also without any index.
  query.path = dir_ / "none";
  OpenIndex(query);
  EXPECT_EQ(Find("a"), "0@0 1@0");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "none"));
}

TEST_F(TopicIndexTest, TheThreadWritesChunksByItself) {
  OpenLog();
  KeyIndexOptions options = Options(dir_ / "index");
  options.chunk_entries = 10;
  options.follow_every = std::chrono::milliseconds(1);
  options.chunk_age = std::chrono::milliseconds(1);
  std::uint64_t count = 0;
  for (int i = 0; i < 50; ++i) Append(static_cast<std::uint32_t>(i % 2), {"x" + std::to_string(i), "y", "z"});
  OpenIndex(options);
  while (index_->behind() > 0) {
    ++count;
    std::this_thread::yield();
  }
  EXPECT_TRUE(index_->health().ok()) << index_->health().message();
  EXPECT_EQ(Find("x31"), "1@45");
  const auto places = index_->Find("y");
  ASSERT_TRUE(places.ok());
  EXPECT_EQ(places->size(), 50u);
}

TEST_F(TopicIndexTest, AnIndexOfAnotherKindOrOfALongerLogIsRebuilt) {
  OpenLog();
  Append(0, {"a", "b"});
  OpenIndex(Options(dir_ / "index"));
  ASSERT_TRUE(index_->Flush().ok());
  index_.reset();
  KeyIndexOptions options = Options(dir_ / "index");
  options.name = "first letters";
  OpenIndex(options);
  EXPECT_THAT(index_->rebuilt(), HasSubstr("'words of grants'"));
  EXPECT_EQ(Find("b"), "0@1");
  ASSERT_TRUE(index_->Flush().ok());
  index_.reset();
  log_.reset();

  std::filesystem::remove_all(dir_ / "log");
  OpenLog();
  Append(0, {"b"});
  options.read_only = true;
  const auto query = KeyIndex::Open(MakeIndexedLog(*log_), options);
  EXPECT_EQ(query.status().code(), StatusCode::kCorrupted);
  EXPECT_THAT(query.status().message(), HasSubstr("delete the directory"));
  options.read_only = false;
  OpenIndex(options);
  EXPECT_THAT(index_->rebuilt(), HasSubstr("the log ends at 1"));
  EXPECT_EQ(Find("b"), "0@0");
}

TEST_F(TopicIndexTest, ADamagedIndexIsRebuilt) {
  OpenLog();
  Append(0, {"a", "b"});
  OpenIndex(Options(dir_ / "index"));
  ASSERT_TRUE(index_->Flush().ok());
  index_.reset();
  for (const auto& entry : std::filesystem::directory_iterator(dir_ / "index/db")) {
    if (entry.path().extension() == ".sst") std::filesystem::resize_file(entry.path(), 10);
  }
  OpenIndex(Options(dir_ / "index"));
  EXPECT_NE(index_->rebuilt(), "");
  EXPECT_EQ(Find("b"), "0@1");
}

// The first chunk cannot be written, because a directory has its file's name; nothing is lost or found twice.
TEST_F(TopicIndexTest, AFailedChunkIsWrittenLater) {
  OpenLog();
  Append(0, {"a"});
  OpenIndex(Options(dir_ / "index"));
  std::filesystem::create_directories(dir_ / "index/next.sst/in the way");
  EXPECT_FALSE(index_->Flush().ok());
  Append(0, {"a b"});
  EXPECT_EQ(Find("a"), "0@0 0@1");
  std::filesystem::remove_all(dir_ / "index/next.sst");
  const Status flushed = index_->Flush();
  EXPECT_TRUE(flushed.ok()) << flushed.message();
  EXPECT_EQ(index_->behind(), 0u);
  EXPECT_EQ(Find("a"), "0@0 0@1");
  index_.reset();
  OpenIndex(Options(dir_ / "index"));
  EXPECT_EQ(Find("a"), "0@0 0@1");
  EXPECT_EQ(Find("b"), "0@1");
}

TEST_F(TopicIndexTest, AgreesWithAScanOfTheRecords) {
  OpenLog();
  KeyIndexOptions options = Options(dir_ / "index");
  options.chunk_entries = 40000;
  OpenIndex(options);
  std::map<std::string, std::string> expected;
  std::uint64_t random = 1;
  for (std::uint64_t unit = 0; unit < 300; ++unit) {
    std::vector<std::string> records;
    for (int i = 0; i < 500; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      records.push_back("k" + std::to_string((random >> 33) % 50000));
      if (unit % 2 == 0) {
        std::string& places = expected[records.back()];
        places += (places.empty() ? "" : " ") + std::string("0@") +
                  std::to_string(unit / 2 * 500 + static_cast<std::uint64_t>(i));
      }
    }
    if (unit % 2 == 0) Append(0, records);
    if (unit % 100 == 99) {
      ASSERT_TRUE(index_->Flush().ok());
    }
  }
  std::size_t compared = 0;
  for (const auto& [key, places] : expected) {
    if (++compared % 20 == 0) {
      ASSERT_EQ(Find(key), places) << key;
    }
  }
  EXPECT_GT(compared, 38000u);
}

TEST_F(TopicIndexTest, FindsKeysWhileItIsWritten) {
  OpenLog();
  KeyIndexOptions options = Options(dir_ / "index");
  options.chunk_entries = 500;
  options.follow_every = std::chrono::milliseconds(1);
  OpenIndex(options);
  std::atomic<std::uint64_t> written = 0;
  std::thread appender([&] {
    for (std::uint64_t unit = 0; unit < 400; ++unit) {
      std::vector<std::string> records;
      for (int i = 0; i < 20; ++i) records.push_back("unit" + std::to_string(unit));
      Append(0, records);
      ++written;
    }
  });
  std::uint64_t retries = 0;
  for (std::uint64_t done = 0; done < 400; done = written) {
    if (done == 0) continue;
    const std::uint64_t unit = (done - 1) / 2;
    const auto places = index_->Find("unit" + std::to_string(unit));
    if (!places.ok() && places.status().code() == StatusCode::kRetry) {
      ++retries;
      continue;
    }
    ASSERT_TRUE(places.ok()) << places.status().message();
    ASSERT_EQ(places->size(), 20u) << "unit " << unit;
    EXPECT_EQ(places->front().offset, unit * 20);
  }
  appender.join();
  EXPECT_TRUE(index_->health().ok());
}

}  // namespace
}  // namespace cobblestone::stream::embedded
