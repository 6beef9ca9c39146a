// One HTTP GET with limits, against local servers.
#include "services/factors/fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "tests/support/gzip.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::factors {
namespace {

using testing::Gzip;

using ::testing::HasSubstr;

// Serves until the end of the test.
class Serving {
 public:
  explicit Serving(std::unique_ptr<httplib::Server> server) : server_(std::move(server)) {
    port_ = server_->bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_->listen_after_bind(); });
    while (!server_->is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~Serving() {
    server_->stop();
    thread_.join();
  }
  [[nodiscard]] std::string url(const std::string& scheme, const std::string& path) const {
    return scheme + "://127.0.0.1:" + std::to_string(port_) + path;
  }

 private:
  std::unique_ptr<httplib::Server> server_;
  int port_ = 0;
  std::thread thread_;
};

const std::atomic<bool> kGoOn{false};

TEST(Fetch, GivesTheBodyOfAnAnswerAlsoIfItIsCompressed) {
  auto server = std::make_unique<httplib::Server>();
  server->Get("/plain",
              [](const httplib::Request&, httplib::Response& r) { r.set_content("body", "text/plain"); });
  server->Get("/gzip", [](const httplib::Request&, httplib::Response& r) {
    r.set_header("Content-Encoding", "gzip");
    r.set_content(Gzip("compressed body"), "application/octet-stream");
  });
  const Serving serving(std::move(server));
  auto body = Fetch(serving.url("http", "/plain"), "", {}, kGoOn);
  ASSERT_TRUE(body.ok()) << body.status().message();
  EXPECT_EQ(*body, "body");
  body = Fetch(serving.url("http", "/gzip"), "", {}, kGoOn);
  ASSERT_TRUE(body.ok()) << body.status().message();
  EXPECT_EQ(*body, "compressed body");
}

TEST(Fetch, FollowsNoRedirectAndNamesTheStatus) {
  auto server = std::make_unique<httplib::Server>();
  server->Get("/moved", [](const httplib::Request&, httplib::Response& r) { r.set_redirect("/there"); });
  server->Get("/there",
              [](const httplib::Request&, httplib::Response& r) { r.set_content("body", "text/plain"); });
  const Serving serving(std::move(server));
  EXPECT_THAT(Fetch(serving.url("http", "/moved"), "", {}, kGoOn).status().message(),
              HasSubstr("status 302"));
  EXPECT_THAT(Fetch(serving.url("http", "/nowhere"), "", {}, kGoOn).status().message(),
              HasSubstr("status 404"));
  EXPECT_FALSE(Fetch("file:///etc/passwd", "", {}, kGoOn).ok());
}

TEST(Fetch, EndsAnAnswerThatIsTooLongAlsoAfterDecompression) {
  auto server = std::make_unique<httplib::Server>();
  server->Get("/size", [](const httplib::Request& q, httplib::Response& r) {
    r.set_content(std::string(std::stoul(q.get_param_value("n")), 'x'), "text/plain");
  });
  server->Get("/bomb", [](const httplib::Request&, httplib::Response& r) {
    r.set_header("Content-Encoding", "gzip");
    r.set_content(Gzip(std::string(10u << 20, 'x')), "application/octet-stream");
  });
  const Serving serving(std::move(server));
  const FetchLimits limits{.bytes = 1000};
  EXPECT_TRUE(Fetch(serving.url("http", "/size?n=1000"), "", limits, kGoOn).ok());
  for (const char* path : {"/size?n=1001", "/bomb"})
    EXPECT_THAT(Fetch(serving.url("http", path), "", limits, kGoOn).status().message(),
                HasSubstr("longer than 1000 bytes"))
        << path;
}

TEST(Fetch, DoesNotWaitForAServerThatDoesNotAnswerNorPastItsStop) {
  std::atomic<bool> release{false};
  std::atomic<int> asked{0};
  auto server = std::make_unique<httplib::Server>();
  server->Get("/silent", [&](const httplib::Request&, httplib::Response&) {
    ++asked;
    while (!release) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  const Serving serving(std::move(server));
  EXPECT_THAT(Fetch(serving.url("http", "/silent"), "", {.whole = std::chrono::milliseconds(200)}, kGoOn)
                  .status()
                  .message(),
              HasSubstr("timed out"));
  std::atomic<bool> stop{false};
  std::thread stopper([&] {
    while (asked < 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stop = true;
  });
  EXPECT_FALSE(Fetch(serving.url("http", "/silent"), "", {.whole = std::chrono::minutes(10)}, stop).ok());
  stopper.join();
  release = true;
}

TEST(Fetch, TrustsOnlyTheAuthorityThatItIsGiven) {
  const testing::TempDir dir;
  const std::string make =
      "cd '" + dir.path() +
      "' && openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 "
      "-subj /CN=hub -addext subjectAltName=IP:127.0.0.1 2>/dev/null";
  ASSERT_EQ(std::system(make.c_str()), 0);
  const std::string certificate = dir / "cert.pem";
  auto server = std::make_unique<httplib::SSLServer>(certificate.c_str(), (dir / "key.pem").c_str());
  server->Get("/",
              [](const httplib::Request&, httplib::Response& r) { r.set_content("body", "text/plain"); });
  const Serving serving(std::move(server));
  EXPECT_THAT(Fetch(serving.url("https", "/"), "", {}, kGoOn).status().message(), HasSubstr("certificate"));
  const auto body = Fetch(serving.url("https", "/"), certificate, {}, kGoOn);
  ASSERT_TRUE(body.ok()) << body.status().message();
  EXPECT_EQ(*body, "body");
}

}  // namespace
}  // namespace cobblestone::factors
