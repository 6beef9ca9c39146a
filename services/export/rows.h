// Rows of a project's database, as far as statistics files show them. Names are BOINC's columns. Text is UTF-8 as stored;
// SQL NULL is the empty text, but where a filter tells them apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/export/ledger_totals.h"

namespace cobblestone::statistics {

struct User {
  std::int64_t id = 0;
  std::string name;
  std::int64_t create_time = 0;  // UNIX s
  double total_credit = 0;       // Cobblestones
  double expavg_credit = 0;      // per day
  double expavg_time = 0;        // UNIX s
  std::string cross_project_id;  // internal: never written
  std::string email_addr;        // never written
  std::string country;
  std::string url;
  std::int64_t teamid = 0;  // 0: none
  std::int64_t has_profile = 0;
  std::int64_t show_hosts = 0;
  std::optional<std::string> authenticator;  // begins with `deleted` where the account was deleted
  std::optional<std::string> cpid;  // as it is written, of sources that have neither internal id nor address
  MicroSum balance = 0;  // the account's total by the ledger, of sources that have one; never written
};

struct Team {
  std::int64_t id = 0;
  std::int64_t create_time = 0;
  std::int64_t userid = 0;  // the founder
  std::string name;
  std::int64_t type = 0;
  double total_credit = 0;
  double expavg_credit = 0;
  double expavg_time = 0;
  std::string url;
  std::string name_html;
  std::string description;
  std::string country;
  MicroSum balance = 0;
};

struct Host {
  std::int64_t id = 0;
  std::int64_t create_time = 0;
  std::int64_t userid = 0;
  std::int64_t rpc_time = 0;
  double total_credit = 0;
  double expavg_credit = 0;
  double expavg_time = 0;
  std::int64_t timezone = 0;               // s east of Greenwich
  std::optional<std::string> domain_name;  // `deleted` where the host was deleted
  std::int64_t p_ncpus = 0;
  std::string p_vendor;
  std::string p_model;
  double p_fpops = 0;
  double p_iops = 0;
  double p_membw = 0;
  std::string os_name;
  std::string os_version;
  double m_nbytes = 0;
  double m_cache = 0;
  double m_swap = 0;
  double d_total = 0;
  double d_free = 0;
  double n_bwup = 0;
  double n_bwdown = 0;
  double avg_turnaround = 0;
  double credit_per_cpu_sec = 0;
  std::string host_cpid;
  std::string misc;
  MicroSum balance = 0;
};

// A user or host that was deleted, and whose data sites are asked to delete.
struct Deleted {
  std::int64_t id = 0;
  std::string public_cross_project_id;
  double create_time = 0;  // UNIX s; never written
};

struct App {
  std::int64_t id = 0;
  std::string user_friendly_name;
  std::string name;             // never written
  std::int64_t deprecated = 0;  // written all the same
};

struct Badge {
  std::int64_t id = 0;
  std::string name;
  std::string title;
  std::string image_url;
};

// A badge that a user or team has.
struct BadgeHeld {
  std::int64_t holder = 0;
  std::int64_t badge = 0;
  double create_time = 0;
};

// What a user or team has of one app.
struct AppCredit {
  std::int64_t holder = 0;
  std::int64_t app = 0;
  std::int64_t credit_type = 0;
  std::int64_t njobs = 0;
  double total = 0;
  double expavg = 0;
  double expavg_time = 0;  // UNIX s; never written
};

// What a user's rows of consent come to (Source::ConsentCopies).
struct ConsentGiven {
  std::int64_t user = 0;
  std::uint32_t copies = 0;
};

// Apps that a project shows as one: a setting of the project, only for the files by app.
struct Subproject {
  std::string name;
  std::vector<std::int64_t> apps;
};

// What is small, whole.
struct Catalogue {
  std::vector<App> apps;      // ascending ids
  std::vector<Badge> badges;  // ascending ids
  std::vector<Subproject> subprojects;
  bool has_consent_type = false;  // STATSEXPORT
  bool consent_enabled = false;   // as the database says
  // There is such a type, and it is enabled (or said to be): only who has agreed is shown.
  bool consent_wanted = false;
};

}  // namespace cobblestone::statistics
