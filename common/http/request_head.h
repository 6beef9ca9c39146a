// The head of a request, from bytes. Boost.Beast parses the grammar; what that parser lets pass although two programs could read
// it differently (RFC 9112, 11.2: request smuggling) is refused here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/http/message.h"

namespace cobblestone::http {

inline constexpr std::size_t kLargestHead = 32 * 1024;  // bytes of the request line and all fields
inline constexpr std::size_t kMostFields = 100;

// `text` ends with the empty line. kInvalidArgument: what is wrong with it; the connection cannot go on.
// The fields' count is the caller's to answer with 431: kFull.
Result<Head> ParseHead(std::string_view text);

// "a%20b" -> "a b"; with `plus`, '+' is a space. False: a '%' without two hexadecimal digits behind it, or a NUL.
bool DecodePercent(std::string_view text, bool plus, std::string* decoded);

// The host of a Host field without its port and without the brackets of IPv6; empty where the text is no host.
std::string_view HostWithoutPort(std::string_view host);

}  // namespace cobblestone::http
