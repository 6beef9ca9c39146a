// One HTTP request and its answer as values: no socket, no library.
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

// The head of a request whose framing has one meaning only (request_head.h).
struct Head {
  std::string method;
  std::string path;                               // decoded, begins with '/'
  std::multimap<std::string, std::string> query;  // decoded
  std::string
      host;  // of the Host field or of an absolute target, as the client sent it; empty: HTTP/1.0 without one
  std::vector<std::pair<std::string, std::string>> fields;  // names in lower case, in the order of arrival
  std::string peer;  // the client's address without its port; empty on a Unix socket
  bool version_1_1 = true;
  bool chunked = false;  // the body comes in chunks
  std::optional<std::uint64_t> content_length;
  bool keep_alive = true;  // the client expects the connection to stay open

  // The value of the first such field; empty: there is none. `name` in lower case.
  [[nodiscard]] std::string_view Field(std::string_view name) const;
  [[nodiscard]] bool HasField(std::string_view name) const;
  // Bytes follow the head.
  [[nodiscard]] bool has_body() const { return chunked || content_length.value_or(0) > 0; }
};

// Makes an answer piece by piece: server-sent events, progress of a long question.
class Producer {
 public:
  virtual ~Producer() = default;
  // The next piece; may wait for some seconds. False: the answer is complete. On one thread of a pool at a time, never while the
  // piece before is still being sent.
  virtual bool Next(std::string* piece) = 0;
};

struct Response {
  int status = 200;
  std::string type;  // Content-Type; empty: none
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body;
  std::string_view fixed_body{};       // instead of `body`: bytes that live as long as the program
  std::shared_ptr<Producer> producer;  // instead of both
};

// Which threads may be held by an answer that is being made.
enum class Pool { kQuestions, kChanges };

// What is to be done with a request whose head has come.
struct Plan {
  // With a value: sent at once. A body that follows is not read, and the connection is closed.
  std::optional<Response> refusal;
  // Makes the answer, on a thread of `pool`, when the body is there. May wait; may throw (500).
  std::function<Response(std::string body)> answer;
  Pool pool = Pool::kQuestions;
  std::uint64_t largest_body = 0;  // 0: a request with a body gets 400
  bool codings = false;            // Content-Encoding: gzip or zstd is understood; else 415
  bool trusted = false;  // not displaced by new connections while its body is read or its answer is sent
  // Whose requests share what one owner may have: of the memory for bodies (ServerOptions::bodies) and of the threads for
  // changes (ServerOptions::change_threads_per_owner).
  std::string owner;
};

class Service {
 public:
  virtual ~Service() = default;
  // On the server's thread, so it must be quick: who asks, what for, and what it may send.
  virtual Plan OnRequest(const Head& head) = 0;
  // The answer to what never became a request, or whose body was refused: 400, 408, 411, 413, 415, 417, 431, 500, 503.
  virtual Response OnError(int status, const std::string& message) = 0;
  // After an answer was made (whole or its first piece). `head` is the request's.
  virtual void OnAnswered(const Head& /*head*/, const Response& /*response*/) {}
};

// "OK"; "Status" for what has no name here.
std::string_view ReasonOf(int status);

}  // namespace cobblestone::http
