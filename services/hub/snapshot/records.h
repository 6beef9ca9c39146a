// The records of a snapshot: one line of canonical JSON each, with all fields in this order (docs/design/snapshot.md).
// Credit is in micro-credits, as a decimal string, because JSON readers lose digits of numbers above 2^53.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::hub {

using Micro = std::int64_t;  // micro-credits
using MicroSum = __int128;   // of many records
std::string MicroText(MicroSum value);

enum class PartKind : std::uint8_t { kUsers, kHosts, kTeams };
inline constexpr PartKind kPartKinds[] = {PartKind::kUsers, PartKind::kHosts, PartKind::kTeams};
std::string_view NameOf(PartKind kind);  // "users", "hosts", "teams"

// Texts are UTF-8. Fields that the project does not export are 0 or empty.
struct UserRecord {
  std::uint64_t id = 0;
  std::string cpid;      // 32 lower-case hexadecimal digits, or empty
  std::string identity;  // the hub's name of the person (federation::IdentityText), or empty
  std::string name;
  std::string country;
  std::string url;
  std::uint64_t create_time = 0;  // UNIX s
  std::uint64_t team = 0;
  Micro total = 0;
  Micro recent = 0;               // recent average credit at recent_time
  std::uint64_t recent_time = 0;  // UNIX s

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f("id", s.id);
    f("cpid", s.cpid);
    f("identity", s.identity);
    f("name", s.name);
    f("country", s.country);
    f("url", s.url);
    f("create_time", s.create_time);
    f("team", s.team);
    f("total_micro", s.total);
    f("recent_micro", s.recent);
    f("recent_time", s.recent_time);
  }
};

struct HostRecord {
  std::uint64_t id = 0;
  std::uint64_t user = 0;  // 0: the owner hides hosts
  std::string host_cpid;
  std::string description;  // processor and operating system
  std::uint64_t create_time = 0;
  Micro total = 0;
  Micro recent = 0;
  std::uint64_t recent_time = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f("id", s.id);
    f("user", s.user);
    f("host_cpid", s.host_cpid);
    f("description", s.description);
    f("create_time", s.create_time);
    f("total_micro", s.total);
    f("recent_micro", s.recent);
    f("recent_time", s.recent_time);
  }
};

struct TeamRecord {
  std::uint64_t id = 0;
  std::string name;
  std::string country;
  std::string url;
  std::uint64_t founder = 0;
  std::uint64_t create_time = 0;
  Micro total = 0;
  Micro recent = 0;
  std::uint64_t recent_time = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f("id", s.id);
    f("name", s.name);
    f("country", s.country);
    f("url", s.url);
    f("founder", s.founder);
    f("create_time", s.create_time);
    f("total_micro", s.total);
    f("recent_micro", s.recent);
    f("recent_time", s.recent_time);
  }
};

// Longer lines are not written and not read.
inline constexpr std::size_t kLongestLine = 1u << 16;

// The line, without a line break. kInvalidArgument: a text is not UTF-8, a CPID is malformed, or the line is too long.
Result<std::string> LineOf(const UserRecord& record);
Result<std::string> LineOf(const HostRecord& record);
Result<std::string> LineOf(const TeamRecord& record);

// The record of a line. kInvalidArgument: not its canonical form.
Result<UserRecord> ParseUser(std::string_view line);
Result<HostRecord> ParseHost(std::string_view line);
Result<TeamRecord> ParseTeam(std::string_view line);

// What every record has.
struct RecordHead {
  std::uint64_t id = 0;
  Micro total = 0;
};
// kInvalidArgument: the line is not the canonical form of a record of this kind.
Result<RecordHead> ParseRecord(PartKind kind, std::string_view line);

}  // namespace cobblestone::hub
