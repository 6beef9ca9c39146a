#include "services/gateway/gateway.h"

#include <cstdlib>
#include <utility>

namespace cobblestone::gateway {
namespace {

constexpr const char* kVariable = "COBBLESTONE_TOKENS";

Result<Tokens> LoadTokens(const settings::GatewaySettings& settings) {
  if (!settings.tokens_file.empty()) return Tokens::Load(settings.tokens_file);
  const char* text = std::getenv(kVariable);  // NOLINT(concurrency-mt-unsafe): nobody sets variables
  return Tokens::Parse(text == nullptr ? "" : text, kVariable);
}

}  // namespace

Result<std::unique_ptr<Gateway>> Gateway::Start(const settings::GatewaySettings& settings,
                                                view::Questions& questions, Pipeline& pipeline,
                                                AccessLog log) {
  auto tokens = LoadTokens(settings);
  if (!tokens.ok()) return tokens.status();
  std::unique_ptr<Gateway> gateway(new Gateway);
  gateway->handlers_ = std::make_unique<Handlers>(questions, pipeline, settings);
  gateway->live_ = std::make_unique<LiveFeed>(pipeline, questions, gateway->handlers_->visibility(),
                                              LiveOptions{.streams = settings.streams});
  auto server =
      HttpServer::Start(settings, std::move(*tokens), *gateway->handlers_, *gateway->live_, std::move(log));
  if (!server.ok()) return server.status();
  gateway->server_ = std::move(*server);
  return gateway;
}

}  // namespace cobblestone::gateway
