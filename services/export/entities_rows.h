// The columns that an export reads of each table of an entities file. Names and types are
// those of the database.
#pragma once

#include <array>

#include "services/export/json_row.h"
#include "services/export/rows.h"

namespace cobblestone::exports {

inline constexpr std::array<Column<User>, 14> kUserColumns = {{{"id", &User::id},
                                                               {"name", &User::name},
                                                               {"create_time", &User::create_time},
                                                               {"total_credit", &User::total_credit},
                                                               {"expavg_credit", &User::expavg_credit},
                                                               {"expavg_time", &User::expavg_time},
                                                               {"cross_project_id", &User::cross_project_id},
                                                               {"email_addr", &User::email_addr},
                                                               {"country", &User::country},
                                                               {"url", &User::url},
                                                               {"teamid", &User::teamid},
                                                               {"has_profile", &User::has_profile},
                                                               {"show_hosts", &User::show_hosts},
                                                               {"authenticator", &User::authenticator}}};

inline constexpr std::array<Column<Team>, 12> kTeamColumns = {{{"id", &Team::id},
                                                               {"create_time", &Team::create_time},
                                                               {"userid", &Team::userid},
                                                               {"name", &Team::name},
                                                               {"type", &Team::type},
                                                               {"total_credit", &Team::total_credit},
                                                               {"expavg_credit", &Team::expavg_credit},
                                                               {"expavg_time", &Team::expavg_time},
                                                               {"url", &Team::url},
                                                               {"name_html", &Team::name_html},
                                                               {"description", &Team::description},
                                                               {"country", &Team::country}}};

inline constexpr std::array<Column<Host>, 28> kHostColumns = {
    {{"id", &Host::id},
     {"create_time", &Host::create_time},
     {"userid", &Host::userid},
     {"rpc_time", &Host::rpc_time},
     {"total_credit", &Host::total_credit},
     {"expavg_credit", &Host::expavg_credit},
     {"expavg_time", &Host::expavg_time},
     {"timezone", &Host::timezone},
     {"domain_name", &Host::domain_name},
     {"p_ncpus", &Host::p_ncpus},
     {"p_vendor", &Host::p_vendor},
     {"p_model", &Host::p_model},
     {"p_fpops", &Host::p_fpops},
     {"p_iops", &Host::p_iops},
     {"p_membw", &Host::p_membw},
     {"os_name", &Host::os_name},
     {"os_version", &Host::os_version},
     {"m_nbytes", &Host::m_nbytes},
     {"m_cache", &Host::m_cache},
     {"m_swap", &Host::m_swap},
     {"d_total", &Host::d_total},
     {"d_free", &Host::d_free},
     {"n_bwup", &Host::n_bwup},
     {"n_bwdown", &Host::n_bwdown},
     {"avg_turnaround", &Host::avg_turnaround},
     {"credit_per_cpu_sec", &Host::credit_per_cpu_sec},
     {"host_cpid", &Host::host_cpid},
     {"misc", &Host::misc}}};

inline constexpr std::array<Column<Deleted>, 3> kUserDeletedColumns = {
    {{"userid", &Deleted::id},
     {"public_cross_project_id", &Deleted::public_cross_project_id},
     {"create_time", &Deleted::create_time, false}}};
inline constexpr std::array<Column<Deleted>, 3> kHostDeletedColumns = {
    {{"hostid", &Deleted::id},
     {"public_cross_project_id", &Deleted::public_cross_project_id},
     {"create_time", &Deleted::create_time, false}}};

inline constexpr std::array<Column<App>, 4> kAppColumns = {{{"id", &App::id},
                                                            {"user_friendly_name", &App::user_friendly_name},
                                                            {"name", &App::name, false},
                                                            {"deprecated", &App::deprecated, false}}};
inline constexpr std::array<Column<Badge>, 4> kBadgeColumns = {
    {{"id", &Badge::id}, {"name", &Badge::name}, {"title", &Badge::title}, {"image_url", &Badge::image_url}}};

inline constexpr std::array<Column<BadgeHeld>, 3> kBadgeUserColumns = {
    {{"badge_id", &BadgeHeld::badge},
     {"user_id", &BadgeHeld::holder},
     {"create_time", &BadgeHeld::create_time}}};
inline constexpr std::array<Column<BadgeHeld>, 3> kBadgeTeamColumns = {
    {{"badge_id", &BadgeHeld::badge},
     {"team_id", &BadgeHeld::holder},
     {"create_time", &BadgeHeld::create_time}}};

inline constexpr std::array<Column<AppCredit>, 7> kCreditUserColumns = {
    {{"userid", &AppCredit::holder},
     {"appid", &AppCredit::app},
     {"njobs", &AppCredit::njobs},
     {"total", &AppCredit::total},
     {"expavg", &AppCredit::expavg},
     {"expavg_time", &AppCredit::expavg_time, false},
     {"credit_type", &AppCredit::credit_type}}};
inline constexpr std::array<Column<AppCredit>, 7> kCreditTeamColumns = {
    {{"teamid", &AppCredit::holder},
     {"appid", &AppCredit::app},
     {"njobs", &AppCredit::njobs},
     {"total", &AppCredit::total},
     {"expavg", &AppCredit::expavg},
     {"expavg_time", &AppCredit::expavg_time, false},
     {"credit_type", &AppCredit::credit_type}}};

// A row of consent, and the columns of a user that the index needs before the row itself is read.
struct ConsentRow {
  std::int64_t user = 0;
  std::int64_t type = 0;
  std::int64_t time = 0;
  std::int64_t flag = 0;
};
inline constexpr std::array<Column<ConsentRow>, 4> kConsentColumns = {{{"userid", &ConsentRow::user},
                                                                       {"consent_type_id", &ConsentRow::type},
                                                                       {"consent_time", &ConsentRow::time},
                                                                       {"consent_flag", &ConsentRow::flag}}};
struct UserGlance {
  std::int64_t id = 0;
  std::int64_t teamid = 0;
  std::int64_t show_hosts = 0;
};
inline constexpr std::array<Column<UserGlance>, 3> kUserGlanceColumns = {
    {{"id", &UserGlance::id}, {"teamid", &UserGlance::teamid}, {"show_hosts", &UserGlance::show_hosts}}};

// The id of a row of any table with a single id.
struct Holder {
  std::int64_t id = 0;
};

}  // namespace cobblestone::exports
