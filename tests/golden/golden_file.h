// Golden files (data/README.md) as values of the domain: the input of BOINC's server by event, and its output by
// line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/credit/accounts/account.h"
#include "common/credit/model/catalogue.h"
#include "common/credit/model/model.h"

namespace cobblestone::golden {

// All lines of a file, in order; gzip'ed if the name ends in .gz. Ends the process with a message if it
// cannot be read or a line is no JSON object.
std::vector<nlohmann::json> ReadLines(const std::string& path);

// A number; "inf", "-inf" and "nan" too. Absent or null: `absent`.
double Number(const nlohmann::json& value);
double Number(const nlohmann::json& object, const char* key, double absent = 0);

// The same double, or both NaN. (Text does not keep the sign of zero, so zeros are equal.)
bool Same(double a, double b);

struct MemberHost {
  HostId id;
  UserId user;
  double speed = 0;  // FLOP/s
  double total = 0;  // Cobblestones
  credit::RecentAverage recent = {};
};

struct MemberUser {
  UserId id;
  TeamId team;
};

struct HostRow {
  HostId host;
  credit::HostVersion row;
};

// Line 0 of a scenario.
struct Start {
  credit::Catalogue catalogue;
  std::vector<MemberHost> hosts;
  std::vector<MemberUser> users;
  std::vector<TeamId> teams;
  std::vector<HostRow> rows;
};

struct PresentedResult {
  credit::CompletionFacts completion;
  credit::ValidationFacts validation;  // state kInconclusive: no decision yet; id: the line; pass: left 0
  bool success = false;                // the validator skips other results
};

struct Event {
  std::string kind;  // as in the file: wu, late, error, timeout, tick, config, ...
  std::uint64_t line = 0;
  double now = 0;
  std::vector<PresentedResult> results;            // wu, late
  std::optional<credit::CompletionFacts> failure;  // error, timeout
  std::optional<credit::AppVersionRow> added;      // add_app_version
  std::uint64_t deleted_version = 0;               // del_app_version
  std::optional<double> max_granted_credit;        // config
  WorkunitId workunit;                             // wu, late
  ResultId canonical_result;                       // late
  double max_run_time = 0;                         // trickle_init, s
  HostId host;                                     // trickle
  std::string run_time_text;                       // trickle
};

Start ReadStart(const nlohmann::json& line);

// `catalogue`: shows whether a workunit with one result belongs to an app that replicates (golden README, item
// 15).
Event ReadEvent(const nlohmann::json& line, const credit::Catalogue& catalogue);

// The host/version rows of a golden file call an anonymous version app x 1000000 + |version| (item 18).
AppVersionId VersionOfRow(std::uint64_t app_version_id, AppId& app, const credit::Catalogue& catalogue);
std::uint64_t RowId(const credit::HostVersion& row);

}  // namespace cobblestone::golden
