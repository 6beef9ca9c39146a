// Sources take turns: a source that sends without end, or must wait, does not block other sources.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/fair_mutex.h"
#include "services/access/event_batch.h"

namespace cobblestone {

using access::BatchIngest;
using access::EventSink;
using intake::AppendBlock;
using intake::AppendOutcome;
using intake::ProducerState;

namespace {

TEST(FairMutex, WaitingThreadsGetTheLockInOrderOfArrival) {
  constexpr std::size_t kThreads = 8;
  FairMutex mutex;
  std::vector<std::size_t> order;  // guarded by mutex
  std::vector<std::thread> threads;
  mutex.lock();
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::lock_guard lock(mutex);
      order.push_back(i);
    });
    while (mutex.waiting() != i + 1) std::this_thread::yield();
  }
  mutex.unlock();
  // A thread that locks again at once comes after all waiting threads.
  mutex.lock();
  EXPECT_EQ(order.size(), kThreads);
  mutex.unlock();
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
}

TEST(FairMutex, IsExclusive) {
  FairMutex mutex;
  int inside = 0;  // guarded by mutex
  int most = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const std::lock_guard lock(mutex);
        most = std::max(most, ++inside);
        --inside;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

// Accepts batches of every source, but a batch of "slow" only after `go_on` is set.
class SlowSink final : public EventSink {
 public:
  [[nodiscard]] bool lockstep() const override { return false; }
  Result<ProducerState> Look(const std::string&) override { return ProducerState{}; }
  Result<ProducerState> Producer(const std::string&) override { return ProducerState{}; }
  Result<ProducerState> BatchBegin(const std::string&) override { return ProducerState{}; }
  Status Append(const std::function<bool(AppendBlock* block)>& next,
                const std::function<void(const AppendOutcome&)>& done) override {
    for (AppendBlock block; next(&block);) {
      if (block.source == "slow") {
        started.set_value();
        go_on.get_future().wait();
      }
      done({.producer = {.lines = block.first_line + block.lines.size(), .hash = block.hash},
            .appended = block.lines.size()});
    }
    return Status::Ok();
  }

  std::promise<void> started;
  std::promise<void> go_on;
};

gateway::EventBatch OneLine(const std::string& source) {
  gateway::EventBatch batch;
  batch.source = source;
  batch.body = R"({"id":"1","project":1,"time":1,"host":{"host":"1","user":"1"}})"
               "\n";
  return batch;
}

// This holds for any number and any names of sources.
TEST(BatchIngest, AWaitingSourceDoesNotBlockOthers) {
  auto made = std::make_unique<SlowSink>();
  SlowSink& sink = *made;
  BatchIngest ingest(std::move(made));
  std::thread slow([&] { EXPECT_TRUE(ingest.Take(OneLine("slow")).ok()); });
  sink.started.get_future().wait();
  std::atomic<int> accepted{0};
  auto others = std::async(std::launch::async, [&] {
    for (int i = 0; i < 200; ++i)
      if (ingest.Take(OneLine("source " + std::to_string(i))).ok()) ++accepted;
  });
  EXPECT_EQ(others.wait_for(std::chrono::minutes(1)), std::future_status::ready)
      << accepted << " were accepted";
  sink.go_on.set_value();
  slow.join();
  others.get();
  EXPECT_EQ(accepted, 200);
}

}  // namespace
}  // namespace cobblestone
