#include "services/adoption/adopted_events.h"

#include <algorithm>
#include <limits>

#include "common/wire/events/event_check.h"
#include "services/export/filters.h"
#include "services/export/records.h"

namespace cobblestone::adoption {
namespace {

// For columns that the pipeline itself uses. The profile keeps the values unchanged.
double TimeOrNone(double time) { return time > 0 && time < wire::kMaxTime ? time : 0; }

template <class Row>
wire::OpeningTotal Opening(wire::AccountKind kind, const Row& row) {
  return {.kind = kind,
          .account = AccountNumber(row.id),
          .total_micro = wire::BalanceOf(row.total_credit),
          .total = std::nullopt,
          .rac = row.expavg_credit,
          .rac_time = TimeOrNone(row.expavg_time),
          .figures = wire::OpeningFigures{.total_credit = row.total_credit,
                                          .expavg_credit = row.expavg_credit,
                                          .expavg_time = row.expavg_time}};
}

}  // namespace

wire::UserMember MemberOf(const exports::User& user) {
  return {.user = UserId(AccountNumber(user.id)),
          .team = TeamId(AccountNumber(user.teamid)),
          .cross_project_id = {},
          .create_time = TimeOrNone(static_cast<double>(user.create_time)),
          .name = user.name,
          .country = {},
          .profile = wire::UserProfile{.create_time = user.create_time,
                                       .cpid = exports::CpidOf(user),
                                       .country = user.country,
                                       .url = user.url,
                                       .has_profile = user.has_profile != 0,
                                       .show_hosts = user.show_hosts != 0,
                                       .hidden = exports::IsHidden(user)}};
}

wire::HostMember MemberOf(const exports::Host& host) {
  constexpr std::int64_t kMaxCpus = std::numeric_limits<std::uint32_t>::max();
  return {.host = HostId(AccountNumber(host.id)),
          .user = UserId(AccountNumber(host.userid)),
          .cross_project_id = {},
          .whetstone = host.p_fpops,
          .dhrystone = host.p_iops,
          .cpus = static_cast<std::uint32_t>(std::clamp<std::int64_t>(host.p_ncpus, 0, kMaxCpus)),
          .create_time = TimeOrNone(static_cast<double>(host.create_time)),
          .name = {},
          .profile = wire::HostProfile{.create_time = host.create_time,
                                       .rpc_time = host.rpc_time,
                                       .timezone = host.timezone,
                                       .hidden = exports::IsHidden(host),
                                       .p_ncpus = host.p_ncpus,
                                       .p_vendor = host.p_vendor,
                                       .p_model = host.p_model,
                                       .p_fpops = host.p_fpops,
                                       .p_iops = host.p_iops,
                                       .p_membw = host.p_membw,
                                       .os_name = host.os_name,
                                       .os_version = host.os_version,
                                       .m_nbytes = host.m_nbytes,
                                       .m_cache = host.m_cache,
                                       .m_swap = host.m_swap,
                                       .d_total = host.d_total,
                                       .d_free = host.d_free,
                                       .n_bwup = host.n_bwup,
                                       .n_bwdown = host.n_bwdown,
                                       .avg_turnaround = host.avg_turnaround,
                                       .credit_per_cpu_sec = host.credit_per_cpu_sec,
                                       .host_cpid = host.host_cpid,
                                       .misc = host.misc}};
}

wire::TeamMember MemberOf(const exports::Team& team) {
  return {.team = TeamId(AccountNumber(team.id)),
          .name = team.name,
          .create_time = TimeOrNone(static_cast<double>(team.create_time)),
          .country = {},
          .profile = wire::TeamProfile{.create_time = team.create_time,
                                       .founder = team.userid,
                                       .type = team.type,
                                       .url = team.url,
                                       .name_html = team.name_html,
                                       .description = team.description,
                                       .country = team.country}};
}

wire::OpeningTotal OpeningOf(const exports::User& user) { return Opening(wire::AccountKind::kUser, user); }
wire::OpeningTotal OpeningOf(const exports::Host& host) { return Opening(wire::AccountKind::kHost, host); }
wire::OpeningTotal OpeningOf(const exports::Team& team) { return Opening(wire::AccountKind::kTeam, team); }

wire::ProjectProfile ProfileOf(const exports::Catalogue& catalogue) {
  wire::ProjectProfile profile{.apps = {},
                               .badges = {},
                               .subprojects = {},
                               .has_consent_type = catalogue.has_consent_type,
                               .consent_enabled = catalogue.consent_enabled};
  for (const exports::App& app : catalogue.apps)
    profile.apps.push_back({.app = app.id,
                            .name = app.name,
                            .user_friendly_name = app.user_friendly_name,
                            .deprecated = app.deprecated != 0});
  for (const exports::Badge& badge : catalogue.badges)
    profile.badges.push_back(
        {.badge = badge.id, .name = badge.name, .title = badge.title, .image_url = badge.image_url});
  for (const exports::Subproject& one : catalogue.subprojects)
    profile.subprojects.push_back({.name = one.name, .apps = one.apps});
  return profile;
}

}  // namespace cobblestone::adoption
