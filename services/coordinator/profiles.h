// The coordinator's project data for readers of the store, one row per project (id 0): for statistics files
// (services/stage/profile_rows.h), and the origin of factors.
#pragma once

#include <map>
#include <string>

#include "services/stage/profile_rows.h"

namespace cobblestone::coordinator {

// The project's name and URL from ProjectName events, keyed by project. The name takes precedence over the name
// in the settings.
struct ProjectNameRow {
  wire::EventStamp name_stamp;  // the newest event that set the name
  std::string name;
  wire::EventStamp url_stamp;  // the newest event that set the URL
  std::string url;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.name_stamp, s.name, s.url_stamp, s.url);
  }
};

// Where a factor in force comes from: the plan_class_factor event that set it.
struct FactorOrigin {
  double time = 0;  // of the event, UNIX s
  std::string provenance;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.time, s.provenance);
  }
};

// By plan class. A factor that an older version of this program accepted has no origin.
struct FactorOriginsRow {
  std::map<std::string, FactorOrigin> origins;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.origins);
  }
};

inline constexpr stream::TableSpec<stage::ProjectProfileRow> kProfileTable{.id = 68, .version = 1};
inline constexpr stream::TableSpec<ProjectNameRow> kNameTable{.id = 69, .version = 1};
inline constexpr stream::TableSpec<FactorOriginsRow> kFactorOriginsTable{.id = 95, .version = 1};

}  // namespace cobblestone::coordinator
