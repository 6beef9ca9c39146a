// Rows of a project for tests of the export, in the format of a file of entities.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace cobblestone::statistics::testing {

using Json = nlohmann::ordered_json;

inline Json UserRow(std::int64_t id, double credit, const std::string& name = "u") {
  return {{"id", id},
          {"name", name},
          {"create_time", 5},
          {"total_credit", credit},
          {"expavg_credit", credit / 2},
          {"expavg_time", 7.5},
          {"cross_project_id", "c"},
          {"email_addr", "e"},
          {"country", "Japan"},
          {"url", ""},
          {"teamid", 0},
          {"has_profile", 0},
          {"show_hosts", 1},
          {"authenticator", "a"}};
}

inline Json HostRow(std::int64_t id, std::int64_t userid, double credit) {
  return {{"id", id},
          {"create_time", 1},
          {"userid", userid},
          {"rpc_time", 2},
          {"total_credit", credit},
          {"expavg_credit", 1.5},
          {"expavg_time", 3},
          {"timezone", -3600},
          {"domain_name", "h"},
          {"p_ncpus", 8},
          {"p_vendor", "v"},
          {"p_model", "m"},
          {"p_fpops", 1e9},
          {"p_iops", 2e9},
          {"p_membw", 3e9},
          {"os_name", "Linux"},
          {"os_version", "6"},
          {"m_nbytes", 8589934592},
          {"m_cache", 1e6},
          {"m_swap", 0},
          {"d_total", 1e12},
          {"d_free", 1e11},
          {"n_bwup", 0.5},
          {"n_bwdown", 0.25},
          {"avg_turnaround", 100},
          {"credit_per_cpu_sec", 0.125},
          {"host_cpid", "p"},
          {"misc", ""}};
}

inline Json TeamRow(std::int64_t id, std::int64_t founder, double credit) {
  return {{"id", id},  {"create_time", 1},       {"userid", founder},  {"name", "t"},
          {"type", 0}, {"total_credit", credit}, {"expavg_credit", 1}, {"expavg_time", 2},
          {"url", ""}, {"name_html", ""},        {"description", ""},  {"country", "None"}};
}

inline Json BadgeRow(std::int64_t id) {
  return {{"id", id}, {"name", "n"}, {"title", "t"}, {"image_url", "i"}};
}

inline Json BadgeOf(std::int64_t user, std::int64_t badge) {
  return {{"badge_id", badge}, {"user_id", user}, {"create_time", 1.5}};
}

// A spec with all tables, so that every kind of record occurs; `extra` is added to each enumeration.
inline std::string SpecText(const std::string& compression = "gzip", const std::string& extra = "") {
  std::string text = "<boinc_db_dump_spec>\n";
  for (const char* table : {"user", "team", "host", "user_deleted", "host_deleted"})
    text += std::string("<enumeration><table>") + table + "</table><filename>" + table + "</filename>" +
            extra + "<output><detail/><compression>" + compression +
            "</compression></output></enumeration>\n";
  return text + "</boinc_db_dump_spec>\n";
}

}  // namespace cobblestone::statistics::testing
