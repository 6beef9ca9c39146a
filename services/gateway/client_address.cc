#include "services/gateway/client_address.h"

#include <algorithm>

namespace cobblestone::gateway {
namespace {

bool Trusts(std::span<const IpNetwork> trusted, const IpAddress& address) {
  return std::any_of(trusted.begin(), trusted.end(),
                     [&](const IpNetwork& network) { return network.Contains(address); });
}

// Strips surrounding blanks, and the port that some proxies add: "192.0.2.1:4711", "[2001:db8::1]:4711".
std::string_view AddressIn(std::string_view entry) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!entry.empty() && blank(entry.front())) entry.remove_prefix(1);
  while (!entry.empty() && blank(entry.back())) entry.remove_suffix(1);
  if (entry.starts_with('[')) return entry.substr(1, std::min(entry.find(']'), entry.size()) - 1);
  const std::size_t colon = entry.find(':');
  return colon == entry.rfind(':') ? entry.substr(0, colon) : entry;
}

}  // namespace

std::string ClientAddress(std::string_view peer, std::string_view forwarded,
                          std::span<const IpNetwork> trusted) {
  std::string_view client = peer;
  auto address = ParseIpAddress(client);
  while (address && Trusts(trusted, *address) && !forwarded.empty()) {
    const std::size_t comma = forwarded.rfind(',');
    const std::string_view entry = AddressIn(forwarded.substr(comma + 1));
    forwarded = forwarded.substr(0, comma == std::string_view::npos ? 0 : comma);
    address = ParseIpAddress(entry);
    if (address) client = entry;
  }
  return std::string(client);
}

}  // namespace cobblestone::gateway
