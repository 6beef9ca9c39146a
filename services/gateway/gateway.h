// The gateway of one process: an HTTP server over questions, pipeline and settings.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/gateway/handlers.h"
#include "services/gateway/http_server.h"
#include "services/gateway/live.h"
#include "services/gateway/pipeline.h"
#include "services/gateway/rights/token_store.h"
#include "services/view/hub/hub_indexer.h"
#include "services/view/questions.h"

namespace cobblestone::gateway {

// Receives messages that need an operator's reaction; never a token. Any thread.
using Warn = std::function<void(const std::string&)>;

class Gateway {
 public:
  // Reads the tokens, binds and serves. All reference arguments must outlive the gateway. kInvalidArgument: names the
  // setting to change. `log`: empty for no access log (the caller obeys gateway.access_log).
  static Result<std::unique_ptr<Gateway>> Start(const settings::GatewaySettings& settings,
                                                view::Questions& questions, Pipeline& pipeline, AccessLog log,
                                                Warn warn);

  [[nodiscard]] const std::string& url() const { return server_->url(); }

 private:
  Gateway() = default;

  // Ordered by dependency: each member uses those above it.
  std::unique_ptr<view::HubIndexer> indexer_;  // of a federation hub
  std::unique_ptr<TokenStore> tokens_;
  std::unique_ptr<Handlers> handlers_;
  std::unique_ptr<LiveFeed> live_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace cobblestone::gateway
