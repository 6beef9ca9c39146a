// HTTP/1.1 server for the routes, the web page and the stream of live figures. The server authenticates, limits rates
// and sizes, and writes responses.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/gateway/handlers.h"
#include "services/gateway/live.h"
#include "services/gateway/rights/token_store.h"

namespace cobblestone::gateway {

// One answered request. Contains no token and no value of the query string.
using AccessLog = std::function<void(const nlohmann::json& request)>;

class HttpServer {
 public:
  // Binds and serves at once, on its own threads. All reference arguments must outlive the server. kInvalidArgument:
  // the address cannot be bound, or the certificate cannot be used; the message says what to change.
  static Result<std::unique_ptr<HttpServer>> Start(const settings::GatewaySettings& settings,
                                                   TokenStore& tokens, Handlers& handlers, LiveFeed& live,
                                                   AccessLog log);
  // Ends the streams, waits for requests in progress, and up to about two seconds for idle connections.
  ~HttpServer();

  // "http://127.0.0.1:8080"; with the actual port if the settings ask for any free port.
  [[nodiscard]] const std::string& url() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cobblestone::gateway
