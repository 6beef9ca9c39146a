#include "services/gateway/listen_address.h"

#include <arpa/inet.h>

#include <charconv>

namespace cobblestone::gateway {

Result<ListenAddress> ParseListenAddress(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  ListenAddress address;
  const std::string_view port = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || address.port < 0 || address.port > 65535 ||
      colon == 0)
    return Status::InvalidArgument("gateway.listen: " + std::string(text) +
                                   " is not a host:port, such as 127.0.0.1:8080 or [::1]:8080");
  address.host = text.substr(0, colon);
  if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']')
    address.host = address.host.substr(1, address.host.size() - 2);
  return address;
}

bool IsLoopback(std::string_view host) {
  const std::string text(host);
  in_addr four{};
  in6_addr six{};
  if (text == "localhost") return true;
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  return ::inet_pton(AF_INET6, text.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

Status CheckListening(const settings::GatewaySettings& settings) {
  const auto address = ParseListenAddress(settings.listen);
  if (!address.ok()) return address.status();
  if (IsLoopback(address->host) || !settings.tls_certificate.empty() || settings.allow_plaintext)
    return Status::Ok();
  return Status::InvalidArgument("gateway.listen: other machines can reach " + address->host +
                                 ", and without TLS tokens and answers can be read on the network: set "
                                 "gateway.tls_certificate and gateway.tls_key, or, behind a proxy with TLS, "
                                 "gateway.allow_plaintext: true");
}

std::string UrlOf(const ListenAddress& address, bool tls) {
  const bool six = address.host.find(':') != std::string::npos;
  return std::string(tls ? "https://" : "http://") + (six ? "[" + address.host + "]" : address.host) + ":" +
         std::to_string(address.port);
}

}  // namespace cobblestone::gateway
