#include "common/http/request_head.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cctype>
#include <charconv>
#include <limits>

namespace cobblestone::http {
namespace {

namespace beast_http = boost::beast::http;

// Fields that may occur only once in a request: a duplicate is a request-smuggling attack that passes a proxy
// in front.
constexpr std::array<std::string_view, 8> kOnce = {"host",          "content-length", "transfer-encoding",
                                                   "authorization", "content-type",   "content-encoding",
                                                   "expect",        "connection"};

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = static_cast<char>(c | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Every line ends with CR LF, no line continues the previous one, and HTAB is the only control character.
Status CheckLines(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      ++i;
      if (i + 1 < text.size() && (text[i + 1] == ' ' || text[i + 1] == '\t'))
        return Status::InvalidArgument("a header field that continues on a second line is obsolete");
    } else if ((c < 0x20 && c != '\t') || c == 0x7f) {
      return Status::InvalidArgument(
          "the head contains a control character, or a line that does not end with CR LF");
    }
  }
  return Status::Ok();
}

Status SplitTarget(std::string_view target, Head* head) {
  for (const char c : target)
    if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f || c == '#')
      return Status::InvalidArgument("the target contains a character that must be percent-encoded");
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (Lower(target.substr(0, scheme.size())) != scheme) continue;
    const std::size_t path = std::min(target.find_first_of("/?", scheme.size()), target.size());
    head->host = target.substr(scheme.size(), path - scheme.size());
    target.remove_prefix(path);
    if (!target.starts_with('/')) return Status::InvalidArgument("the target has no path");
  }
  if (target == "*" && head->method == "OPTIONS") {
    head->path = "*";
    return Status::Ok();
  }
  if (!target.starts_with('/')) return Status::InvalidArgument("the target does not start with '/'");
  const std::size_t question = std::min(target.find('?'), target.size());
  if (!DecodePercent(target.substr(0, question), false, &head->path))
    return Status::InvalidArgument("the path has invalid percent-encoding");
  std::string_view rest = target.substr(std::min(question + 1, target.size()));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    std::string name;
    std::string value;
    if (!DecodePercent(pair.substr(0, equals), true, &name) ||
        !DecodePercent(pair.substr(std::min(equals + 1, pair.size())), true, &value))
      return Status::InvalidArgument("the query has invalid percent-encoding");
    head->query.emplace(std::move(name), std::move(value));
  }
  return Status::Ok();
}

// Determines how the end of the body is found: by exactly one rule, otherwise the request is refused.
Status ReadFraming(Head* head) {
  for (const std::string_view name : kOnce)
    if (std::count_if(head->fields.begin(), head->fields.end(),
                      [&](const auto& field) { return field.first == name; }) > 1)
      return Status::InvalidArgument("the field " + std::string(name) + " occurs twice");
  const bool coded = head->HasField("transfer-encoding");
  if (coded && head->HasField("content-length"))
    return Status::InvalidArgument("Content-Length and Transfer-Encoding must not be used together");
  if (coded) {
    if (!head->version_1_1 || Lower(head->Field("transfer-encoding")) != "chunked")
      return Status::InvalidArgument("the only Transfer-Encoding is chunked, in HTTP/1.1");
    head->chunked = true;
  }
  if (head->HasField("content-length")) {
    const std::string_view text = head->Field("content-length");
    std::uint64_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error != std::errc() || end != text.data() + text.size() || text.size() > 18)
      return Status::InvalidArgument("Content-Length is not a number of at most 18 digits");
    head->content_length = length;
  }
  return Status::Ok();
}

}  // namespace

bool DecodePercent(std::string_view text, bool plus, std::string* decoded) {
  decoded->clear();
  decoded->reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = high < 0 ? -1 : HexDigit(text[i + 2]);
      if (low < 0 || (high == 0 && low == 0)) return false;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus) {
      c = ' ';
    }
    *decoded += c;
  }
  return true;
}

std::string_view HostWithoutPort(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return {};
    if (end + 1 < host.size() && host[end + 1] != ':') return {};
    return host.substr(1, end - 1);
  }
  return host.substr(0, std::min(host.find(':'), host.size()));
}

Result<Head> ParseHead(std::string_view text) {
  if (Status s = CheckLines(text); !s.ok()) return s;
  beast_http::request_parser<beast_http::empty_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(kLargestHead + 1));
  // Not boost::none: Beast of Debian 12 treats it as smaller than any length.
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  boost::system::error_code error;
  const std::size_t used = parser.put(boost::asio::const_buffer(text.data(), text.size()), error);
  if (error || !parser.is_header_done() || used != text.size())
    return Status::InvalidArgument("the head is not HTTP/1.1: " +
                                   (error ? error.message() : std::string("the head has an unexpected end")));
  const auto& message = parser.get();
  Head head;
  head.method = std::string(message.method_string().data(), message.method_string().size());
  head.version_1_1 = message.version() == 11;
  head.keep_alive = parser.keep_alive();
  for (const auto& field : message) {
    if (head.fields.size() == kMaxFields)
      return Status::Full("the head has more than " + std::to_string(kMaxFields) + " fields");
    head.fields.emplace_back(Lower({field.name_string().data(), field.name_string().size()}),
                             std::string(field.value().data(), field.value().size()));
  }
  if (Status s = ReadFraming(&head); !s.ok()) return s;
  if (head.version_1_1 && !head.HasField("host"))
    return Status::InvalidArgument("HTTP/1.1 requires a Host field");
  head.host = head.Field("host");
  if (Status s = SplitTarget({message.target().data(), message.target().size()}, &head); !s.ok()) return s;
  return head;
}

}  // namespace cobblestone::http
