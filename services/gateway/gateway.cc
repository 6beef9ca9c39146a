#include "services/gateway/gateway.h"

#include <cstdlib>
#include <utility>

#include "services/view/hub_questions.h"

namespace cobblestone::gateway {
namespace {

constexpr const char* kVariable = "COBBLESTONE_TOKENS";

Result<std::unique_ptr<TokenStore>> OpenTokens(const settings::GatewaySettings& settings, Warn warn) {
  if (!settings.tokens_file.empty())
    return TokenStore::OpenFile(settings.tokens_file, {.warn = std::move(warn)});
  const char* text = std::getenv(kVariable);  // NOLINT(concurrency-mt-unsafe): nobody sets variables
  auto tokens = Tokens::Parse(text == nullptr ? "" : text, kVariable);
  if (!tokens.ok()) return tokens.status();
  return TokenStore::Of(std::move(*tokens));
}

}  // namespace

Result<std::unique_ptr<Gateway>> Gateway::Start(const settings::GatewaySettings& settings,
                                                view::Questions& questions, Pipeline& pipeline, AccessLog log,
                                                Warn warn) {
  auto tokens = OpenTokens(settings, warn);
  if (!tokens.ok()) return tokens.status();
  std::unique_ptr<Gateway> gateway(new Gateway);
  gateway->tokens_ = std::move(*tokens);
  gateway->handlers_ = std::make_unique<Handlers>(questions, pipeline, *gateway->tokens_, settings);
  gateway->live_ = std::make_unique<LiveFeed>(pipeline, questions, gateway->handlers_->visibility(),
                                              LiveOptions{.streams = settings.streams});
  auto server =
      HttpServer::Start(settings, *gateway->tokens_, *gateway->handlers_, *gateway->live_, std::move(log));
  if (!server.ok()) return server.status();
  gateway->server_ = std::move(*server);
  if (questions.hub() != nullptr)
    gateway->indexer_ = std::make_unique<view::HubIndexer>(questions.hub()->lists(), std::move(warn));
  return gateway;
}

}  // namespace cobblestone::gateway
