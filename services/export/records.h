// Writes one row as a record of a file. Rules: tests/golden/export/README.md, 'Elements, in order'.
#pragma once

#include <string>
#include <vector>

#include "services/export/rows.h"
#include "services/export/settings.h"

namespace cobblestone::exports {

// The cross-project id by which sites identify a user: the MD5 of the internal cross-project id and the
// address, or the id that the source supplies instead.
std::string CpidOf(const User& user);

// Text before and after the records of a file.
std::string FileHead(const std::string& root);
std::string FileTail(const std::string& root);

void AppendUser(const User& user, const Settings& settings, std::string* out);
void AppendUserDeleted(const Deleted& deleted, const Settings& settings, std::string* out);
void AppendHostDeleted(const Deleted& deleted, const Settings& settings, std::string* out);

// `founder`: null if the user does not exist. `members`: concatenated records of users; empty without detail.
void AppendTeam(const Team& team, const User* founder, const std::string& members, const Settings& settings,
                std::string* out);

struct HostView {
  bool detail = false;
  bool shows_owner = false;  // the owner exists and shows their hosts
};
void AppendHost(const Host& host, HostView view, const Settings& settings, std::string* out);

// `table`: "user" or "team".
void AppendBadgeHeld(const BadgeHeld& badge, const std::string& table, std::string* out);
// A record of the files by app. `credit`: all rows of this user or team.
void AppendWork(const std::string& table, std::int64_t id, const std::vector<AppCredit>& credit,
                const std::vector<Subproject>& subprojects, const Settings& settings, std::string* out);

}  // namespace cobblestone::exports
