// The Unix socket of a running pipeline. HTTP/1.1, so that people can query it with curl: the questions of question.h
// as GET (POST if they change something); POST /append with a block of append_codec.h; GET /audit, which answers in
// lines of JSON: {"done", "all"} from time to time, then the answer or an error. A block beyond a quota (quotas.h) is
// answered by 429, Retry-After and {"error", "retry_after"} (s); nothing of it is appended.
//
// Only the process's own user may connect: the socket has mode 0600 from its creation on.
#pragma once

#include <memory>
#include <string>

#include "common/base/status.h"
#include "services/embedded/engine.h"

namespace cobblestone::access {

class Server {
 public:
  // Binds and serves at once, on its own threads. The engine must outlive the server. A socket file that nobody
  // answers is left over from a dead process and is replaced: the process that holds the data directory owns its
  // socket. kFenced: another process answers at the socket. kInvalidArgument: the path cannot be bound.
  static Result<std::unique_ptr<Server>> Start(embedded::Engine& engine, const std::string& path);

  // Waits for requests in progress; closes connections within two seconds.
  ~Server();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// True if a process listens there.
bool SocketAnswers(const std::string& path);

}  // namespace cobblestone::access
