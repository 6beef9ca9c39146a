// The coordinator's project data for statistics files (services/stage/profile_rows.h): one row per project (id
// 0), for readers of the store.
#pragma once

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

inline constexpr stream::TableSpec<stage::ProjectProfileRow> kProfileTable{.id = 68, .version = 1};
inline constexpr stream::TableSpec<ProjectNameRow> kNameTable{.id = 69, .version = 1};

}  // namespace cobblestone::coordinator
