// The gateway of one process: questions, pipeline and settings in, an HTTP server out.
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
#include "services/gateway/token_store.h"
#include "services/view/questions.h"

namespace cobblestone::gateway {

// What an operator must react to; never a token. Any thread.
using Warn = std::function<void(const std::string&)>;

class Gateway {
 public:
  // Reads the tokens, listens, serves. What is given must outlive it. kInvalidArgument: what in the settings must change.
  // `log`: empty for none (gateway.access_log is the caller's to obey).
  static Result<std::unique_ptr<Gateway>> Start(const settings::GatewaySettings& settings,
                                                view::Questions& questions, Pipeline& pipeline, AccessLog log,
                                                Warn warn);

  [[nodiscard]] const std::string& url() const { return server_->url(); }

 private:
  Gateway() = default;

  // In the order in which they need each other.
  std::unique_ptr<TokenStore> tokens_;
  std::unique_ptr<Handlers> handlers_;
  std::unique_ptr<LiveFeed> live_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace cobblestone::gateway
