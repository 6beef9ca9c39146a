// HTTP/1.1 over the routes, the web page and the stream of live figures: who asks, how often, how much, and how it is said.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/gateway/handlers.h"
#include "services/gateway/live.h"
#include "services/gateway/token_store.h"

namespace cobblestone::gateway {

// One request that was answered. No token, no value of the query.
using AccessLog = std::function<void(const nlohmann::json& request)>;

class HttpServer {
 public:
  // Listens and serves at once, on threads of its own. What is given must outlive it. kInvalidArgument: cannot be listened
  // at, or the certificate cannot be used; the message says what to change.
  static Result<std::unique_ptr<HttpServer>> Start(const settings::GatewaySettings& settings,
                                                   TokenStore& tokens, Handlers& handlers, LiveFeed& live,
                                                   AccessLog log);
  // Ends the streams, waits for the requests that are being answered, and about two seconds for connections that are silent.
  ~HttpServer();

  // "http://127.0.0.1:8080", with the port that was found where any was asked for.
  [[nodiscard]] const std::string& url() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cobblestone::gateway
