// An HTTP/1.1 server that strangers may reach (README.md: what it promises).
//
// One thread reads and writes for all connections; handlers run on two pools, so that questions never wait for changes.
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
  // host:port (port 0: any that is free; the host is an address or localhost), or the path of a Unix socket.
  std::string host;
  int port = 0;
  std::string unix_path;  // where not empty, instead of both; mode 0600 from its first moment
  std::optional<TlsFiles> tls;

  std::size_t connections = 512;             // at a time
  std::size_t connections_per_address = 64;  // of one client; of IPv6 the first 64 bits are the address
  std::vector<IpNetwork> proxies;            // whose connections are not counted as one client's
  ConnectionLimits limits;
  std::chrono::milliseconds drain{2000};  // a stop waits so long for answers to be sent
  std::size_t bodies = 256u << 20;        // bytes of bodies at a time; one owner (Plan::owner) has half
  std::size_t question_threads = 8;
  std::size_t change_threads = 16;
  std::size_t change_threads_per_owner = 4;  // (Plan::owner)
  std::size_t producer_threads = 16;         // answers that come in pieces, at a time
};

class Server {
 public:
  // Listens and serves at once. `service` must outlive the server. kInvalidArgument: it cannot listen there, or TLS cannot be set
  // up; half a sentence that says why.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options, Service& service);
  // Stops, as Stop() does, and waits for handlers that are still at work.
  ~Server();

  // Takes no connection from now on; each one that there is has been closed when this returns, `drain` later at the latest.
  void Stop();

  [[nodiscard]] int port() const;

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cobblestone::http
