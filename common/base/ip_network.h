// Addresses and networks of IP, both versions. An address of IPv4 is one of IPv6, too (::ffff:192.0.2.1), and the same.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone {

using IpAddress = std::array<std::uint8_t, 16>;

// "192.0.2.1", "2001:db8::1"; a zone behind it ("fe80::1%eth0") says nothing. None: it is no address.
std::optional<IpAddress> ParseIpAddress(std::string_view text);

class IpNetwork {
 public:
  // "10.0.0.0/8", "2001:db8::/32", or one address. kInvalidArgument: half a sentence that says what is wrong with it.
  static Result<IpNetwork> Parse(std::string_view text);

  [[nodiscard]] bool Contains(const IpAddress& address) const;
  [[nodiscard]] const std::string& text() const { return text_; }  // as it was written

  bool operator==(const IpNetwork&) const = default;

 private:
  std::string text_;
  IpAddress address_{};
  unsigned bits_ = 0;  // of the address, from the first, that all in it share
};

}  // namespace cobblestone
