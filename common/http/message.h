// An HTTP request and its answer as values, independent of sockets and libraries.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cobblestone::http {

// The head of a request with unambiguous framing (request_head.h).
struct Head {
  std::string method;
  std::string path;                               // decoded, begins with '/'
  std::multimap<std::string, std::string> query;  // decoded
  // From the Host field or an absolute target, as sent; empty: HTTP/1.0 without one.
  std::string host;
  std::vector<std::pair<std::string, std::string>> fields;  // names in lower case, in order of arrival
  std::string peer;  // the client's address without port; empty on a Unix socket
  bool version_1_1 = true;
  bool chunked = false;  // the body comes in chunks
  std::optional<std::uint64_t> content_length;
  bool keep_alive = true;  // the client expects the connection to stay open

  // The value of the first such field; empty: no such field. `name` in lower case.
  [[nodiscard]] std::string_view Field(std::string_view name) const;
  [[nodiscard]] bool HasField(std::string_view name) const;
  // Whether bytes follow the head.
  [[nodiscard]] bool has_body() const { return chunked || content_length.value_or(0) > 0; }
};

// Produces an answer piece by piece: server-sent events, progress of a long query.
class Producer {
 public:
  virtual ~Producer() = default;
  // Produces the next piece; may wait for some seconds. False: the answer is complete. Called on one pool
  // thread at a time, never while the previous piece is being sent.
  virtual bool Next(std::string* piece) = 0;
};

struct Response {
  int status = 200;
  std::string type;  // Content-Type; empty: none
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body;
  std::string_view fixed_body{};       // instead of `body`: bytes with static lifetime
  std::shared_ptr<Producer> producer;  // instead of both
};

// The pool on which an answer is made.
enum class Pool { kQuestions, kChanges };

// How to process a request whose head has arrived.
struct Plan {
  // With a value: sent at once. The body is not read, and the connection is closed.
  std::optional<Response> refusal;
  // Makes the answer on a thread of `pool` when the body has arrived. May wait; may throw (500).
  std::function<Response(std::string body)> answer;
  Pool pool = Pool::kQuestions;
  std::uint64_t largest_body = 0;  // 0: a request with a body gets 400
  bool codings = false;            // Content-Encoding gzip or zstd is accepted; else 415
  bool trusted = false;  // not displaced by new connections while its body is read or its answer is sent
  // The owner whose share the request uses: of the memory for bodies (ServerOptions::bodies) and of the
  // threads for changes (ServerOptions::change_threads_per_owner).
  std::string owner;
};

class Service {
 public:
  virtual ~Service() = default;
  // Called on the server's thread and must be quick: determines the caller, the action and the permitted
  // body.
  virtual Plan OnRequest(const Head& head) = 0;
  // The answer to malformed requests and refused bodies: 400, 408, 411, 413, 415, 417, 431, 500, 503.
  virtual Response OnError(int status, const std::string& message) = 0;
  // Called after an answer was made (completely or its first piece). `head` is the request's.
  virtual void OnAnswered(const Head& /*head*/, const Response& /*response*/) {}
};

// "OK"; "Status" for unknown codes.
std::string_view ReasonOf(int status);

}  // namespace cobblestone::http
