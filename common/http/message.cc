#include "common/http/message.h"

#include <algorithm>
#include <boost/beast/http/status.hpp>

namespace cobblestone::http {

std::string_view Head::Field(std::string_view name) const {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.first == name; });
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

bool Head::HasField(std::string_view name) const {
  return std::any_of(fields.begin(), fields.end(), [&](const auto& field) { return field.first == name; });
}

std::string_view ReasonOf(int status) {
  const auto reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  return {reason.data(), reason.size()};
}

}  // namespace cobblestone::http
