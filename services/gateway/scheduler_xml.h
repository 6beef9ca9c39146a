// The credit fields of a BOINC scheduler's reply as XML elements, to be put into <scheduler_reply>.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace cobblestone::gateway {

// Text between tags: & < > are escaped, and what XML 1.0 cannot hold (control bytes, broken UTF-8) is U+FFFD.
std::string XmlText(std::string_view text);

// Of view::Questions::SchedulerReply: <user_name>..</user_name> and so on, one a line; what is null or absent has none.
std::string SchedulerReplyXml(const nlohmann::json& reply);

}  // namespace cobblestone::gateway
