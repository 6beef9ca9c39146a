// HTTP for those who watch: GET /metrics (Prometheus' text) and GET /health, and nothing else (common/http). It asks nobody who
// they are, so it is to listen where only those who may know can reach it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "services/metrics/health.h"

namespace cobblestone::metrics {

struct ScrapeServerOptions {
  std::string listen;                   // "host:port", "[::1]:9464"; port 0: one that is free
  std::function<std::string()> render;  // the text; on threads of the server
  std::function<Health()> health;       // likewise
};

class ScrapeServer {
 public:
  // Binds and serves at once. kInvalidArgument: why it cannot listen there.
  static Result<std::unique_ptr<ScrapeServer>> Start(ScrapeServerOptions options);
  // Waits for handlers at work; connections are closed within two seconds.
  ~ScrapeServer();

  [[nodiscard]] const std::string& address() const;  // host:port, as it listens

 private:
  class Impl;
  explicit ScrapeServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cobblestone::metrics
