// An HTTP/1.1 server that may be exposed to untrusted clients (README.md lists its guarantees).
//
// One thread reads and writes for all connections. Handlers run on two pools, so that queries never wait for
// changes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ip_network.h"
#include "common/base/status.h"
#include "common/http/connection.h"
#include "common/http/message.h"
#include "common/http/tls.h"

namespace cobblestone::http {

struct ServerOptions {
  // host:port (port 0: any free port; the host is an address or localhost), or the path of a Unix socket.
  std::string host;
  int port = 0;
  std::string unix_path;  // if not empty, used instead of host and port; created with mode 0600
  std::optional<TlsFiles> tls;

  std::size_t connections = 512;             // at a time
  std::size_t connections_per_address = 64;  // per client; for IPv6, per 64-bit prefix
  std::vector<IpNetwork> proxies;            // not limited per address
  ConnectionLimits limits;
  std::chrono::milliseconds drain{2000};  // how long a stop waits for answers to be sent
  std::size_t bodies = 256u << 20;        // bytes of bodies at a time; one owner (Plan::owner) may use half
  std::size_t question_threads = 8;
  std::size_t change_threads = 16;
  std::size_t change_threads_per_owner = 4;  // see Plan::owner
  std::size_t producer_threads = 16;         // answers in pieces, at a time
};

class Server {
 public:
  // Starts listening and serving. `service` must outlive the server. kInvalidArgument: it cannot listen
  // there, or TLS cannot be set up; the message is a sentence fragment with the reason.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options, Service& service);
  // Stops as Stop() does and waits for handlers that are still running.
  ~Server();

  // Accepts no more connections; all existing ones are closed on return, after `drain` at the latest.
  void Stop();

  [[nodiscard]] int port() const;

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cobblestone::http
