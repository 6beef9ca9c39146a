// A client whose connection breaks sends a lost block again, but not a block that was ingested. A scripted server
// answers or closes the connection as each test requires.
#include "services/access/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "services/access/append_codec.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {

using access::Answer;
using access::Client;
using access::ConnectClient;
using access::ErrorJson;
using access::HttpStatusOf;
using access::OutcomeJson;
using access::ProducerJson;
using access::Question;
using access::UrlOf;
using intake::AppendBlock;

namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Reply {
  int status = 200;
  json body;
};
constexpr std::nullopt_t kHangUp = std::nullopt;

// Accepts one connection for each request, answers from its script, and then stops.
class ScriptedServer {
 public:
  ScriptedServer(const std::string& path, std::vector<std::optional<Reply>> script)
      : path_(path), script_(std::move(script)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    listening_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(::bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listening_, 8), 0);
    thread_ = std::thread([this] { Serve(); });
  }
  ~ScriptedServer() {
    ::shutdown(listening_, SHUT_RDWR);
    thread_.join();
    ::close(listening_);
  }
  // Requests such as "POST /append", in order of arrival.
  std::vector<std::string> requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void Serve() {
    for (std::size_t next = 0; next < script_.size();) {
      const int connection = ::accept(listening_, nullptr, nullptr);
      if (connection < 0) return;
      // A connection without a request only checks whether a server listens.
      if (ReadRequest(connection)) Answer(connection, script_[next++]);
      ::close(connection);
    }
    ::unlink(path_.c_str());
    // A client that connected before the path was removed would wait for an answer for ever.
    for (int late = 0; (late = ::accept(listening_, nullptr, nullptr)) >= 0;) ::close(late);
  }

  bool ReadRequest(int connection) {
    std::string text;
    std::size_t wanted = std::string::npos;
    char some[4096];
    while (text.size() < wanted) {
      const ssize_t n = ::recv(connection, some, sizeof some, 0);
      if (n <= 0) return false;
      text.append(some, static_cast<std::size_t>(n));
      const std::size_t head = text.find("\r\n\r\n");
      if (head == std::string::npos || wanted != std::string::npos) continue;
      const std::size_t length = text.find("Content-Length: ");
      wanted = head + 4 + (length < head ? std::stoul(text.substr(length + 16)) : 0);
    }
    const std::size_t end = text.find_first_of("? ", text.find(' ') + 1);
    std::lock_guard lock(mutex_);
    requests_.push_back(text.substr(0, end));
    return true;
  }

  static void Answer(int connection, const std::optional<Reply>& reply) {
    if (!reply) return;
    const std::string body = reply->body.dump();
    const std::string text = "HTTP/1.1 " + std::to_string(reply->status) +
                             " Said\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
                             "\r\n\r\n" + body;
    EXPECT_EQ(::send(connection, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }

  std::string path_;
  std::vector<std::optional<Reply>> script_;
  int listening_ = -1;
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

class ClientTest : public ::testing::Test {
 protected:
  // Lines 5 and 6: an event, and a bad line.
  static AppendBlock Block() {
    AppendBlock block;
    block.source = "events";
    block.first_line = 5;
    block.hash = {.low = 7, .high = 8};
    block.lines.push_back({.envelope = "E"});
    block.lines.push_back({.original = "?", .problem = "no event"});
    return block;
  }
  static Reply Producer(std::uint64_t lines, stream::Hash128 hash) {
    return {.body = ProducerJson({.lines = lines, .hash = hash})};
  }
  static Reply Ingested() {
    return {.body = OutcomeJson(
                {.producer = {.lines = 7, .hash = {.low = 7, .high = 8}}, .appended = 1, .refused = 1})};
  }
  std::unique_ptr<Client> Connect() {
    auto client = ConnectClient(path_);
    EXPECT_TRUE(client.ok()) << client.status().message();
    return client.ok() ? std::move(*client) : nullptr;
  }

  testing::TempDir dir_;
  const std::string path_ = dir_ / "socket";
};

TEST_F(ClientTest, ALostBlockIsSentAgain) {
  ScriptedServer server(path_, {kHangUp, Producer(5, {}), Ingested()});
  const auto outcome = Connect()->Append(Block());
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->producer.lines, 7u);
  EXPECT_THAT(server.requests(), ElementsAre("POST /append", "GET /producer", "POST /append"));
}

TEST_F(ClientTest, ABlockWhoseAnswerWasLostIsNotSentAgain) {
  ScriptedServer server(path_, {kHangUp, Producer(7, {.low = 7, .high = 8})});
  const auto outcome = Connect()->Append(Block());
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->producer.lines, 7u);
  EXPECT_EQ(outcome->appended, 1u);
  EXPECT_EQ(outcome->refused, 1u);
  EXPECT_THAT(server.requests(), ElementsAre("POST /append", "GET /producer"));
}

// The server's own answer to a block beyond a quota (services/access/server.cc).
Reply Beyond(double seconds) {
  json refusal = ErrorJson(Status::Retry("project 1 is beyond its quota"));
  refusal["retry_after"] = seconds;
  return {.status = 429, .body = std::move(refusal)};
}

TEST_F(ClientTest, ABlockBeyondAQuotaIsSentAgainAfterTheWaits) {
  ScriptedServer server(path_, {Beyond(3.5), Beyond(0.25), Ingested()});
  const auto client = Connect();
  std::vector<double> waits;
  client->SetWait([&](double seconds, const std::string& why) {
    waits.push_back(seconds);
    EXPECT_EQ(why, "project 1 is beyond its quota");
    return true;
  });
  const auto outcome = client->Append(Block());
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->producer.lines, 7u);
  EXPECT_THAT(waits, ElementsAre(3.5, 0.25));
  EXPECT_THAT(server.requests(), ElementsAre("POST /append", "POST /append", "POST /append"));
}

TEST_F(ClientTest, AnInterruptedWaitIsATemporaryError) {
  ScriptedServer server(path_, {Beyond(3600)});
  const auto client = Connect();
  client->SetWait([](double, const std::string&) { return false; });
  const auto outcome = client->Append(Block());
  EXPECT_EQ(outcome.status().code(), StatusCode::kRetry);
  EXPECT_THAT(server.requests(), ElementsAre("POST /append"));
}

TEST_F(ClientTest, AServerThatStoppedIsATemporaryError) {
  ScriptedServer server(path_, {kHangUp});
  const auto outcome = Connect()->Append(Block());
  EXPECT_EQ(outcome.status().code(), StatusCode::kRetry);
  EXPECT_THAT(outcome.status().message(), HasSubstr("no event is ingested twice"));
}

TEST_F(ClientTest, AQuestionIsRepeatedAndAChangeIsNot) {
  ScriptedServer server(path_, {kHangUp, Reply{.body = {{"lag", 0}}}, kHangUp, Reply{}});
  const auto client = Connect();
  const auto tasks = client->Ask({.path = "/tasks"});
  ASSERT_TRUE(tasks.ok());
  EXPECT_EQ((*tasks)["lag"], 0);
  EXPECT_EQ(client->Ask({.path = "/refused/resubmit", .parameters = {{"offset", "3"}}}).status().code(),
            StatusCode::kRetry);
  EXPECT_THAT(server.requests(), ElementsAre("GET /tasks", "GET /tasks", "POST /refused/resubmit"));
}

TEST_F(ClientTest, AnErrorKeepsItsCodeAndItsMessage) {
  for (const Status& sent : {Status::Retry("r"), Status::Fenced("f"), Status::Corrupted("c"),
                             Status::Fatal("x"), Status::InvalidArgument("i"), Status::NotFound("n")}) {
    ScriptedServer server(path_, {Reply{.status = HttpStatusOf(sent), .body = ErrorJson(sent)}});
    const auto answer = Connect()->Ask({.path = "/tasks"});
    EXPECT_EQ(answer.status().code(), sent.code());
    EXPECT_EQ(answer.status().message(), sent.message());
  }
}

TEST_F(ClientTest, ConnectingWithoutAServerIsNotFound) {
  EXPECT_EQ(ConnectClient(path_).status().code(), StatusCode::kNotFound);
}

TEST(Question, ParametersAreEscaped) {
  EXPECT_EQ(
      UrlOf({.path = "/producer", .parameters = {{"project", "1"}, {"source", "a b&c=\xc3\xa9%.jsonl"}}}),
      "/producer?project=1&source=a%20b%26c%3D%C3%A9%25.jsonl");
  EXPECT_EQ(UrlOf({.path = "/tasks"}), "/tasks");
}

}  // namespace
}  // namespace cobblestone
