// A feed, a file that grows and is rotated, is ingested exactly once, whatever restarts and rotations happen.
#include "services/access/follow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/events/event_codec.h"
#include "common/wire/json/json_lines.h"
#include "services/access/ingest.h"
#include "services/embedded/engine.h"
#include "services/events/event_file.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {

using access::ClientOf;
using access::Feed;
using access::Ingest;
using access::IngestSummary;
using embedded::Engine;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

namespace {

std::string LineOf(std::uint64_t user) {
  const auto json = wire::EnvelopeToJson(wire::EncodeEvent(
      {.head = {.id = user, .project = ProjectId(1)}, .body = wire::UserMember{.user = UserId(user)}}));
  EXPECT_TRUE(json.ok());
  return *json;
}

class FollowTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(settings::Order::kArrival); }
  void Open(settings::Order order) {
    settings::RunSettings settings;
    settings.data_directory = temp_ / ("data" + std::to_string(static_cast<int>(order)));
    settings.partitions = 2;
    settings.threads = 1;
    settings.order = order;
    auto opened = Engine::Open(settings, [](const std::string&) {});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    engine_ = std::move(*opened);
    engine_->Start();
  }

  [[nodiscard]] std::string Path(const std::string& name) const { return temp_ / name; }
  // Appends the lines of the users `from` to `to`, as another process does.
  void Write(const std::string& name, std::uint64_t from, std::uint64_t to) {
    std::ofstream out(Path(name), std::ios::app | std::ios::binary);
    for (std::uint64_t user = from; user <= to; ++user) out << LineOf(user) << "\n";
  }
  void WritePart(const std::string& name, const std::string& bytes) {
    std::ofstream(Path(name), std::ios::app | std::ios::binary) << bytes;
  }
  void Rename(const std::string& from, const std::string& to) { fs::rename(Path(from), Path(to)); }
  // Of gzip or plain, by its name, with the modification time of an older file.
  void WriteOlder(const std::string& name, std::uint64_t from, std::uint64_t to, int hours) {
    auto out = events::EventWriter::Open(Path(name));
    ASSERT_TRUE(out.ok()) << out.status().message();
    for (std::uint64_t user = from; user <= to; ++user)
      ASSERT_TRUE((*out)
                      ->Write(wire::EncodeEvent({.head = {.id = user, .project = ProjectId(1)},
                                                 .body = wire::UserMember{.user = UserId(user)}}))
                      .ok());
    ASSERT_TRUE((*out)->Close().ok());
    fs::last_write_time(Path(name), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }

  // Each step runs when the reader waits at the end of what was written before. The reader stops after the last step.
  // The result: of each ingested file the number of new events, and the error.
  using Steps = std::vector<std::function<void()>>;
  std::vector<std::uint64_t> Follow(const Steps& steps, Status* status = nullptr) {
    std::size_t next = 0;
    bool stop = false;
    const auto stopped = [&](bool wait) {
      if (!wait || stop) return stop;
      if (next == steps.size()) {
        stop = true;
      } else {
        steps[next++]();
      }
      return stop;
    };
    const auto client = ClientOf(*engine_);
    Feed feed(*client, Path("feed.jsonl"), "feed", stopped,
              [&](const std::string& warning) { warnings_.push_back(warning); });
    std::vector<std::uint64_t> counts;
    for (;;) {
      auto part = feed.Next();
      if (status != nullptr) *status = part.status();
      if (!part.ok() || !*part) return counts;
      IngestSummary summary;
      const Status ingested = Ingest(*client, std::move((*part)->file),
                                     {.file = "feed", .source = (*part)->source}, {}, &summary);
      EXPECT_TRUE(ingested.ok()) << ingested.message();
      EXPECT_EQ(summary.bad, 0u);
      counts.push_back(summary.events);
      all_ += summary.events;
    }
  }

  testing::TempDir temp_;
  std::unique_ptr<Engine> engine_;
  std::vector<std::string> warnings_;
  std::uint64_t all_ = 0;  // events of all calls of Follow()
};

TEST_F(FollowTest, WaitsForTheFileAndContinuesUntilItIsStopped) {
  EXPECT_THAT(Follow({[&] { Write("feed.jsonl", 1, 3); }, [&] { Write("feed.jsonl", 4, 4); }}),
              ElementsAre(4));
  Write("feed.jsonl", 5, 6);
  EXPECT_THAT(Follow({[&] { Write("feed.jsonl", 7, 7); }}), ElementsAre(3)) << "after a restart";
  EXPECT_THAT(Follow({}), ElementsAre(0));
}

TEST_F(FollowTest, ALineIsReadWhenItIsWhole) {
  Write("feed.jsonl", 1, 1);
  const std::string second = LineOf(2);
  WritePart("feed.jsonl", second.substr(0, 9));
  EXPECT_THAT(Follow({}), ElementsAre(1)) << "the beginning of a line is left for the next reader";
  EXPECT_THAT(Follow({[&] { WritePart("feed.jsonl", second.substr(9, 5)); },
                      [&] { WritePart("feed.jsonl", second.substr(14) + "\n"); }}),
              ElementsAre(1));
  EXPECT_EQ(all_, 2u);
}

TEST_F(FollowTest, ARotatedFileIsReadToItsEndBeforeTheNext) {
  Write("feed.jsonl", 1, 3);
  EXPECT_THAT(Follow({[&] { Rename("feed.jsonl", "feed.jsonl.1"); },
                      // The writer has not reopened its file yet.
                      [&] { Write("feed.jsonl.1", 4, 5); },
                      [&] {
                        WritePart("feed.jsonl.1", LineOf(6));  // the last line, without its end
                        Write("feed.jsonl", 7, 8);
                      },
                      [&] {
                        Rename("feed.jsonl.1", "feed.jsonl.2");
                        Rename("feed.jsonl", "feed.jsonl.1");
                        Write("feed.jsonl", 9, 9);
                      },
                      [&] { Write("feed.jsonl", 10, 11); }}),
              ElementsAre(6, 2, 3));
  EXPECT_THAT(Follow({}), ElementsAre(0)) << "older files are not read again";
}

TEST_F(FollowTest, RotationsWhileNobodyReadsLoseNothing) {
  WriteOlder("feed.jsonl", 1, 4, 9);
  EXPECT_THAT(Follow({}), ElementsAre(4));
  // The file that was begun gets one more line and is compressed. Two more files are complete.
  fs::remove(Path("feed.jsonl"));
  WriteOlder("feed.jsonl-3.jsonl.gz", 1, 5, 9);
  WriteOlder("feed.jsonl-4.jsonl", 6, 7, 8);
  WriteOlder("feed.jsonl-5.jsonl.gz", 8, 8, 7);
  Write("feed.jsonl", 9, 9);
  EXPECT_THAT(Follow({[&] { Write("feed.jsonl", 10, 10); }}), ElementsAre(1, 2, 1, 2));
  EXPECT_EQ(all_, 10u);
}

TEST_F(FollowTest, FilesThatWereRotatedBeforeTheFirstReaderAreHistory) {
  WriteOlder("feed.jsonl.1.jsonl", 1, 4, 3);
  Write("feed.jsonl", 5, 6);
  EXPECT_THAT(Follow({}), ElementsAre(2));
}

TEST_F(FollowTest, AFileThatIsCopiedAndTruncatedIsFinishedFromItsCopy) {
  Write("feed.jsonl", 1, 3);
  EXPECT_THAT(Follow({[&] {
                        Write("feed.jsonl", 4, 5);
                        fs::copy_file(Path("feed.jsonl"), Path("feed.jsonl.1"));
                        fs::resize_file(Path("feed.jsonl"), 0);
                      },
                      [&] { Write("feed.jsonl", 6, 6); }}),
              ElementsAre(3, 2, 1));
}

TEST_F(FollowTest, AnotherFileBesideTheFeedIsSkippedWithAWarning) {
  Write("feed.jsonl", 1, 2);
  EXPECT_THAT(Follow({}), ElementsAre(2));
  Rename("feed.jsonl", "feed.jsonl.1");
  WritePart("feed.jsonl.html", "<!DOCTYPE html><html><body>a report about the feed</body></html>\n");
  Write("feed.jsonl", 3, 3);
  EXPECT_THAT(Follow({}), ElementsAre(0, 1));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], AllOf(HasSubstr("feed.jsonl.html"), HasSubstr("HTML"), HasSubstr("skipped")));
}

TEST_F(FollowTest, AGoldenFileOrAPipelineInLockstepIsRefused) {
  Status status;
  WritePart("feed.jsonl", "{\"ev\":\"meta\",\"format\":1}\n");
  EXPECT_THAT(Follow({}, &status), ElementsAre());
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
  fs::remove(Path("feed.jsonl"));
  Write("feed.jsonl", 1, 2);
  ASSERT_TRUE(engine_->Stop().ok());
  Open(settings::Order::kLockstep);
  EXPECT_THAT(Follow({}, &status), ElementsAre());
  EXPECT_THAT(status.message(), HasSubstr("order: lockstep"));
}

}  // namespace
}  // namespace cobblestone
