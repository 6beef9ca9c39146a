// "127.0.0.1:9464" in its parts: where a server listens.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  int port = 0;      // 0: any that is free
};

// kInvalidArgument: half a sentence that says what is wrong with it. An IPv6 address stands in brackets: "[::1]:9464".
Result<HostPort> ParseHostPort(std::string_view text);
// The other way round.
std::string HostPortText(const HostPort& where);

}  // namespace cobblestone
