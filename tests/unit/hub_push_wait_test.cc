// A sender leaves a hub alone for as long as the hub asks for it, and not for ever.
#include "services/hub/push/push_wait.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "services/hub/push/project_push.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/hub_raw_server.h"

namespace cobblestone::hub {
namespace {

TEST(PushWait, IsTheHubsWishWithinBounds) {
  constexpr double kInterval = 600;
  struct Case {
    std::uint64_t failures;
    AskedPause asked;
    double wait;
  };
  for (const Case& one : std::vector<Case>{{0, {}, 600},
                                           {0, {503, 30}, 600},  // the round was a success all the same
                                           {1, {}, 5},
                                           {3, {}, 20},
                                           {30, {}, 600},
                                           {1, {503, 30}, 30},
                                           {4, {503, 30}, 40},
                                           {4, {503, 0}, 40},
                                           {9, {429, 3}, 3},  // the quota has room again
                                           {9, {429, 0}, 600},
                                           {1, {503, 1e9}, 3600},
                                           {1, {429, 1e9}, 3600}})
    EXPECT_EQ(PushWait(one.failures, one.asked, kInterval), one.wait)
        << one.failures << " " << one.asked.status << " " << one.asked.seconds;
}

TEST(PushWait, ComesFromTheAnswerThatEndedTheRound) {
  const testing::TempDir temp;
  std::ofstream(temp / "token") << "secret-token\n";
  ASSERT_EQ(::chmod((temp / "token").c_str(), 0600), 0);
  RawServer server;
  const HubClient client({.url = server.Url(""), .token_file = temp / "token"});
  auto push = ProjectPush::Open(temp / "push", ProjectId(4), {});
  ASSERT_TRUE(push.ok()) << push.status().message();
  const auto round = [&] {
    return (*push)->Round(
        client, []() -> Result<PushedContents> { return Status::Retry("no contents"); }, 1.7e9,
        [](const std::string&) {}, {});
  };
  const auto answer = [&](const std::string& status, const std::string& header) {
    server.SetBytes("/api/v1/federation/projects/4", "HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n" +
                                                         header + "Connection: close\r\n\r\n");
  };
  const auto expect = [&](int status, double seconds) {
    EXPECT_FALSE(round().ok());
    EXPECT_EQ((*push)->asked().status, status);
    EXPECT_EQ((*push)->asked().seconds, seconds);
  };
  answer("429 Too Many Requests", "Retry-After: 17\r\n");
  expect(429, 17);
  answer("503 Service Unavailable", "retry-after:  9 \r\n");
  expect(503, 9);
  answer("503 Service Unavailable", "");
  expect(503, 0);
  answer("429 Too Many Requests", "Retry-After: soon\r\n");
  expect(429, 0);
  answer("500 Internal Server Error", "Retry-After: 17\r\n");
  expect(0, 0);
}

}  // namespace
}  // namespace cobblestone::hub
