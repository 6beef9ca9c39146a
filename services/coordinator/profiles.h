// What the coordinator keeps of projects for statistics files (services/stage/profile_rows.h): one row for each project (id 0),
// for whoever reads it in the store.
#pragma once

#include <string>

#include "services/stage/profile_rows.h"

namespace cobblestone::coordinator {

// What events have called a project (ProjectName): stands above what the settings call it. By project.
struct ProjectNameRow {
  wire::Word name_word;  // the event that told the name
  std::string name;
  wire::Word url_word;
  std::string url;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.name_word, s.name, s.url_word, s.url);
  }
};

inline constexpr stream::TableSpec<wire::ProjectProfileRow> kProfileTable{.id = 68, .version = 1};
inline constexpr stream::TableSpec<ProjectNameRow> kNameTable{.id = 69, .version = 1};

}  // namespace cobblestone::coordinator
