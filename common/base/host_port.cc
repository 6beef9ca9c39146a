#include "common/base/host_port.h"

#include <charconv>

namespace cobblestone {

Result<HostPort> ParseHostPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Status::InvalidArgument("is not a host:port");
  std::string_view host = text.substr(0, colon);
  int port = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc{} || at != end || port < 0 || port > 65535)
    return Status::InvalidArgument("does not end with a port from 0 to 65535");
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return Status::InvalidArgument("has an IPv6 address without brackets");
  }
  if (host.empty()) return Status::InvalidArgument("has no host");
  return HostPort{.host = std::string(host), .port = port};
}

std::string HostPortText(const HostPort& where) {
  const bool colons = where.host.find(':') != std::string::npos;
  return (colons ? "[" + where.host + "]" : where.host) + ":" + std::to_string(where.port);
}

}  // namespace cobblestone
