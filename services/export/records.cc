#include "services/export/records.h"

#include <algorithm>
#include <string_view>

#include "services/export/php_number.h"
#include "services/export/strict_xml.h"
#include "services/export/text.h"

namespace cobblestone::exports {
namespace {

// Writes elements, each on its own line, all with the same indent.
class Elements {
 public:
  Elements(int indent, std::string* out) : indent_(static_cast<std::size_t>(indent)), out_(*out) {}

  void Id(std::string_view tag, std::int64_t value) {
    Put(tag, [&] { AppendId(value, &out_); });
  }
  void Whole(std::string_view tag, std::int64_t value) {
    Put(tag, [&] { AppendWhole(value, &out_); });
  }
  void Fixed(std::string_view tag, double value) {
    Put(tag, [&] { AppendFixed(value, &out_); });
  }
  void Rounded(std::string_view tag, double value) {
    Put(tag, [&] { AppendRounded(value, &out_); });
  }
  void Text(std::string_view tag, std::string_view text) {
    Put(tag, [&] { out_ += text; });
  }
  void Escaped(std::string_view tag, std::string_view text, std::size_t limit = kColumnBytes) {
    Put(tag, [&] { AppendEscaped(Cut(text, limit), &out_); });
  }
  void EscapedIfAny(std::string_view tag, std::string_view text, std::size_t limit = kColumnBytes) {
    if (!Cut(text).empty()) Escaped(tag, text, limit);
  }
  void Raw(std::string_view tag, std::string_view text, bool strict) {
    Put(tag, [&] { AppendRaw(Cut(text), strict, &out_); });
  }
  void Cdata(std::string_view tag, std::string_view text, bool strict) {
    Put(tag, [&] { AppendCdata(Cut(text, kBlobBytes), strict, &out_); });
  }

 private:
  template <class Value>
  void Put(std::string_view tag, Value value) {
    out_.append(indent_, ' ');
    out_ += '<';
    out_ += tag;
    out_ += '>';
    value();
    out_ += "</";
    out_ += tag;
    out_ += ">\n";
  }

  std::size_t indent_;
  std::string& out_;
};

bool IsMd5Hex(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

}  // namespace

std::string CpidOf(const User& user) {
  // BOINC's cpid is an MD5. An event may contain any bytes instead, even markup: such a cpid is ignored.
  if (user.cpid && IsMd5Hex(*user.cpid)) return *user.cpid;
  return Md5Hex(Cut(user.cross_project_id), Cut(user.email_addr));
}

std::string FileHead(const std::string& root) {
  return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<" + root + ">\n";
}

std::string FileTail(const std::string& root) { return "</" + root + ">\n"; }

void AppendUser(const User& user, const Settings& settings, std::string* out) {
  *out += "<user>\n";
  Elements elements(1, out);
  elements.Id("id", user.id);
  elements.Escaped("name", user.name);
  elements.Whole("create_time", user.create_time);
  elements.Fixed("total_credit", user.total_credit);
  elements.Fixed("expavg_credit", user.expavg_credit);
  elements.Fixed("expavg_time", user.expavg_time);
  elements.Text("cpid", CpidOf(user));
  if (settings.user_country && !Cut(user.country).empty())
    elements.Raw("country", user.country, settings.strict_xml);
  if (settings.user_url) elements.EscapedIfAny("url", user.url);
  if (user.teamid != 0) elements.Id("teamid", user.teamid);
  if (user.has_profile != 0) *out += " <has_profile/>\n";
  *out += "</user>\n";
}

void AppendUserDeleted(const Deleted& deleted, const Settings& settings, std::string* out) {
  *out += "<user>\n";
  Elements elements(4, out);
  elements.Id("id", deleted.id);
  elements.Raw("cpid", deleted.public_cross_project_id, settings.strict_xml);
  *out += "</user>\n";
}

void AppendHostDeleted(const Deleted& deleted, const Settings& settings, std::string* out) {
  *out += "<host>\n";
  Elements elements(4, out);
  elements.Id("id", deleted.id);
  elements.Raw("host_cpid", deleted.public_cross_project_id, settings.strict_xml);
  *out += "</host>\n";
}

void AppendTeam(const Team& team, const User* founder, const std::string& members, const Settings& settings,
                std::string* out) {
  *out += "<team>\n";
  // The indents are those of upstream.
  Elements zero(0, out);
  Elements one(1, out);
  Elements two(2, out);
  one.Id("id", team.id);
  one.Whole("type", team.type);
  one.Escaped("name", team.name);
  one.Id("userid", team.userid);
  one.Fixed("total_credit", team.total_credit);
  one.Fixed("expavg_credit", team.expavg_credit);
  one.Fixed("expavg_time", team.expavg_time);
  if (founder != nullptr) two.Escaped("founder_name", founder->name);
  one.Whole("create_time", team.create_time);
  one.EscapedIfAny("url", team.url);
  zero.EscapedIfAny("name_html", team.name_html);
  zero.EscapedIfAny("description", team.description, kBlobBytes);
  one.Raw("country", team.country, settings.strict_xml);
  *out += members;
  *out += "</team>\n";
}

void AppendHost(const Host& host, HostView view, const Settings& settings, std::string* out) {
  *out += "<host>\n";
  Elements four(4, out);
  four.Id("id", host.id);
  if (view.detail && view.shows_owner) four.Id("userid", host.userid);
  four.Fixed("total_credit", host.total_credit);
  four.Fixed("expavg_credit", host.expavg_credit);
  four.Fixed("expavg_time", host.expavg_time);
  four.Escaped("p_vendor", host.p_vendor);
  four.Escaped("p_model", host.p_model);
  four.Escaped("os_name", host.os_name);
  four.Escaped("os_version", host.os_version);
  four.Cdata("misc", host.misc, settings.strict_xml);
  if (view.detail) {
    Elements two(2, out);
    two.Whole("create_time", host.create_time);
    two.Whole("rpc_time", host.rpc_time);
    two.Whole("timezone", host.timezone);
    two.Whole("ncpus", host.p_ncpus);
    two.Fixed("p_fpops", host.p_fpops);
    two.Fixed("p_iops", host.p_iops);
    two.Fixed("p_membw", host.p_membw);
    two.Fixed("m_nbytes", host.m_nbytes);
    two.Fixed("m_cache", host.m_cache);
    two.Fixed("m_swap", host.m_swap);
    two.Fixed("d_total", host.d_total);
    two.Fixed("d_free", host.d_free);
    two.Fixed("n_bwup", host.n_bwup);
    two.Fixed("n_bwdown", host.n_bwdown);
    two.Fixed("avg_turnaround", host.avg_turnaround);
    two.Fixed("credit_per_cpu_sec", host.credit_per_cpu_sec);
    two.Raw("host_cpid", host.host_cpid, settings.strict_xml);
  }
  *out += "</host>\n";
}

void AppendBadgeHeld(const BadgeHeld& badge, const std::string& table, std::string* out) {
  *out += " <badge_" + table + ">\n";
  Elements elements(4, out);
  elements.Id(table + "_id", badge.holder);
  elements.Id("badge_id", badge.badge);
  elements.Rounded("create_time", badge.create_time);
  *out += " </badge_" + table + ">\n";
}

void AppendWork(const std::string& table, std::int64_t id, const std::vector<AppCredit>& credit,
                const std::vector<Subproject>& subprojects, const Settings& settings, std::string* out) {
  *out += "<" + table + ">\n";
  Elements(4, out).Whole("id", id);
  for (const Subproject& subproject : subprojects) {
    PhpNumber jobs;
    PhpNumber total;
    PhpNumber expavg;
    for (const AppCredit& of_app : credit) {
      if (std::find(subproject.apps.begin(), subproject.apps.end(), of_app.app) == subproject.apps.end())
        continue;
      jobs.AddWhole(of_app.njobs);
      total.Add(of_app.total);
      expavg.Add(of_app.expavg);
    }
    if (total.IsZero()) continue;
    *out += "    <subproject name=\"";
    AppendAttribute(subproject.name, settings.strict_xml, out);
    *out += "\">\n";
    Elements elements(8, out);
    elements.Text("workunits", jobs.Text());
    elements.Text("credit", total.Text());
    elements.Text("expavg_credit", expavg.Text());
    *out += "    </subproject>\n";
  }
  *out += "</" + table + ">\n";
}

}  // namespace cobblestone::exports
