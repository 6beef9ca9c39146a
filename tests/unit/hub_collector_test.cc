// The loop of the collector: a server that is slow on purpose costs its own project a bounded time, and other projects nothing.
#include "services/hub/collector/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temp_dir.h"
#include "tests/unit/hub_raw_server.h"

namespace cobblestone::hub {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Accepts everything.
class KindHub final : public HubIntake {
 public:
  Result<std::uint64_t> RefusedSoFar() override { return std::uint64_t{0}; }
  Result<SentEvents> Send(ProjectId, const std::string&, const std::string&, std::uint64_t) override {
    return SentEvents{};
  }
};

class Collector : public ::testing::Test {
 protected:
  static constexpr double kStart = 1.79e9;  // UNIX s

  Collector() {
    options_.directory = dir_ / "feeds";
    options_.fetcher.private_addresses = true;
    options_.threads = 2;
  }
  CollectedProject Project(std::uint32_t id, const RawServer& server) {
    return {.id = ProjectId(id), .name = "project", .statistics = server.Url("/stats/")};
  }
  // Each wait is an hour on the clock of the collector.
  Status Run() {
    return Collect(
        options_, hub_,
        [this](const CollectedProject& project, const std::string& message) {
          const std::lock_guard lock(mutex_);
          reports_[project.id.value].push_back(message);
        },
        [this] { return now_.load(); },
        [this](double) {
          now_ = now_ + 3600;
          std::this_thread::yield();
        },
        stop_.get_token());
  }

  testing::TempDir dir_;
  CollectorOptions options_;
  KindHub hub_;
  std::atomic<double> now_{kStart};
  std::stop_source stop_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::vector<std::string>> reports_;
};

// A byte for as long as the client listens, often enough for its lowest speed.
void Drip(int connection) {
  RawServer::Send(connection, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n<users>");
  while (RawServer::Send(connection, std::string(2000, ' ')))
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST_F(Collector, ADripEndsWithTheTimeOfItsProject) {
  RawServer drips;
  drips.Set("/stats/user.gz", [](const std::string&, int connection) { Drip(connection); });
  options_.projects = {Project(1, drips)};
  options_.projects[0].fetch_time = 0.5;
  options_.once = true;
  EXPECT_TRUE(Run().ok());
  EXPECT_THAT(reports_[1], Contains(HasSubstr("/stats/user.gz: Timeout was reached")));
}

// The first server answers only after the second project has been fetched three times.
TEST_F(Collector, AServerThatDoesNotEndDelaysNoOtherProject) {
  RawServer slow;
  RawServer good;
  std::atomic<bool> fetched_again{false};
  slow.Set("/stats/tables.xml", [&](const std::string&, int connection) {
    while (!fetched_again && RawServer::Send(connection, "HTTP/1.1 100 Continue\r\n\r\n"))
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    RawServer::Send(connection, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stop_.request_stop();
  });
  int fetches = 0;
  good.Set("/stats/tables.xml", [&](const std::string&, int connection) {
    RawServer::Send(connection, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    fetched_again = ++fetches >= 3;
  });
  options_.projects = {Project(1, slow), Project(2, good)};
  options_.limits.total_ms = 20'000;  // ends the test if the second project waits for the first one
  EXPECT_TRUE(Run().ok());
  EXPECT_GE(fetches, 3) << "the second project has waited";
}

}  // namespace
}  // namespace cobblestone::hub
