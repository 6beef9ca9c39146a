#include "services/gateway/federation_xml.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "services/gateway/scheduler_xml.h"

namespace cobblestone::gateway {

using nlohmann::json;

namespace {

constexpr int kHistoryDaysShown = 91;
constexpr int kHistoryWeeksShown = 52;
constexpr double kActiveRecent = 0.1;

// Elements, one per line; text is escaped.
class XmlWriter {
 public:
  XmlWriter() : text_("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n") {}

  void Open(std::string_view name) {
    Indent();
    text_ += "<" + std::string(name) + ">\n";
    open_.emplace_back(name);
  }
  void Close() {
    const std::string name = open_.back();
    open_.pop_back();
    Indent();
    text_ += "</" + name + ">\n";
  }
  void Text(std::string_view name, std::string_view value) {
    Indent();
    text_ += "<" + std::string(name) + ">" + XmlText(value) + "</" + std::string(name) + ">\n";
  }
  void Number(std::string_view name, double value) {
    char number[400];
    std::snprintf(number, sizeof number, "%.6f", value);
    Text(name, number);
  }
  void Whole(std::string_view name, std::int64_t value) { Text(name, std::to_string(value)); }
  // A field of an answer; absent, null and empty fields have no element.
  void Field(std::string_view name, const json& object, const char* field) {
    const auto found = object.find(field);
    if (found == object.end() || found->is_null()) return;
    if (found->is_string()) {
      if (!found->get_ref<const std::string&>().empty()) Text(name, found->get_ref<const std::string&>());
    } else if (found->is_number_float()) {
      Number(name, found->get<double>());
    } else if (found->is_number()) {
      Text(name, found->dump());
    }
  }
  // Times are whole seconds.
  void Time(std::string_view name, const json& object, const char* field) {
    const auto found = object.find(field);
    if (found != object.end() && found->is_number())
      Whole(name, static_cast<std::int64_t>(found->get<double>()));
  }
  std::string Take() {
    while (!open_.empty()) Close();
    return std::move(text_);
  }

 private:
  void Indent() { text_.append(2 * open_.size(), ' '); }

  std::string text_;
  std::vector<std::string> open_;
};

// The project with this number among all.
const json& ProjectOf(const json& projects, const json& number) {
  static const json kNone = json::object();
  for (const json& project : projects)
    if (project.at("project") == number) return project;
  return kNone;
}

double NumberOf(const json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

// Sums of text with six decimals as JSON gives them, in micro-credits.
__extension__ using Micro = __int128;

Micro MicroOf(const json& text) {
  Micro micro = 0;
  bool negative = false;
  for (const char c : text.get_ref<const std::string&>()) {
    if (c == '-') negative = true;
    if (c >= '0' && c <= '9') micro = 10 * micro + (c - '0');
  }
  return negative ? -micro : micro;
}

std::string MicroDecimals(Micro micro) {
  const bool negative = micro < 0;
  if (negative) micro = -micro;
  std::string digits;
  while (micro > 0 || digits.size() < 7) {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(micro % 10)));
    micro /= 10;
  }
  digits.insert(digits.size() - 6, ".");
  return (negative ? "-" : "") + digits;
}

void AddPersonSums(XmlWriter& xml, const json& person) {
  xml.Field("total_credit", person, "total");
  xml.Field("expavg_credit", person, "rac");
  xml.Time("expavg_time", person, "rac_time");
}

}  // namespace

std::string UserXml(const json& person, std::string_view cpid, const json& projects) {
  XmlWriter xml;
  xml.Open("user");
  AddPersonSums(xml, person);
  xml.Text("cpid", cpid);
  xml.Text("name", person.at("name").get_ref<const std::string&>());
  xml.Field("country", person, "country");
  xml.Field("world_rank_total_credit", person, "rank_total");
  xml.Field("world_rank_expavg_credit", person, "rank_rac");
  for (const json& account : person.at("accounts")) {
    const json& project = ProjectOf(projects, account.at("project"));
    xml.Open("project");
    xml.Field("name", account, "project_name");
    xml.Field("project_id", account, "project");
    xml.Field("url", project, "url");
    xml.Field("total_credit", account, "total");
    xml.Field("expavg_credit", account, "rac");
    xml.Time("expavg_time", account, "rac_time");
    xml.Field("project_rank_total_credit", account, "rank_total");
    xml.Field("project_rank_expavg_credit", account, "rank_rac");
    xml.Field("id", account, "id");
    xml.Time("create_time", account, "create_time");
    xml.Field("country", account, "country");
    xml.Field("user_name", account, "name");
    xml.Field("user_url", account, "url");
    xml.Field("team_id", account, "team");
    xml.Field("team_name", account, "team_name");
    xml.Field("team_rank_total_credit", account, "team_rank_total");
    xml.Field("team_rank_expavg_credit", account, "team_rank_rac");
    xml.Field("team_member_count", account, "team_members");
    xml.Field("computer_count", account, "hosts");
    xml.Field("active_computer_count", account, "used_hosts");
    xml.Close();
  }
  return xml.Take();
}

std::string UserHistoryXml(const json& person, std::string_view cpid, std::int64_t today) {
  std::int64_t active = 0;
  double hosts = 0;
  double used_hosts = 0;
  for (const json& account : person.at("accounts")) {
    active += NumberOf(account, "rac") >= kActiveRecent ? 1 : 0;
    hosts += NumberOf(account, "hosts");
    used_hosts += NumberOf(account, "used_hosts");
  }
  std::vector<std::pair<std::int64_t, Micro>> days;  // ascending
  for (const json& one : person.at("days")) {
    days.emplace_back(one.at("day").get<std::int64_t>(), 0);
    for (const json& credit : one.at("credit")) days.back().second += MicroOf(credit);
  }
  // The total at the end of a day is the total now without the credit of all later days.
  const Micro total = MicroOf(person.at("total"));
  const auto total_at = [&](std::int64_t day) {
    Micro micro = total;
    for (auto later = days.rbegin(); later != days.rend() && later->first > day; ++later)
      micro -= later->second;
    return MicroDecimals(micro);
  };
  XmlWriter xml;
  xml.Open("user_credit_history");
  xml.Text("cpid", cpid);
  xml.Whole("project_count", static_cast<std::int64_t>(person.at("accounts").size()));
  xml.Whole("active_project_count", active);
  xml.Field("total_credit", person, "total");
  xml.Field("rac", person, "rac");
  xml.Time("rac_time", person, "rac_time");
  xml.Whole("computer_count", static_cast<std::int64_t>(hosts));
  xml.Whole("active_computer_count", static_cast<std::int64_t>(used_hosts));
  xml.Open("total_credit_history_last_91_days");
  for (int n = 1; n <= kHistoryDaysShown; ++n)
    xml.Text("day_" + std::to_string(n), total_at(today - (kHistoryDaysShown - n)));
  xml.Close();
  xml.Open("total_credit_history_last_year");
  for (int n = 1; n <= kHistoryWeeksShown; ++n)
    xml.Text("week_" + std::to_string(n), total_at(today - 7 * (kHistoryWeeksShown - n)));
  xml.Close();
  xml.Open("total_credit_history_by_month");
  const auto month_of = [](std::int64_t day) {
    const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
    return date.year() / date.month();
  };
  const std::chrono::year_month now = month_of(today);
  for (auto month = days.empty() ? now : month_of(days.front().first); month <= now;
       month += std::chrono::months(1)) {
    const std::chrono::sys_days last(month / std::chrono::last);
    char text[16];
    std::snprintf(text, sizeof text, "%04d-%02u", static_cast<int>(month.year()),
                  static_cast<unsigned>(month.month()));
    xml.Open("month");
    xml.Text("month", text);
    xml.Text("total_credit", total_at(last.time_since_epoch().count()));
    xml.Close();
  }
  return xml.Take();
}

std::string ProjectsXml(const json& projects) {
  XmlWriter xml;
  xml.Open("projects");
  for (const json& project : projects) {
    xml.Open("project");
    xml.Field("project_id", project, "project");
    xml.Field("project_name", project, "name");
    xml.Field("total_credit", project, "total");
    xml.Field("rac", project, "rac");
    xml.Field("user_count", project, "users");
    xml.Field("host_count", project, "hosts");
    xml.Field("team_count", project, "teams");
    xml.Field("country_count", project, "countries");
    xml.Time("last_update", project, "published_time");
    xml.Field("url", project, "url");
    if (project.at("account_manager").get<bool>()) xml.Whole("account_manager", 1);
    xml.Close();
  }
  return xml.Take();
}

namespace {

// Of a host or a team at one project.
void AddAtProject(XmlWriter& xml, const json& account, const json& projects) {
  xml.Field("name", account, "project_name");
  xml.Field("project_id", account, "project");
  xml.Field("url", ProjectOf(projects, account.at("project")), "url");
  xml.Field("id", account, "id");
  xml.Field("total_credit", account, "total");
  xml.Field("expavg_credit", account, "rac");
  xml.Field("project_rank_total_credit", account, "rank_total");
  xml.Field("project_rank_expavg_credit", account, "rank_rac");
}

}  // namespace

std::string HostXml(const json& hosts, std::string_view cpid, const json& projects) {
  Micro total = 0;
  double recent = 0;
  for (const json& host : hosts) {
    if (!host.at("in_sum").get<bool>()) continue;  // it is in the figures of other projects
    total += MicroOf(host.at("cobblestones"));
    recent += NumberOf(host, "rac_cobblestones");
  }
  XmlWriter xml;
  xml.Open("host");
  xml.Text("host_cpid", cpid);
  xml.Text("total_credit", MicroDecimals(total));
  xml.Number("expavg_credit", recent);
  for (const json& host : hosts) {
    xml.Open("project");
    AddAtProject(xml, host, projects);
    xml.Time("create_time", host, "create_time");
    xml.Field("user_id", host, "owner");
    xml.Close();
  }
  return xml.Take();
}

std::string TeamXml(const json& team, const json& projects) {
  XmlWriter xml;
  xml.Open("team");
  xml.Text("name", team.at("name").get_ref<const std::string&>());
  xml.Field("key", team, "key");
  xml.Field("total_credit", team, "total");
  xml.Field("expavg_credit", team, "rac");
  xml.Field("world_rank_total_credit", team, "rank_total");
  xml.Field("world_rank_expavg_credit", team, "rank_rac");
  xml.Field("member_count", team, "members");
  for (const json& one : team.at("teams")) {
    xml.Open("project");
    AddAtProject(xml, one, projects);
    xml.Field("team_name", one, "name");
    xml.Field("country", one, "country");
    xml.Field("team_url", one, "url");
    xml.Field("member_count", one, "members");
    xml.Close();
  }
  return xml.Take();
}

std::string ErrorXml(std::string_view message) {
  XmlWriter xml;
  xml.Text("error", message);
  return xml.Take();
}

}  // namespace cobblestone::gateway
