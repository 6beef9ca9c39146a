// The Unix socket of a running pipeline: HTTP/1.1, so that a person can ask it with curl. Questions of
// question.h as GET (POST where they change something), POST /append with a block of append_codec.h, GET
// /audit, which answers in lines of JSON: {"done", "all"} from time to time, at the end the answer or an
// error.
//
// Only the owner of the process may connect: the socket has mode 0600 from its first moment.
#pragma once

#include <memory>
#include <string>

#include "common/base/status.h"
#include "services/embedded/engine.h"

namespace cobblestone {

class Server {
 public:
  // Binds and serves at once, on threads of its own. The engine must outlive the server. A socket file that
  // nobody answers at was left by a process that died and is replaced: whoever holds the data directory
  // owns its socket. kFenced where somebody does answer, kInvalidArgument where the path cannot be bound.
  static Result<std::unique_ptr<Server>> Start(Engine& engine, const std::string& path);

  // Waits for the requests that are being answered; connections are closed within two seconds.
  ~Server();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Does a process listen there?
bool SocketAnswers(const std::string& path);

}  // namespace cobblestone
