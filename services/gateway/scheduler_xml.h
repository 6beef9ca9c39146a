// The credit fields of a BOINC scheduler's reply as XML elements, for insertion into <scheduler_reply>.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace cobblestone::gateway {

// Text between tags: escapes & < >, and replaces what XML 1.0 cannot represent (control bytes, invalid UTF-8) with
// U+FFFD.
std::string XmlText(std::string_view text);

// `reply`: of view::Questions::SchedulerReply. One element per line: <user_name>..</user_name> and so on; null or
// absent fields have no element.
std::string SchedulerReplyXml(const nlohmann::json& reply);

}  // namespace cobblestone::gateway
