// Who asks, where proxies of ours stand between.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/base/ip_network.h"

namespace cobblestone::gateway {

// The address that limits and the log go by. `peer`: whose connection it is. `forwarded`: the values of X-Forwarded-For, one behind
// the other with commas; to its end each proxy adds who has asked it, so only what one that is trusted has added is believed: the
// right-most address that is not itself trusted, or where it says no more, the last proxy.
std::string ClientAddress(std::string_view peer, std::string_view forwarded,
                          std::span<const IpNetwork> trusted);

}  // namespace cobblestone::gateway
