// The parts of a listen address such as "127.0.0.1:9464".
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  int port = 0;      // 0: any free port
};

// kInvalidArgument: the message is a sentence fragment with the error. An IPv6 address has brackets:
// "[::1]:9464".
Result<HostPort> ParseHostPort(std::string_view text);
// The reverse.
std::string HostPortText(const HostPort& where);

}  // namespace cobblestone
