#include "common/base/ip_network.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace cobblestone {

std::optional<IpAddress> ParseIpAddress(std::string_view text) {
  const std::string plain(text.substr(0, text.find('%')));
  IpAddress address{};
  if (::inet_pton(AF_INET6, plain.c_str(), address.data()) == 1) return address;
  address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  if (::inet_pton(AF_INET, plain.c_str(), &address[12]) == 1) return address;
  return std::nullopt;
}

Result<IpNetwork> IpNetwork::Parse(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto address = ParseIpAddress(text.substr(0, slash));
  if (!address) return Status::InvalidArgument("does not start with an IP address");
  IpNetwork network;
  network.text_ = text;
  network.address_ = *address;
  network.bits_ = 128;
  if (slash == text.size()) return network;
  const unsigned before = text.find(':') == std::string_view::npos ? 96 : 0;
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(text.data() + slash + 1, text.data() + text.size(), bits);
  if (error != std::errc() || end != text.data() + text.size() || bits > 128 - before)
    return Status::InvalidArgument("does not end with a number of bits from 0 to " +
                                   std::to_string(128 - before));
  network.bits_ = before + bits;
  return network;
}

bool IpNetwork::Contains(const IpAddress& address) const {
  const unsigned whole = bits_ / 8;
  if (!std::equal(address.begin(), address.begin() + whole, address_.begin())) return false;
  const unsigned rest = bits_ % 8;
  return rest == 0 || (address[whole] ^ address_[whole]) >> (8 - rest) == 0;
}

}  // namespace cobblestone
