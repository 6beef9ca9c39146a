// Parses the head of a request. Boost.Beast parses the grammar; this code refuses what Beast accepts although
// two programs could read it differently (RFC 9112, 11.2: request smuggling).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/http/message.h"

namespace cobblestone::http {

inline constexpr std::size_t kLargestHead = 32 * 1024;  // bytes of the request line and all fields
inline constexpr std::size_t kMaxFields = 100;

// `text` ends with the empty line. kInvalidArgument: malformed; the connection must be closed. kFull: too
// many fields, which the caller answers with 431.
Result<Head> ParseHead(std::string_view text);

// "a%20b" -> "a b"; with `plus`, '+' is a space. False: a '%' without two hexadecimal digits, or a NUL.
bool DecodePercent(std::string_view text, bool plus, std::string* decoded);

// The host of a Host field without port and IPv6 brackets; empty if the text is not a host.
std::string_view HostWithoutPort(std::string_view host);

}  // namespace cobblestone::http
