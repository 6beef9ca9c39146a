// Several appenders, readers, a trimmer and a verifier at once. With ThreadSanitizer this is also a test for races.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "common/stream/embedded/log.h"
#include "tests/conformance/log_stories.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {
namespace {

using testing::TempDir;

constexpr int kAppenders = 3;
constexpr std::uint64_t kUnits = 1500;  // of each appender

// Readers sleep until the log has news for them.
class News {
 public:
  void Notify() {
    {
      const std::scoped_lock lock(mutex_);
      ++count_;
    }
    changed_.notify_all();
  }
  std::uint64_t WaitBeyond(std::uint64_t seen) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ > seen; });
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t count_ = 0;
};

TEST(LogConcurrency, AppendersReadersTrimmerAndVerifierAgree) {
  const TempDir dir;
  LogOptions options = StoryOptions(dir / "log");
  options.tail_bytes = 200000;     // readers sometimes read from disk
  options.pending_bytes = 100000;  // appenders sometimes wait
  options.write_buffer_bytes = 4u << 20;
  auto opened = Log::Open(options);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Log& log = **opened;
  News news;
  log.SetListener([&] { news.Notify(); });

  // Appender a writes "a:n" into notes and twice into grants, as one unit.
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> acknowledged = 0;
  for (int a = 0; a < kAppenders; ++a) {
    threads.emplace_back([&, a] {
      for (std::uint64_t n = 0; n < kUnits; ++n) {
        const std::string record = std::to_string(a) + ":" + std::to_string(n) + ":" + Noise(n, n % 3000);
        LogUnit unit;
        unit.outputs = {Output({kNotes, 0}, {record}), Output({kGrants, 0}, {record, record})};
        unit.rows = {{"appender/" + std::to_string(a), std::to_string(n)}};
        unit.on_durable = [&] { ++acknowledged; };
        const std::uint64_t ticket = log.Append(std::move(unit));
        if (n % 100 == 0) log.WaitDurable(ticket);
      }
    });
  }
  // Readers check that all of them read the same records in one order.
  std::vector<std::string> first_story;
  std::vector<std::string> second_story;
  for (std::vector<std::string>* story : {&first_story, &second_story}) {
    threads.emplace_back([&, story] {
      std::uint64_t seen = 0;
      std::uint64_t at = 0;
      while (at < 2 * kAppenders * kUnits) {
        if (at == log.End({kGrants, 0})) {
          seen = news.WaitBeyond(seen);
          continue;
        }
        const auto batch = log.Read({kGrants, 0}, at);
        ASSERT_TRUE(batch.ok()) << batch.status().message();
        if (*batch == nullptr) continue;
        // From disk a batch may hold several units, and begin before the requested offset.
        const std::vector<std::string> records = RecordsOf(**batch);
        for (; at < (*batch)->end(); at += 2) story->push_back(records.at(at - (*batch)->first));
        if (story == &first_story) log.Consumed({kGrants, 0}, at / 2);
      }
    });
  }
  threads.emplace_back([&] {
    std::uint64_t at = 0;
    std::uint64_t seen = 0;
    while (at < kAppenders * kUnits) {
      const std::uint64_t durable = log.DurableEnd({kNotes, 0});
      if (durable > at) log.Trim({kNotes, 0}, at = durable);
      if (at < kAppenders * kUnits && durable == at)
        seen = log.End({kNotes, 0}) > at ? seen : news.WaitBeyond(seen);
      EXPECT_TRUE(log.GetRow("appender/0").ok() || at == 0);
    }
  });
  threads.emplace_back([&] {
    for (int i = 0; i < 5; ++i) {
      const Status status = log.Verify({});
      EXPECT_TRUE(status.ok()) << status.message();
      const Status reclaimed = log.Reclaim();
      EXPECT_TRUE(reclaimed.ok()) << reclaimed.message();
    }
  });
  for (std::thread& thread : threads) thread.join();
  log.WaitDurable(log.Append({}));
  EXPECT_EQ(acknowledged, kAppenders * kUnits);
  EXPECT_EQ(first_story, second_story);
  std::vector<std::uint64_t> next(kAppenders, 0);
  for (const std::string& record : first_story) {
    const auto a = static_cast<std::size_t>(record[0] - '0');
    EXPECT_TRUE(record.starts_with(std::to_string(a) + ":" + std::to_string(next[a]) + ":"))
        << record.substr(0, 20);
    ++next[a];
  }
  EXPECT_EQ(log.Begin({kNotes, 0}), kAppenders * kUnits);
}

}  // namespace
}  // namespace cobblestone::stream::embedded
