// The server from outside: bytes in, bytes out, over real sockets.
#include "common/http/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>

#include "common/http/client.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Answers with the request that it received, and records every path.
class Echo final : public Service {
 public:
  Plan OnRequest(const Head& head) override {
    {
      const std::lock_guard lock(mutex_);
      paths_.push_back(head.path);
    }
    if (head.path == "/throw-early") throw std::bad_alloc();
    Plan plan;
    if (head.path == "/refused") {
      plan.refusal = Response{.status = 401, .type = "text/plain", .body = "no\n"};
      return plan;
    }
    if (head.method == "POST" && head.path.starts_with("/body")) {
      plan.largest_body = 100000;
      plan.codings = head.path == "/body/coded";
    }
    if (head.path.starts_with("/change/")) {
      plan.pool = Pool::kChanges;
      plan.owner = head.path.substr(8);
    }
    plan.answer = [this, head](const std::string& body) -> Response {
      if (head.path == "/throw-late") throw std::runtime_error("late");
      if (head.path == "/wait" || head.path == "/change/greedy") Wait();
      if (head.path == "/pieces") return {.type = "text/plain", .producer = std::make_shared<Pieces>()};
      if (head.path == "/endless") return {.type = "text/plain", .producer = std::make_shared<Endless>()};
      if (head.path == "/large") return {.type = "text/plain", .body = std::string(64u << 20, 'x')};
      return {.type = "text/plain",
              .headers = {{"X-Evil", "a\r\nSet-Cookie: b"}},
              .body = head.method + " " + head.path + " [" + body + "]\n"};
    };
    return plan;
  }
  Response OnError(int status, const std::string& message) override {
    return {.status = status, .type = "text/plain", .body = message + "\n"};
  }

  std::vector<std::string> paths() {
    const std::lock_guard lock(mutex_);
    return paths_;
  }
  void Release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }
  void WaitUntilOneWaits() { WaitUntilWaiting(1); }
  void WaitUntilWaiting(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= count; });
  }

 private:
  class Pieces final : public Producer {
   public:
    bool Next(std::string* piece) override {
      if (next_ == 3) return false;
      *piece = "piece " + std::to_string(next_++) + "\n";
      return true;
    }

   private:
    int next_ = 0;
  };
  class Endless final : public Producer {
   public:
    bool Next(std::string* piece) override {
      *piece = std::string(100000, '.');
      return true;
    }
  };

  void Wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return released_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> paths_;
  int waiting_ = 0;
  bool released_ = false;
};

class Wire {
 public:
  explicit Wire(int port) : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Wire() { ::close(descriptor_); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // False: the server has closed the connection.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // Reads until the server closes the connection.
  std::string ReadAll() {
    std::string all;
    char piece[65536];
    for (ssize_t size = 0; (size = ::recv(descriptor_, piece, sizeof piece, 0)) > 0;)
      all.append(piece, static_cast<std::size_t>(size));
    return all;
  }
  // Reads until `text` has arrived or the server has closed the connection.
  std::string ReadUntil(const std::string& text) {
    std::string all;
    char piece[65536];
    while (all.find(text) == std::string::npos) {
      const ssize_t size = ::recv(descriptor_, piece, sizeof piece, 0);
      if (size <= 0) break;
      all.append(piece, static_cast<std::size_t>(size));
    }
    return all;
  }
  [[nodiscard]] bool connected() const { return connected_; }

 private:
  const int descriptor_;
  bool connected_ = false;
};

class HttpServer : public ::testing::Test {
 protected:
  void Start(ServerOptions options = {}) {
    if (options.unix_path.empty()) options.host = "127.0.0.1";
    auto server = Server::Start(std::move(options), service_);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(*server);
  }
  std::string Ask(const std::string& bytes) {
    Wire wire(server_->port());
    EXPECT_TRUE(wire.connected());
    (void)wire.Send(bytes);
    return wire.ReadAll();
  }
  static std::string Get(const std::string& path, const std::string& fields = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
  }
  static std::string Post(const std::string& path, const std::string& fields, const std::string& body) {
    return "POST " + path + " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n" + body;
  }
  static std::string Length(const std::string& body) {
    return "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  static std::string Last() { return Get("/last", "Connection: close\r\n"); }
  static std::size_t Answers(const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find("HTTP/1.1 ", at)) != std::string::npos; ++at) ++count;
    return count;
  }

  Echo service_;
  std::unique_ptr<Server> server_;
};

TEST_F(HttpServer, RequestsOnOneConnectionAreAnsweredInOrder) {
  Start();
  const std::string all =
      Ask(Get("/a") + Post("/body", Length("xyz"), "xyz") +
          Post("/body", "Transfer-Encoding: chunked\r\n", "2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nT: u\r\n\r\n") +
          Last());
  EXPECT_EQ(Answers(all), 4u) << all;
  EXPECT_THAT(all, HasSubstr("GET /a []"));
  EXPECT_THAT(all, HasSubstr("POST /body [xyz]"));
  EXPECT_THAT(all, HasSubstr("POST /body [hello]"));
  EXPECT_THAT(service_.paths(), ElementsAre("/a", "/body", "/body", "/last"));
  EXPECT_THAT(all, Not(HasSubstr("\nSet-Cookie"))) << "the value of a field cannot start a new line";
}

// If a request was not read to its end, the bytes after its head never become a request.
TEST_F(HttpServer, NoPartOfABodyBecomesARequest) {
  Start();
  const std::string inner = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  const auto chunk = [](const std::string& text) {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", text.size());
    return size + text + "\r\n0\r\n\r\n";
  };
  const auto line = [](const std::string& method, const std::string& path, const std::string& fields,
                       const std::string& body) {
    return method + " " + path + " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n" + body;
  };
  std::vector<std::string> cases;
  for (const char* method : {"GET", "HEAD", "OPTIONS", "TRACE", "DELETE", "PUT", "POST"}) {
    cases.push_back(line(method, "/a", Length(inner), inner));
    cases.push_back(line(method, "/a", chunked, chunk(inner)));
    cases.push_back(line(method, "/refused", Length(inner), inner));
    cases.push_back(line(method, "/refused", chunked, chunk(inner)));
  }
  const std::string large(100001, 'x');
  for (const std::string& fields :
       {"Content-Length: 4\r\n" + chunked, "Content-Length: 0\r\n" + Length(inner),
        Length(inner) + "Content-Length: 0\r\n", std::string("Content-Length: 0x0\r\n"),
        std::string("Content-Length: %30\r\n"), std::string("Content-Length : 0\r\n"),
        std::string("Transfer-Encoding: xchunked\r\nContent-Length: 0\r\n"),
        std::string("Transfer-Encoding: gzip, chunked\r\n"), std::string("X: a\r\n Content-Length: 0\r\n"),
        "A: b\n" + Length(inner), "Content-Encoding: gzip\r\n" + Length(inner),
        "Content-Encoding: br\r\n" + Length(inner), "Expect: 200-ok\r\n" + Length(inner),
        "Content-Type: multipart/form-data; boundary=B\r\n" + Length(inner)})
    cases.push_back(Post("/body", fields, inner));
  cases.push_back(Post("/body", chunked, "zz\r\n" + inner));
  cases.push_back(Post("/body", chunked, "1\r\naXX\r\n" + inner));
  cases.push_back(Post("/body", chunked, "-1\r\n" + inner));
  cases.push_back(Post("/body", chunked, "ffffffffffffffffff\r\n" + inner));
  cases.push_back(Post("/body", Length(large + inner), large + inner));
  cases.push_back(Post("/body", chunked, chunk(large + inner)));
  cases.push_back(Post("/body/coded", "Content-Encoding: gzip\r\n" + Length(inner), inner) + "X");
  // An assertion of the library that a client can reach (common/http/assertion.cc).
  EXPECT_THAT(Ask(Post("/body", chunked, "\r\n0\r\n0") + inner), Not(HasSubstr("200 OK")));
  EXPECT_THAT(Ask(Last()), HasSubstr("200 OK")) << "the server continues";
  cases.push_back("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + inner);
  cases.push_back("GET /\r\n\r\n" + inner);
  for (const std::string& bytes : cases) {
    const std::string all = Ask(bytes + Last());
    const auto paths = service_.paths();
    EXPECT_THAT(paths, Not(::testing::Contains("/smuggled"))) << bytes.substr(0, 300) << "\n-->\n" << all;
    EXPECT_GE(Answers(all), 1u) << bytes.substr(0, 300);
  }
}

TEST_F(HttpServer, AnAnswerBeforeTheBodyWasReadClosesTheConnection) {
  Start();
  const std::string body(50000, 'x');
  const std::string all = Ask(Post("/refused", Length(body), body) + Last());
  EXPECT_EQ(Answers(all), 1u);
  EXPECT_THAT(all, HasSubstr("401 Unauthorized"));
  EXPECT_THAT(all, HasSubstr("Connection: close"));
  EXPECT_EQ(Answers(Ask(Get("/refused") + Last())), 2u) << "without a body the connection stays open";
}

TEST_F(HttpServer, HeadsAreBoundedInSizeAndFields) {
  Start();
  EXPECT_THAT(Ask(Get("/" + std::string(40000, 'a'))), HasSubstr("431"));
  EXPECT_THAT(Ask(Get("/a", "X: " + std::string(40000, 'a') + "\r\n")), HasSubstr("431"));
  std::string fields;
  for (int i = 0; i < 200; ++i) fields += "a:b\r\n";
  EXPECT_THAT(Ask(Get("/a", fields)), HasSubstr("431"));
  EXPECT_THAT(Ask(Post("/body", "Transfer-Encoding: chunked\r\n", std::string(200000, '0'))),
              HasSubstr("HTTP/1.1 4"));
  EXPECT_THAT(Ask(Post("/body", "Transfer-Encoding: chunked\r\n", "0\r\nX: " + std::string(200000, 'a'))),
              HasSubstr("HTTP/1.1 4"));
  EXPECT_THAT(Ask(Get("/" + std::string(30000, 'a')) + Last()), HasSubstr("200 OK"));
}

TEST_F(HttpServer, ALateHeadOrBodyIsAnsweredWith408) {
  Start({.limits = {.head = std::chrono::milliseconds(50), .body = std::chrono::milliseconds(50)}});
  EXPECT_THAT(Ask("GET /a HTTP/1.1\r\nX: "), HasSubstr("408"));
  EXPECT_THAT(Ask(Post("/body", "Content-Length: 100\r\n", "abc")), HasSubstr("408"));
}

TEST_F(HttpServer, SlowBytesDoNotExtendTheDeadline) {
  Start({.limits = {.head = std::chrono::milliseconds(300), .body = std::chrono::milliseconds(300)}});
  for (const std::string& begin :
       {std::string("GET /a HTTP/1.1\r\nX: "), Post("/body", "Content-Length: 90000\r\n", "")}) {
    Wire wire(server_->port());
    ASSERT_TRUE(wire.Send(begin));
    std::atomic<bool> over = false;
    // The client sends as long as the server reads. A deadline for each single read would never expire.
    std::thread sender([&] {
      while (!over && wire.Send("a")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    });
    EXPECT_THAT(wire.ReadUntil("408"), HasSubstr("408"));
    over = true;
    sender.join();
  }
}

TEST_F(HttpServer, ACompressedBodyIsReadIfTheServiceAllowsIt) {
  Start();
  const std::string damaged = "\x1f\x8b not gzip";
  EXPECT_THAT(
      Ask(Post("/body", "Content-Encoding: gzip\r\nConnection: close\r\n" + Length(damaged), damaged)),
      HasSubstr("415"));
  EXPECT_THAT(
      Ask(Post("/body/coded", "Content-Encoding: br\r\nConnection: close\r\n" + Length(damaged), damaged)),
      HasSubstr("415"));
  EXPECT_THAT(
      Ask(Post("/body/coded", "Content-Encoding: gzip\r\nConnection: close\r\n" + Length(damaged), damaged)),
      HasSubstr("400"));
}

TEST_F(HttpServer, AClientThatExpects100ContinueGetsIt) {
  Start();
  Wire wire(server_->port());
  ASSERT_TRUE(
      wire.Send(Post("/body", "Expect: 100-continue\r\nConnection: close\r\nContent-Length: 3\r\n", "")));
  EXPECT_THAT(wire.ReadUntil("\r\n\r\n"), HasSubstr("100 Continue"));
  ASSERT_TRUE(wire.Send("xyz"));
  EXPECT_THAT(wire.ReadAll(), HasSubstr("[xyz]"));
  EXPECT_THAT(Ask(Post("/body", "Expect: 100-continue\r\nContent-Length: 100001\r\n", "")), HasSubstr("413"));
}

TEST_F(HttpServer, AnExceptionEndsOnlyTheConnection) {
  Start();
  EXPECT_EQ(Ask(Get("/throw-early")), "");
  EXPECT_THAT(Ask(Get("/throw-late") + Last()), HasSubstr("500"));
  EXPECT_THAT(Ask(Last()), HasSubstr("200 OK"));
}

TEST_F(HttpServer, AStreamedAnswerIsChunkedOrEndsWithItsConnection) {
  Start();
  const std::string chunks = Ask(Get("/pieces") + Last());
  EXPECT_THAT(chunks, HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_THAT(chunks, HasSubstr("8\r\npiece 0\n\r\n8\r\npiece 1\n\r\n8\r\npiece 2\n\r\n0\r\n\r\n"));
  EXPECT_EQ(Answers(chunks), 2u);
  EXPECT_THAT(Ask("GET /pieces HTTP/1.0\r\n\r\n"), HasSubstr("\r\n\r\npiece 0\npiece 1\npiece 2\n"));
}

TEST_F(HttpServer, HeadIsAnsweredWithoutABody) {
  Start();
  const std::string all = Ask("HEAD /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(all, HasSubstr("Content-Length: 11\r\n"));
  EXPECT_TRUE(all.ends_with("\r\n\r\n")) << all;
}

// The server closes idle connections for new connections, so that no client can occupy all of them.
TEST_F(HttpServer, IdleConnectionsAreClosedForNewOnes) {
  Start({.connections = 8, .connections_per_address = 4});
  std::vector<std::unique_ptr<Wire>> idle;
  for (int i = 0; i < 50; ++i) {
    idle.push_back(std::make_unique<Wire>(server_->port()));
    ASSERT_TRUE(idle.back()->Send(i % 2 == 0 ? "GET / HTTP/1.1\r\nX: " : ""));
  }
  for (int i = 0; i < 10; ++i) EXPECT_THAT(Ask(Last()), HasSubstr("200 OK"));
  EXPECT_EQ(idle.front()->ReadAll(), "") << "the connection that was idle longest was closed";
}

TEST_F(HttpServer, ARequestInProgressIsNotClosed) {
  Start({.connections = 2, .connections_per_address = 2});
  Wire working(server_->port());
  ASSERT_TRUE(working.Send(Get("/wait", "Connection: close\r\n")));
  service_.WaitUntilOneWaits();
  for (int i = 0; i < 10; ++i) EXPECT_THAT(Ask(Last()), HasSubstr("200 OK"));
  service_.Release();
  EXPECT_THAT(working.ReadAll(), HasSubstr("GET /wait"));
}

TEST_F(HttpServer, ChangesOfOneOwnerDoNotBlockOtherOwners) {
  Start({.change_threads = 4, .change_threads_per_owner = 2});
  std::vector<std::unique_ptr<Wire>> greedy;
  for (int i = 0; i < 6; ++i) {
    greedy.push_back(std::make_unique<Wire>(server_->port()));
    ASSERT_TRUE(greedy.back()->Send(Get("/change/greedy", "Connection: close\r\n")));
  }
  service_.WaitUntilWaiting(2);
  EXPECT_THAT(Ask(Get("/change/modest", "Connection: close\r\n")), HasSubstr("GET /change/modest"));
  service_.Release();
  for (const auto& wire : greedy) EXPECT_THAT(wire->ReadAll(), HasSubstr("GET /change/greedy"));
}

TEST_F(HttpServer, AClientThatDoesNotReadIsDisconnected) {
  Start({.limits = {.answer = std::chrono::milliseconds(100)}});
  for (const char* path : {"/large", "/endless"}) {
    Wire wire(server_->port());
    ASSERT_TRUE(wire.Send(Get(path)));
    // The client reads nothing, so the server gives up on it and serves other clients. The stop at the end of the
    // test proves that the server has given up.
  }
  EXPECT_THAT(Ask(Last()), HasSubstr("200 OK"));
}

TEST_F(HttpServer, AStopClosesEveryConnection) {
  Start({.drain = std::chrono::milliseconds(200)});
  std::vector<std::unique_ptr<Wire>> clients;
  for (const std::string& bytes :
       {std::string(), std::string("GET / HTTP/1.1\r\nX: "), Post("/body", "Content-Length: 90000\r\n", "a"),
        Get("/endless"), Get("/large"), Get("/a")}) {
    clients.push_back(std::make_unique<Wire>(server_->port()));
    ASSERT_TRUE(clients.back()->Send(bytes));
  }
  server_->Stop();
  // On a connection that the server has not closed, ReadAll() would block for ever.
  for (const auto& client : clients) (void)client->ReadAll();
  EXPECT_FALSE(Wire(server_->port()).connected());
}

TEST_F(HttpServer, AStopWaitsForAnAnswerInProgress) {
  Start({.drain = std::chrono::hours(1)});
  Wire wire(server_->port());
  ASSERT_TRUE(wire.Send(Get("/wait")));
  service_.WaitUntilOneWaits();
  std::thread stop([&] { server_->Stop(); });
  service_.Release();
  EXPECT_THAT(wire.ReadAll(), HasSubstr("GET /wait"));
  stop.join();
}

TEST_F(HttpServer, AUnixSocketIsAccessibleToItsOwnerOnly) {
  const testing::TempDir dir;
  const std::string path = dir.path() + "/socket";
  Start({.unix_path = path});
  struct stat file {};
  ASSERT_EQ(::stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  Client client = Client::OverUnixSocket(path);
  for (int i = 0; i < 3; ++i) {
    const auto reply = client.Send({.target = "/a?b=c"}, std::chrono::seconds(60));
    ASSERT_TRUE(reply.ok()) << reply.status().message();
    EXPECT_EQ(reply->body, "GET /a []\n");
  }
  const auto posted =
      client.Send({.method = "POST", .target = "/body", .body = "xyz"}, std::chrono::seconds(60));
  ASSERT_TRUE(posted.ok());
  EXPECT_EQ(posted->body, "POST /body [xyz]\n");
  std::string pieces;
  const auto streamed = client.Send({.target = "/pieces"}, std::chrono::seconds(60),
                                    [&](std::string_view piece) { pieces += piece; });
  ASSERT_TRUE(streamed.ok());
  EXPECT_EQ(pieces, "piece 0\npiece 1\npiece 2\n");
  server_.reset();
  EXPECT_EQ(client.Send({.target = "/a"}, std::chrono::seconds(60)).status().code(), StatusCode::kRetry);
}

TEST(BodyBudget, OneOwnerHasAtMostHalf) {
  BodyBudget budget(100);
  EXPECT_TRUE(budget.Take("a", 50));
  EXPECT_FALSE(budget.Take("a", 1));
  EXPECT_TRUE(budget.Take("b", 30));
  EXPECT_FALSE(budget.Take("c", 21));
  budget.Give("a", 50);
  EXPECT_TRUE(budget.Take("c", 21));
}

}  // namespace
}  // namespace cobblestone::http
