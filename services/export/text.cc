#include "services/export/text.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "common/base/check.h"

namespace cobblestone::exports {
namespace {

// The longest double has 309 digits before the point.
constexpr std::size_t kLongestNumber = 330;

void AppendPrecise(double value, int digits, std::string* out) {
  std::array<char, kLongestNumber> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, digits);
  COBBLESTONE_CHECK(end.ec == std::errc(), "a double does not fit in its longest text");
  out->append(text.data(), end.ptr);
}

template <class Integer>
void AppendInteger(Integer value, std::string* out) {
  std::array<char, 24> text;
  out->append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

}  // namespace

std::string_view Cut(std::string_view text, std::size_t limit) {
  return text.substr(0, std::min(limit, text.find('\0')));
}

void AppendEscaped(std::string_view text, std::string* out) {
  const std::size_t start = out->size();
  for (std::size_t i = 0; i < text.size() && out->size() - start <= kEscapedLimit; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '<') {
      *out += "&lt;";
    } else if (byte == '&') {
      *out += "&amp;";
    } else if (byte > 127 || byte == '\t' || byte == '\n' || byte == '\r') {
      *out += "&#";
      AppendInteger(static_cast<unsigned>(byte), out);
      *out += ';';
    } else if (byte == ']' && text.substr(i, 3) == "]]>") {
      *out += "]]&gt;";
      i += 2;
    } else if (byte >= 32) {
      *out += static_cast<char>(byte);
    }
  }
}

void AppendFixed(double value, std::string* out) { AppendPrecise(value, 6, out); }
void AppendRounded(double value, std::string* out) { AppendPrecise(value, 0, out); }
void AppendWhole(std::int64_t value, std::string* out) { AppendInteger(value, out); }
void AppendId(std::int64_t value, std::string* out) { AppendInteger(static_cast<std::uint64_t>(value), out); }

std::string Md5Hex(std::string_view a, std::string_view b) {
  // Fetched once: the look-up of an algorithm costs more than the MD5 of a short text.
  static const EVP_MD* const kMd5 = EVP_MD_fetch(nullptr, "MD5", nullptr);
  static thread_local EVP_MD_CTX* const context = EVP_MD_CTX_new();
  std::array<unsigned char, 16> sum;
  const bool done = kMd5 != nullptr && context != nullptr &&
                    EVP_DigestInit_ex2(context, kMd5, nullptr) == 1 &&
                    EVP_DigestUpdate(context, a.data(), a.size()) == 1 &&
                    EVP_DigestUpdate(context, b.data(), b.size()) == 1 &&
                    EVP_DigestFinal_ex(context, sum.data(), nullptr) == 1;
  COBBLESTONE_CHECK(done,
                    "OpenSSL does not provide MD5, which the ids of statistics files require; enable MD5 "
                    "in the OpenSSL configuration (openssl.cnf)");
  std::string hex;
  for (const unsigned char byte : sum) {
    hex += "0123456789abcdef"[byte >> 4U];
    hex += "0123456789abcdef"[byte & 15U];
  }
  return hex;
}

}  // namespace cobblestone::exports
