// Far more rows wait for other events than memory.objects holds. Memory stays within the limit, also when the
// directory is opened again, and the results equal those with all rows in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/stream/runtime/journal.h"
#include "common/wire/control/topics.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/embedded/engine_metrics.h"
#include "tests/support/engine_story.h"

namespace cobblestone::testing {

using embedded::Engine;
using embedded::EngineMetrics;
using intake::AppendBlock;

namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kEach = 2000;  // rows of a kind
constexpr std::uint64_t kUnknownHost = 1000000;
constexpr std::uint64_t kBudget = 1u << 20;  // memory.objects, shared by two slots

class EngineWaiting : public EngineStory {
 protected:
  void SetUp() override {}  // each run has a directory of its own

  using TimedEvents = std::vector<std::pair<double, wire::EventBody>>;
  using Rows = std::map<std::string, std::uint64_t>;  // waiting rows, by kind

  // One partition, so that the order of the ledger does not depend on threads.
  void Begin(std::uint64_t objects) {
    settings_.data_directory = temp_ / ("data-" + std::to_string(objects));
    settings_.partitions = 1;
    settings_.memory.objects = objects;
    settings_.state.flush_interval = std::chrono::milliseconds(20);
    options_.watched = true;
    options_.clock = [] { return kStart + 100 * kDay; };
    id_ = 0;
    Open();
    Send(kStart, wire::AppChange{
                     .app = AppId(1), .policy = "assigned", .delay_bound = kDay, .result_window = 10 * kDay});
    Send(kStart, wire::HostMember{.host = HostId(1), .user = UserId(1), .cpus = 1});
    Send(kStart, wire::HostMember{.host = HostId(2), .user = UserId(2), .cpus = 1});  // of an unknown user
    Send(kStart, wire::UserMember{.user = UserId(1), .team = TeamId(11)});
  }
  void SendAll(const TimedEvents& all) {
    for (std::size_t at = 0; at < all.size();) {
      AppendBlock block{.source = "story", .first_line = id_, .own_ticks = true};
      for (; at < all.size() && block.lines.size() < 500; ++at)
        block.lines.push_back(
            {.envelope = wire::EncodeEvent({.head = {.id = ++id_, .project = kProject, .time = all[at].first},
                                            .body = all[at].second})});
      const auto appended = engine_->Append(block);
      ASSERT_TRUE(appended.ok()) << appended.status().message();
      engine_->WaitIdle();
      ASSERT_TRUE(engine_->failure().ok()) << engine_->failure().message();
    }
  }
  template <class Make>
  void SendEach(std::uint64_t first, std::uint64_t count, Make&& make) {
    TimedEvents all;
    for (std::uint64_t n = first; n < first + count; ++n)
      all.emplace_back(kStart + static_cast<double>(n % 1000), make(n));
    SendAll(all);
  }

  [[nodiscard]] Rows Waiting() const {
    Rows rows;
    for (const auto& slot : engine_->runner().status())
      for (const auto& one : slot.waiting)
        if (one.rows > 0 && one.kind != "samples") rows[std::string(one.kind)] += one.rows;
    return rows;
  }
  [[nodiscard]] std::uint64_t CachedBytes() const {
    std::uint64_t bytes = 0;
    for (const auto& slot : engine_->runner().status()) bytes += slot.cached_bytes;
    return bytes;
  }
  // Rows are evicted after they are written.
  [[nodiscard]] bool ComesToFit(std::uint64_t bytes) const {
    for (int wait = 0; wait < 1000 && CachedBytes() > bytes; ++wait) {
      engine_->runner().WaitIdle();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return CachedBytes() <= bytes;
  }
  // Sorted, because the order of records of two stages depends on the boundaries of commits.
  std::vector<std::string> Records(wire::Topic topic) {
    std::vector<std::string> all;
    const Status read = engine_->ForEachRecord({topic, 0}, [&](std::uint64_t, std::string_view record) {
      all.emplace_back(record);
      return true;
    });
    EXPECT_TRUE(read.ok()) << read.message();
    std::sort(all.begin(), all.end());
    return all;
  }

  [[nodiscard]] std::uint64_t CommitsWithoutRecords() {
    std::uint64_t count = 0;
    for (const std::string& bytes : Records(wire::kJournal)) {
      const auto entry = stream::DecodeJournalEntry(bytes);
      EXPECT_TRUE(entry.ok()) << entry.status().message();
      if (entry.ok() && entry->chunks.empty()) ++count;
    }
    return count;
  }

  // Without the append time, which the log stores to a quarter of a second.
  std::vector<std::string> Refusals() {
    std::vector<std::string> all = Records(wire::kRefused);
    for (std::string& one : all) {
      wire::Refused refused;
      EXPECT_TRUE(wire::DecodeRefused(one, &refused));
      refused.append_time = 0;
      one.clear();
      wire::EncodeRefused(refused, &one);
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  // All kinds of waiting events: the first half of each kind will find its partner.
  void SendWaiting() {
    SendEach(0, kEach, [](std::uint64_t n) { return CompletionOf(100000 + n, 1, 100000 + n, kStart + 300); });
    SendEach(0, kEach, [](std::uint64_t n) { return ValidationOf(200000 + n, 1, 200000 + n, 1); });
    // Joined, of an unknown host.
    SendEach(0, kEach, [](std::uint64_t n) {
      return CompletionOf(300000 + n, kUnknownHost + n, 300000 + n, kStart + 300);
    });
    SendEach(0, kEach,
             [](std::uint64_t n) { return ValidationOf(300000 + n, kUnknownHost + n, 300000 + n, 1); });
    SendEach(0, kEach, [](std::uint64_t n) {
      return wire::Trickle{
          .result = ResultId(400000 + n), .host = HostId(1), .variety = "steps", .steps = 1.0};
    });
    SendEach(0, kEach, [](std::uint64_t n) {
      return wire::OpeningTotal{.kind = wire::AccountKind::kHost,
                                .account = kUnknownHost + n,
                                .total_micro = 1000 + static_cast<std::int64_t>(n)};
    });
    // One of the two claims that their workunit awaits.
    SendEach(0, kEach, [](std::uint64_t n) { return CompletionOf(500000 + n, 1, 500000 + n, kStart + 300); });
    SendEach(0, kEach, [](std::uint64_t n) {
      auto validation = ValidationOf(500000 + n, 1, 500000 + n, 1);
      validation.claims = 2;
      return validation;
    });
    // Granted to an unknown user.
    SendEach(0, kEach, [](std::uint64_t n) { return CompletionOf(700000 + n, 2, 700000 + n, kStart + 300); });
    SendEach(0, kEach, [](std::uint64_t n) { return ValidationOf(700000 + n, 2, 700000 + n, 1); });
  }
  static Rows AllRows() {
    return {{"results", 3 * kEach},
            {"trickles", kEach},
            {"openings", kEach},
            {"workunits", kEach},
            {"grants", kEach}};
  }
  void WhatComesOfIt() {
    SendEach(0, kEach / 2, [](std::uint64_t n) { return ValidationOf(100000 + n, 1, 100000 + n, 1); });
    SendEach(0, kEach / 2,
             [](std::uint64_t n) { return CompletionOf(200000 + n, 1, 200000 + n, kStart + 300); });
    SendEach(0, kEach / 2, [](std::uint64_t n) {
      return wire::HostMember{.host = HostId(kUnknownHost + n), .user = UserId(1), .cpus = 1};
    });
    SendEach(0, kEach / 2,
             [](std::uint64_t n) { return CompletionOf(600000 + n, 1, 500000 + n, kStart + 300); });
    SendEach(0, kEach / 2, [](std::uint64_t n) {
      auto validation = ValidationOf(600000 + n, 1, 500000 + n, 1);
      validation.claims = 2;
      return validation;
    });
    // Repeats are recognised; other contents are refused.
    SendEach(0, 100, [](std::uint64_t n) {
      return CompletionOf(100000 + kEach / 2 + n, 1, 100000 + kEach / 2 + n, kStart + 300);
    });
    SendEach(0, 100, [](std::uint64_t n) {
      return CompletionOf(100000 + kEach / 2 + n, 1, 100000 + kEach / 2 + n, kStart + 301);
    });
    Send(kStart + 400, wire::UserMember{.user = UserId(2), .team = TeamId(12)});
  }

  struct Outcome {
    std::vector<std::string> ledger;
    std::vector<std::string> refused;
  };
  Outcome Story(std::uint64_t objects) {
    Begin(objects);
    const bool fits = objects > kBudget;
    SendWaiting();
    EXPECT_EQ(Waiting(), AllRows());
    if (!fits) {
      EXPECT_TRUE(ComesToFit(kBudget)) << CachedBytes();
      EXPECT_EQ(Waiting(), AllRows());
      EXPECT_THAT(
          EngineMetrics(*engine_).Render(),
          HasSubstr("\ncobblestone_task_waiting_rows{slot=\"0\",role=\"pipeline\",kind=\"results\"} " +
                    std::to_string(3 * kEach) + "\n"));
    }
    EXPECT_TRUE(engine_->Stop().ok());
    engine_.reset();
    auto again = Engine::Open(
        settings_, [](const std::string&) {}, options_);
    EXPECT_TRUE(again.ok()) << again.status().message();
    if (!again.ok()) return {};
    engine_ = std::move(*again);
    EXPECT_EQ(Waiting(), AllRows());
    if (!fits) {
      EXPECT_LE(CachedBytes(), kBudget) << "at opening";
    }
    engine_->Start();
    WhatComesOfIt();
    EXPECT_EQ(Waiting(), (Rows{{"results", kEach + kEach / 2},
                               {"trickles", kEach},
                               {"openings", kEach / 2},
                               {"workunits", kEach / 2}}));
    EXPECT_EQ(CommitsWithoutRecords(), 0u);
    Send(kStart + 60 * kDay, wire::Tick{.time = kStart + 60 * kDay});
    EXPECT_EQ(Waiting(), Rows{});
    // More rows were due at once than one commit may take.
    EXPECT_GT(CommitsWithoutRecords(), 0u);
    const auto audit = engine_->Audit({});
    EXPECT_TRUE(audit.ok()) << audit.status().message();
    if (audit.ok()) {
      EXPECT_EQ((*audit)["problem_count"], 0) << audit->dump(1);
    }
    Outcome outcome{.ledger = Records(wire::kGrants), .refused = Refusals()};
    EXPECT_TRUE(engine_->Stop().ok());
    engine_.reset();
    return outcome;
  }
};

TEST_F(EngineWaiting, WaitingRowsAreEvictedAndGiveTheSameResultAsInMemory) {
  const Outcome small = Story(kBudget);
  const Outcome large = Story(std::uint64_t{1} << 30);
  EXPECT_GT(small.ledger.size(), 3 * kEach);
  EXPECT_TRUE(small.ledger == large.ledger) << small.ledger.size() << " and " << large.ledger.size();
  EXPECT_GT(small.refused.size(), 3 * kEach);
  EXPECT_TRUE(small.refused == large.refused) << small.refused.size() << " and " << large.refused.size();
}

}  // namespace
}  // namespace cobblestone::testing
