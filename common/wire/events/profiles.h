// Data of a project and its accounts that only statistics files show: in events (schemas/events.proto, which
// gives units and meaning) and in the state of stages. No rule of credit reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cobblestone::wire {

// A set of message fields with presence, by their numbers in schemas/events.proto.
using FieldMask = std::uint32_t;
constexpr FieldMask FieldBit(int number) { return FieldMask{1} << number; }
constexpr FieldMask FieldsTo(int last) { return (FieldMask{2} << last) - 2; }  // 1 to `last`

// An account as in its project's database. Any doubles.
struct OpeningFigures {
  double total_credit = 0;
  double expavg_credit = 0;
  double expavg_time = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.total_credit, s.expavg_credit, s.expavg_time);
  }
  friend bool operator==(const OpeningFigures&, const OpeningFigures&) = default;
};

struct UserProfile {
  static constexpr FieldMask kAllFields = FieldsTo(7);

  std::int64_t create_time = 0;
  std::string cpid;
  std::string country;
  std::string url;
  bool has_profile = false;
  bool show_hosts = false;
  bool hidden = false;
  FieldMask present = kAllFields;  // in an event; not part of a row

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.create_time, s.cpid, s.country, s.url, s.has_profile, s.show_hosts, s.hidden);
  }
  friend bool operator==(const UserProfile&, const UserProfile&) = default;
};

struct HostProfile {
  static constexpr FieldMask kAllFields = FieldsTo(23);

  std::int64_t create_time = 0;
  std::int64_t rpc_time = 0;
  std::int64_t timezone = 0;
  bool hidden = false;
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
  FieldMask present = kAllFields;  // in an event; not part of a row

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.create_time, s.rpc_time, s.timezone, s.hidden, s.p_ncpus, s.p_vendor, s.p_model, s.p_fpops, s.p_iops,
      s.p_membw, s.os_name, s.os_version, s.m_nbytes, s.m_cache, s.m_swap, s.d_total, s.d_free, s.n_bwup,
      s.n_bwdown, s.avg_turnaround, s.credit_per_cpu_sec, s.host_cpid, s.misc);
  }
  friend bool operator==(const HostProfile&, const HostProfile&) = default;
};

struct TeamProfile {
  static constexpr FieldMask kAllFields = FieldsTo(7);

  std::int64_t create_time = 0;
  std::int64_t founder = 0;
  std::int64_t type = 0;
  std::string url;
  std::string name_html;
  std::string description;
  std::string country;
  FieldMask present = kAllFields;  // in an event; not part of a row

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.create_time, s.founder, s.type, s.url, s.name_html, s.description, s.country);
  }
  friend bool operator==(const TeamProfile&, const TeamProfile&) = default;
};

struct BadgeHeld {
  std::int64_t badge = 0;
  double create_time = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.badge, s.create_time);
  }
  friend bool operator==(const BadgeHeld&, const BadgeHeld&) = default;
};

struct AppCredit {
  std::int64_t app = 0;
  std::int64_t credit_type = 0;
  std::int64_t njobs = 0;
  double total = 0;
  double expavg = 0;
  double expavg_time = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.app, s.credit_type, s.njobs, s.total, s.expavg, s.expavg_time);
  }
  friend bool operator==(const AppCredit&, const AppCredit&) = default;
};

struct Tombstone {
  std::string public_cross_project_id;
  double time = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.public_cross_project_id, s.time);
  }
  friend bool operator==(const Tombstone&, const Tombstone&) = default;
};

struct AppProfile {
  std::int64_t app = 0;
  std::string name;
  std::string user_friendly_name;
  bool deprecated = false;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.app, s.name, s.user_friendly_name, s.deprecated);
  }
  friend bool operator==(const AppProfile&, const AppProfile&) = default;
};

struct Badge {
  std::int64_t badge = 0;
  std::string name;
  std::string title;
  std::string image_url;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.badge, s.name, s.title, s.image_url);
  }
  friend bool operator==(const Badge&, const Badge&) = default;
};

struct Subproject {
  std::string name;
  std::vector<std::int64_t> apps;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.name, s.apps);
  }
  friend bool operator==(const Subproject&, const Subproject&) = default;
};

struct ProjectProfile {
  std::vector<AppProfile> apps;
  std::vector<Badge> badges;
  std::vector<Subproject> subprojects;
  bool has_consent_type = false;
  bool consent_enabled = false;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.apps, s.badges, s.subprojects, s.has_consent_type, s.consent_enabled);
  }
  friend bool operator==(const ProjectProfile&, const ProjectProfile&) = default;
};

}  // namespace cobblestone::wire
