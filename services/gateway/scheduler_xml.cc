#include "services/gateway/scheduler_xml.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace cobblestone::gateway {
namespace {

// In the order of BOINC's scheduler.
constexpr const char* kFields[] = {"user_name",        "user_total_credit", "user_expavg_credit",
                                   "user_create_time", "host_total_credit", "host_expavg_credit",
                                   "team_name"};
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Bytes of the character at the start of the text; 0 if there is none.
std::size_t CharacterLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if ((first >= 0x80 && first < 0xC2) || first > 0xF4 || text.size() < length) return 0;
  std::uint32_t code = length == 1 ? first : first & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  const bool control = code < 0x20 && code != '\t' && code != '\n' && code != '\r';
  if (overlong || surrogate || control || code == 0xFFFE || code == 0xFFFF || code > 0x10FFFF) return 0;
  return length;
}

}  // namespace

std::string XmlText(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    if (length == 0) {
      out += kReplacement;
      text.remove_prefix(1);
      continue;
    }
    switch (text.front()) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      default: out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string SchedulerReplyXml(const nlohmann::json& reply) {
  std::string out;
  for (const char* name : kFields) {
    const auto field = reply.find(name);
    if (field == reply.end() || field->is_null()) continue;
    std::string text;
    if (field->is_string()) {
      text = XmlText(field->get_ref<const std::string&>());
    } else {
      char number[400];
      std::snprintf(number, sizeof number, field->is_number_float() ? "%f" : "%.0f", field->get<double>());
      text = number;
      if (text.find_first_not_of("-0.") == std::string::npos && text.front() == '-')
        text.erase(0, 1);  // rounds to 0
    }
    out += "<" + std::string(name) + ">" + text + "</" + name + ">\n";
  }
  return out;
}

}  // namespace cobblestone::gateway
