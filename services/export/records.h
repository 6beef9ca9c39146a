// How one row is written: the records of all files. Rules: tests/golden/export/README.md, 'Elements, in order'.
#pragma once

#include <string>
#include <vector>

#include "services/export/rows.h"
#include "services/export/settings.h"

namespace cobblestone::statistics {

// The number by which sites know a user: the MD5 of the internal cross-project id and the address, or what the source has in
// place of them.
std::string CpidOf(const User& user);

// What stands before and behind the records of a file.
std::string FileHead(const std::string& root);
std::string FileTail(const std::string& root);

void AppendUser(const User& user, const Settings& settings, std::string* out);
void AppendUserDeleted(const Deleted& deleted, const Settings& settings, std::string* out);
void AppendHostDeleted(const Deleted& deleted, const Settings& settings, std::string* out);

// `founder`: null where no user has the number. `members`: records of users, one behind the other; empty without detail.
void AppendTeam(const Team& team, const User* founder, const std::string& members, const Settings& settings,
                std::string* out);

struct HostView {
  bool detail = false;
  bool shows_owner = false;  // the owner is there and wants to be seen
};
void AppendHost(const Host& host, HostView view, const Settings& settings, std::string* out);

// `table`: "user" or "team".
void AppendBadgeHeld(const BadgeHeld& held, const std::string& table, std::string* out);
// A record of the files by app. `credit`: all of this user's or team's.
void AppendWork(const std::string& table, std::int64_t id, const std::vector<AppCredit>& credit,
                const std::vector<Subproject>& subprojects, const Settings& settings, std::string* out);

}  // namespace cobblestone::statistics
