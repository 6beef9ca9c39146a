// Address of the client behind trusted proxies.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/base/ip_network.h"

namespace cobblestone::gateway {

// Address that rate limits and the access log use. `peer`: address of the connection. `forwarded`: the values of
// X-Forwarded-For, joined with commas. Each proxy appends the address of its own client, so only entries that a
// trusted proxy appended are believed. Result: the right-most address that is not itself trusted; if the header has
// no such address, the last proxy.
std::string ClientAddress(std::string_view peer, std::string_view forwarded,
                          std::span<const IpNetwork> trusted);

}  // namespace cobblestone::gateway
