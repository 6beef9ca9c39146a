// A whole connection over a socket pair. The first byte of the input sets the size of the pieces in which the
// other bytes are sent. For any input the output begins with a status line, there is at most one answer more than
// requests, and the answers do not depend on the size of the pieces.
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/base/check.h"
#include "common/http/connection.h"

namespace cobblestone::http {
namespace {

class FuzzService final : public Service {
 public:
  Plan OnRequest(const Head& head) override {
    ++requests;
    Plan plan;
    if (head.path == "/refused") {
      plan.refusal = Response{.status = 401, .body = "no"};
      return plan;
    }
    if (head.method == "POST") {
      plan.largest_body = 4096;
      plan.codings = head.path != "/plain";
    }
    plan.answer = [head](const std::string& body) {
      return Response{.type = "text/plain", .body = head.method + head.path + std::to_string(body.size())};
    };
    return plan;
  }
  Response OnError(int status, const std::string& message) override {
    return {.status = status, .body = message};
  }
  int requests = 0;
};

class FuzzHost final : public Host {
 public:
  explicit FuzzHost(boost::asio::io_context& io) : io_(io) {}
  Service& service() override { return service_; }
  const ConnectionLimits& limits() const override { return limits_; }
  BodyBudget& bodies() override { return bodies_; }
  bool Run(Pool, const std::string&, std::function<void()> work) override {
    boost::asio::post(io_, std::move(work));
    return true;
  }
  bool RunProducer(std::function<void()> work) override { return Run(Pool::kQuestions, {}, std::move(work)); }
  bool stopping() const override { return false; }
  int requests() const { return service_.requests; }

 private:
  boost::asio::io_context& io_;
  FuzzService service_;
  const ConnectionLimits limits_{};
  BodyBudget bodies_{1u << 20};
};

// The answers of the server to `input`, sent in pieces of `step` bytes, without Date fields and 100 Continue.
std::string Answers(const std::string& input, std::size_t step) {
  boost::asio::io_context io{1};
  FuzzHost host(io);
  int ends[2];
  COBBLESTONE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0, "no socket pair");
  bool closed = false;
  auto connection =
      std::make_shared<Connection>(io, MakeStream(Socket(io, {AF_UNIX, 0}, ends[0]), nullptr), "192.0.2.1",
                                   true, host, [&](Connection&) { closed = true; });
  connection->Start();
  std::string out;
  const auto drain = [&] {
    char piece[65536];
    for (ssize_t size = 0; (size = ::recv(ends[1], piece, sizeof piece, 0)) > 0;)
      out.append(piece, static_cast<std::size_t>(size));
  };
  for (std::size_t at = 0; at < input.size() && !closed;) {
    const ssize_t sent =
        ::send(ends[1], input.data() + at, std::min(step, input.size() - at), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) at += static_cast<std::size_t>(sent);
    if (sent < 0 && errno != EAGAIN) break;
    io.poll();
    drain();
  }
  ::shutdown(ends[1], SHUT_WR);
  for (int i = 0; i < 100 && !closed; ++i) {
    io.poll();
    drain();
  }
  drain();
  COBBLESTONE_CHECK(closed, "the connection did not end with its client");
  ::close(ends[1]);
  connection.reset();
  io.poll();
  int answers = 0;
  for (std::size_t at = 0; (at = out.find("\r\nDate: ", at)) != std::string::npos; ++answers)
    out.erase(at, out.find("\r\n", at + 2) - at);
  COBBLESTONE_CHECK(out.empty() || out.starts_with("HTTP/1.1 "),
                    "the output does not begin with a status line");
  // The server sends 100 Continue only while the body is missing, which depends on the size of the pieces.
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  for (std::size_t at = 0; (at = out.find(kContinue, at)) != std::string::npos;)
    out.erase(at, kContinue.size());
  COBBLESTONE_CHECK(answers <= host.requests() + 1, "more answers than requests");
  return out;
}

}  // namespace
}  // namespace cobblestone::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 65536) return 0;
  const std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = cobblestone::http::Answers(input, input.size() + 1);
  const std::string cut = cobblestone::http::Answers(input, 1 + data[0]);
  // Input after a refusal is dropped while the answer is sent. The dropped amount must not change the answers.
  COBBLESTONE_CHECK(whole == cut, "the answers depend on the size of the pieces");
  return 0;
}
