// Answers of a federation hub in the XML of the statistics sites that BOINC's web pages, clients and signature images ask:
// get_user.php and others. The arguments are answers of view::HubQuestions and view::HubLists.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace cobblestone::gateway {

// <user>: sums over projects, then a <project> for each account with, among others, the six elements that BOINC's
// show_user.php reads: url, id, name, total_credit, expavg_credit, create_time.
std::string UserXml(const nlohmann::json& person, std::string_view cpid, const nlohmann::json& projects);
// <user_credit_history>: totals at the end of each of the last 91 days and 52 weeks, ending with `today` (UNIX day), and of
// each month since the first day of the history.
std::string UserHistoryXml(const nlohmann::json& person, std::string_view cpid, std::int64_t today);
// <projects> with a <project> for each.
std::string ProjectsXml(const nlohmann::json& projects);
// <host>: sums over projects, then a <project> for each.
std::string HostXml(const nlohmann::json& hosts, std::string_view cpid, const nlohmann::json& projects);
// <team>: sums over projects, then a <project> for each.
std::string TeamXml(const nlohmann::json& team, const nlohmann::json& projects);
// <error>
std::string ErrorXml(std::string_view message);

}  // namespace cobblestone::gateway
