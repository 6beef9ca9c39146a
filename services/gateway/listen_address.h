// The address to listen on, parsed from the "host:port" of the settings.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/settings/run_settings.h"

namespace cobblestone::gateway {

struct ListenAddress {
  std::string host;  // without the brackets of IPv6
  int port = 0;      // 0: any free port
};

Result<ListenAddress> ParseListenAddress(std::string_view text);
// True if only this machine can reach the address.
bool IsLoopback(std::string_view host);
// kInvalidArgument if other machines can reach the address without TLS and the settings do not allow that explicitly.
Status CheckListening(const settings::GatewaySettings& settings);
// "https://127.0.0.1:8443"
std::string UrlOf(const ListenAddress& address, bool tls);

}  // namespace cobblestone::gateway
