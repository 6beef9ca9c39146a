// Rows of a project's database, with the columns that statistics files need. Names are BOINC's columns. Text is
// UTF-8 as stored. SQL NULL is the empty text, except where a filter distinguishes the two.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/export/ledger_totals.h"

namespace cobblestone::exports {

// Credit of one day that was corrected on another.
struct Correction {
  std::int64_t came = 0;   // UNIX day
  std::int64_t about = 0;  // UNIX day; 0: unknown
  MicroSum micro = 0;      // change of the total
};

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
  // Begins with `deleted` if the account was deleted.
  std::optional<std::string> authenticator;
  // As written to files; from sources that have neither internal id nor address.
  std::optional<std::string> cpid;
  // The account's total by the ledger, from sources that have a ledger; never written.
  MicroSum balance = 0;
  std::vector<Correction> corrections{};  // from the same sources; never written
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
  std::optional<std::string> domain_name;  // `deleted` if the host was deleted
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

// A deleted user or host; sites that read the files should delete its data.
struct Deleted {
  std::int64_t id = 0;
  std::string public_cross_project_id;
  double create_time = 0;  // UNIX s; never written
};

struct App {
  std::int64_t id = 0;
  std::string user_friendly_name;
  std::string name;             // never written
  std::int64_t deprecated = 0;  // written even so
};

struct Badge {
  std::int64_t id = 0;
  std::string name;
  std::string title;
  std::string image_url;
};

// A badge of a user or team.
struct BadgeHeld {
  std::int64_t holder = 0;
  std::int64_t badge = 0;
  double create_time = 0;
};

// Credit of a user or team for one app.
struct AppCredit {
  std::int64_t holder = 0;
  std::int64_t app = 0;
  std::int64_t credit_type = 0;
  std::int64_t njobs = 0;
  double total = 0;
  double expavg = 0;
  double expavg_time = 0;  // UNIX s; never written
};

// The result of a user's rows of consent (Source::ConsentCopies).
struct ConsentGiven {
  std::int64_t user = 0;
  std::uint32_t copies = 0;
};

// Apps that a project presents as one: a setting of the project, used by the files by app only.
struct Subproject {
  std::string name;
  std::vector<std::int64_t> apps;
};

// The small tables, complete.
struct Catalogue {
  std::vector<App> apps;      // ascending ids
  std::vector<Badge> badges;  // ascending ids
  std::vector<Subproject> subprojects;
  bool has_consent_type = false;  // STATSEXPORT exists
  bool consent_enabled = false;   // as the database has it
  // The type exists and is enabled (by the database or by the settings): only users who have
  // consented are shown.
  bool consent_wanted = false;
};

}  // namespace cobblestone::exports
