#include "services/metrics/scrape_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <nlohmann/json.hpp>

#include "common/base/host_port.h"

namespace cobblestone::metrics {
namespace {

using ::testing::HasSubstr;

class Scrape : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = ScrapeServer::Start({.listen = "127.0.0.1:0",
                                       .render = [this]() -> std::string {
                                         if (throws_) throw std::runtime_error("a disk is gone");
                                         return text_;
                                       },
                                       .health = [this] { return health_; }});
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(*server);
    const auto where = ParseHostPort(server_->address());
    ASSERT_TRUE(where.ok()) << server_->address();
    client_ = std::make_unique<httplib::Client>(where->host, where->port);
  }
  httplib::Result Get(const std::string& path) {
    return client_->Get(path, {{"Accept-Encoding", "br, gzip, deflate"}});
  }

  std::string text_ = std::string(100000, '#') + "\nup 1\n";
  bool throws_ = false;
  Health health_;
  std::unique_ptr<ScrapeServer> server_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(Scrape, TheTextIsServedUnchangedWithThePrometheusType) {
  const auto answer = Get("/metrics");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, text_);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_FALSE(answer->has_header("Content-Encoding"));
}

TEST_F(Scrape, HealthIsServedWithStatus503AfterAFailure) {
  auto answer = Get("/health");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(nlohmann::json::parse(answer->body),
            (nlohmann::json{{"status", "ok"}, {"problems", nlohmann::json::array()}}));
  health_ = {.state = HealthState::kDegraded, .problems = {"slot 3 has stopped"}};
  answer = Get("/health");
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(nlohmann::json::parse(answer->body)["status"], "degraded");
  health_.state = HealthState::kFailed;
  answer = Get("/health");
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(nlohmann::json::parse(answer->body)["problems"][0], "slot 3 has stopped");
}

TEST_F(Scrape, OtherPathsAndMethodsAreNotServed) {
  EXPECT_EQ(Get("/tasks")->status, 404);
  EXPECT_EQ(client_->Post("/metrics", "x", "text/plain")->status, 405);
}

TEST_F(Scrape, ARenderErrorIsAnsweredAndTheServerContinues) {
  throws_ = true;
  EXPECT_EQ(Get("/metrics")->status, 500);
  throws_ = false;
  EXPECT_EQ(Get("/metrics")->status, 200);
}

TEST_F(Scrape, AnAddressInUseIsReported) {
  const auto second = ScrapeServer::Start(
      {.listen = server_->address(), .render = [] { return ""; }, .health = [] { return Health{}; }});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().message(), HasSubstr("cannot listen at " + server_->address()));
  EXPECT_THAT(second.status().message(), HasSubstr("metrics.listen"));
}

}  // namespace
}  // namespace cobblestone::metrics
