// HTTP server for monitoring: GET /metrics (Prometheus' text) and GET /health only (common/http). No authentication:
// it must listen where only permitted clients can reach it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "services/metrics/health.h"

namespace cobblestone::metrics {

struct ScrapeServerOptions {
  std::string listen;                   // "host:port", "[::1]:9464"; port 0: any free port
  std::function<std::string()> render;  // the text; called on threads of the server
  std::function<Health()> health;       // called on threads of the server
};

class ScrapeServer {
 public:
  // Binds and serves at once. kInvalidArgument: the reason why it cannot listen there.
  static Result<std::unique_ptr<ScrapeServer>> Start(ScrapeServerOptions options);
  // Waits for running handlers; closes connections within two seconds.
  ~ScrapeServer();

  [[nodiscard]] const std::string& address() const;  // actual host:port

 private:
  class Impl;
  explicit ScrapeServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cobblestone::metrics
