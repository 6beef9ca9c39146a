// Where to listen, from the settings' "host:port".
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/settings/run_settings.h"

namespace cobblestone::gateway {

struct ListenAddress {
  std::string host;  // without the brackets of IPv6
  int port = 0;      // 0: any that is free
};

Result<ListenAddress> ParseListenAddress(std::string_view text);
// Reached from this machine alone.
bool IsLoopback(std::string_view host);
// kInvalidArgument where other machines reach it, without TLS, and nobody has said that this is meant.
Status CheckListening(const settings::GatewaySettings& settings);
// "https://127.0.0.1:8443"
std::string UrlOf(const ListenAddress& address, bool tls);

}  // namespace cobblestone::gateway
