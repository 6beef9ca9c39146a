// IP addresses and networks, both versions. An IPv4 address is stored as, and equals, its IPv6 form
// (::ffff:192.0.2.1).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone {

using IpAddress = std::array<std::uint8_t, 16>;

// "192.0.2.1", "2001:db8::1"; a zone suffix ("fe80::1%eth0") is ignored. None: not an address.
std::optional<IpAddress> ParseIpAddress(std::string_view text);

class IpNetwork {
 public:
  // "10.0.0.0/8", "2001:db8::/32", or one address. kInvalidArgument: the message is a sentence fragment with
  // the error.
  static Result<IpNetwork> Parse(std::string_view text);

  [[nodiscard]] bool Contains(const IpAddress& address) const;
  [[nodiscard]] const std::string& text() const { return text_; }  // as written

  bool operator==(const IpNetwork&) const = default;

 private:
  std::string text_;
  IpAddress address_{};
  unsigned bits_ = 0;  // length of the network prefix, in bits
};

}  // namespace cobblestone
