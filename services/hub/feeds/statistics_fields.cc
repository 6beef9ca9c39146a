#include "services/hub/feeds/statistics_fields.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "services/hub/feeds/elements.h"

namespace cobblestone::hub {
namespace {

// The order is BOINC's, which makes the search short.
enum class UserTag : std::uint8_t {
  kId,
  kName,
  kCreateTime,
  kTotalCredit,
  kRecentAverage,
  kRecentAverageTime,
  kCpid,
  kCountry,
  kUrl,
  kTeam,
  kHasProfile
};
constexpr std::array<std::string_view, 11> kUserTags = {
    "id",   "name",    "create_time", "total_credit", "expavg_credit", "expavg_time",
    "cpid", "country", "url",         "teamid",       "has_profile"};

enum class TeamTag : std::uint8_t {
  kId,
  kType,
  kName,
  kFounder,
  kTotalCredit,
  kRecentAverage,
  kRecentAverageTime,
  kCreateTime,
  kUrl,
  kDescription,
  kCountry
};
constexpr std::array<std::string_view, 11> kTeamTags = {
    "id",          "type",        "name", "userid",      "total_credit", "expavg_credit",
    "expavg_time", "create_time", "url",  "description", "country"};

enum class HostTag : std::uint8_t {
  kId,
  kUser,
  kTotalCredit,
  kRecentAverage,
  kRecentAverageTime,
  kVendor,
  kModel,
  kOsName,
  kOsVersion,
  kMisc,
  kCoprocs,
  kCreateTime,
  kLastContact,
  kTimezone,
  kCpus,
  kFlops,
  kIops,
  kMemoryBandwidth,
  kMemory,
  kCache,
  kSwap,
  kDisk,
  kDiskFree,
  kUpload,
  kDownload,
  kTurnaround,
  kCreditPerCpu,
  kCpid
};
constexpr std::array<std::string_view, 28> kHostTags = {"id",
                                                        "userid",
                                                        "total_credit",
                                                        "expavg_credit",
                                                        "expavg_time",
                                                        "p_vendor",
                                                        "p_model",
                                                        "os_name",
                                                        "os_version",
                                                        "misc",
                                                        "coprocs",
                                                        "create_time",
                                                        "rpc_time",
                                                        "timezone",
                                                        "ncpus",
                                                        "p_fpops",
                                                        "p_iops",
                                                        "p_membw",
                                                        "m_nbytes",
                                                        "m_cache",
                                                        "m_swap",
                                                        "d_total",
                                                        "d_free",
                                                        "n_bwup",
                                                        "n_bwdown",
                                                        "avg_turnaround",
                                                        "credit_per_cpu_sec",
                                                        "host_cpid"};

// Remembers the first problem, and which of at most 32 elements came before.
class FieldCheck {
 public:
  // True for the first element of its kind.
  bool First(std::size_t tag) {
    const std::uint32_t bit = 1u << tag;
    const bool first = (seen_ & bit) == 0;
    seen_ |= bit;
    return first;
  }
  [[nodiscard]] bool Seen(std::size_t tag) const { return (seen_ & 1u << tag) != 0; }
  void Note(FileProblem problem, const ElementScan& scan) {
    if (problem != FileProblem::kNone && found_.ok()) found_ = {problem, scan.tag(), scan.value()};
  }
  void NoteMissing(std::string_view field) {
    if (found_.ok()) found_ = {FileProblem::kMissingElement, field, {}};
  }
  void NoteScan(const ElementScan& scan) {
    if (found_.ok()) found_ = ProblemOfScan(scan);
  }
  [[nodiscard]] const FieldProblem& found() const { return found_; }

 private:
  FieldProblem found_{};
  std::uint32_t seen_ = 0;
};

// BOINC prints an id of -1 as 18446744073709551615, and older servers as -1.
FileProblem ParseReference(std::string_view text, std::uint64_t* out) {
  constexpr std::uint64_t kMinusOne = 0xFFFFFFFFFFFFFFFF;
  std::uint64_t id = 0;
  if (text == "-1") return *out = 0, FileProblem::kNone;
  const FileProblem problem = ParseWhole(text, &id);
  if (problem == FileProblem::kNone) *out = id == kMinusOne ? 0 : id;
  return problem;
}

std::string_view CrossProjectId(std::string_view text) {
  return IsCrossProjectId(text) ? text : std::string_view{};
}

std::string_view WithoutCdata(std::string_view text) {
  constexpr std::string_view kBegin = "<![CDATA[";
  constexpr std::string_view kEnd = "]]>";
  if (!text.starts_with(kBegin) || !text.ends_with(kEnd) || text.size() < kBegin.size() + kEnd.size())
    return text;
  return text.substr(kBegin.size(), text.size() - kBegin.size() - kEnd.size());
}

FileProblem ReadUserElement(UserTag tag, std::string_view value, UserFields* user) {
  switch (tag) {
    case UserTag::kId: return ParseWhole(value, &user->id);
    case UserTag::kName: user->name = value; break;
    case UserTag::kCreateTime: return ParseTime(value, &user->create_time);
    case UserTag::kTotalCredit: return ParseCredit(value, Sign::kNotNegative, &user->total_credit);
    case UserTag::kRecentAverage: return ParseCredit(value, Sign::kAny, &user->recent_average);
    case UserTag::kRecentAverageTime: return ParseTime(value, &user->recent_average_time);
    case UserTag::kCpid: user->cpid = CrossProjectId(value); break;
    case UserTag::kCountry: user->country = value; break;
    case UserTag::kUrl: user->url = value; break;
    case UserTag::kTeam: return ParseReference(value, &user->team);
    case UserTag::kHasProfile: user->has_profile = value != "0"; break;
  }
  return FileProblem::kNone;
}

FileProblem ReadTeamElement(TeamTag tag, std::string_view value, TeamFields* team) {
  switch (tag) {
    case TeamTag::kId: return ParseWhole(value, &team->id);
    case TeamTag::kType:
      team->type = static_cast<std::uint64_t>(std::max(ParseMeasure(value).value_or(0), 0.0));
      break;
    case TeamTag::kName: team->name = value; break;
    case TeamTag::kFounder: return ParseReference(value, &team->founder);
    case TeamTag::kTotalCredit: return ParseCredit(value, Sign::kNotNegative, &team->total_credit);
    case TeamTag::kRecentAverage: return ParseCredit(value, Sign::kAny, &team->recent_average);
    case TeamTag::kRecentAverageTime: return ParseTime(value, &team->recent_average_time);
    case TeamTag::kCreateTime: return ParseTime(value, &team->create_time);
    case TeamTag::kUrl: team->url = value; break;
    case TeamTag::kDescription: team->description = value; break;
    case TeamTag::kCountry: team->country = value; break;
  }
  return FileProblem::kNone;
}

FileProblem ReadHostElement(HostTag tag, std::string_view value, HostFields* host) {
  switch (tag) {
    case HostTag::kId: return ParseWhole(value, &host->id);
    case HostTag::kUser: return ParseReference(value, &host->user);
    case HostTag::kTotalCredit: return ParseCredit(value, Sign::kNotNegative, &host->total_credit);
    case HostTag::kRecentAverage: return ParseCredit(value, Sign::kAny, &host->recent_average);
    case HostTag::kRecentAverageTime: return ParseTime(value, &host->recent_average_time);
    case HostTag::kVendor: host->vendor = value; break;
    case HostTag::kModel: host->model = value; break;
    case HostTag::kOsName: host->os_name = value; break;
    case HostTag::kOsVersion: host->os_version = value; break;
    case HostTag::kMisc:
    case HostTag::kCoprocs: host->devices = WithoutCdata(value); break;
    case HostTag::kCreateTime: return ParseTime(value, &host->create_time);
    case HostTag::kLastContact: return ParseTime(value, &host->last_contact);
    case HostTag::kCpus: host->cpus = ParseMeasure(value); break;
    case HostTag::kFlops: host->flops = ParseMeasure(value); break;
    case HostTag::kIops: host->iops = ParseMeasure(value); break;
    case HostTag::kMemory: host->memory = ParseMeasure(value); break;
    case HostTag::kDisk: host->disk = ParseMeasure(value); break;
    case HostTag::kTurnaround: host->turnaround = ParseMeasure(value); break;
    case HostTag::kCreditPerCpu: host->credit_per_cpu = ParseMeasure(value); break;
    case HostTag::kCpid: host->cpid = CrossProjectId(value); break;
    // They are in the list because a tag in its order is found at once.
    case HostTag::kTimezone:
    case HostTag::kMemoryBandwidth:
    case HostTag::kCache:
    case HostTag::kSwap:
    case HostTag::kDiskFree:
    case HostTag::kUpload:
    case HostTag::kDownload: break;
  }
  return FileProblem::kNone;
}

// Values that are no measure never refuse a record.
FileProblem ReadHostAccountElement(HostTag tag, std::string_view value, HostFields* host) {
  switch (tag) {
    case HostTag::kCpus:
    case HostTag::kFlops:
    case HostTag::kIops:
    case HostTag::kMemory:
    case HostTag::kDisk:
    case HostTag::kTurnaround:
    case HostTag::kCreditPerCpu: return FileProblem::kNone;
    default: return ReadHostElement(tag, value, host);
  }
}

// All three kinds have their id in element 0.
template <class Tag, std::size_t kCount, class Fields>
FieldProblem ReadFields(std::string_view record, const std::array<std::string_view, kCount>& tags,
                        FileProblem (*read)(Tag, std::string_view, Fields*), Tag total_credit,
                        Fields* fields) {
  *fields = {};
  FieldCheck check;
  TagTable<kCount> table(tags);
  ElementScan scan(record);
  while (scan.Next()) {
    const std::size_t at = table.Find(scan.tag());
    if (at < kCount && check.First(at)) check.Note(read(static_cast<Tag>(at), scan.value(), fields), scan);
  }
  check.NoteScan(scan);
  if (!check.Seen(0)) check.NoteMissing("id");
  if (!check.Seen(static_cast<std::size_t>(total_credit))) check.NoteMissing("total_credit");
  return check.found();
}

}  // namespace

FieldProblem ProblemOfScan(const ElementScan& scan) {
  if (!scan.bad()) return {};
  if (scan.tag().empty()) return {FileProblem::kBytesBetween, "record", scan.rest()};
  return {FileProblem::kUnclosedElement, scan.tag(), scan.rest()};
}

bool IsCrossProjectId(std::string_view text) {
  static constexpr std::array<bool, 256> kHex = [] {
    std::array<bool, 256> hex{};
    for (const char c : std::string_view("0123456789abcdefABCDEF")) hex[static_cast<unsigned char>(c)] = true;
    return hex;
  }();
  bool all = text.size() == 32;
  for (const char c : text) all = all && kHex[static_cast<unsigned char>(c)];
  return all;
}

FieldProblem ReadUserFields(std::string_view record, UserFields* user) {
  return ReadFields(record, kUserTags, ReadUserElement, UserTag::kTotalCredit, user);
}

FieldProblem ReadTeamFields(std::string_view record, TeamFields* team) {
  return ReadFields(record, kTeamTags, ReadTeamElement, TeamTag::kTotalCredit, team);
}

FieldProblem ReadHostFields(std::string_view record, HostFields* host, HostPart part) {
  return ReadFields(record, kHostTags, part == HostPart::kAll ? ReadHostElement : ReadHostAccountElement,
                    HostTag::kTotalCredit, host);
}

bool ShiftedHost(std::string_view record) {
  constexpr double kMostCpus = 65536;
  constexpr double kFirstServer = 9e8;     // July 1998: no BOINC server is older
  constexpr double kTwoDays = 2 * 86400;   // clocks that differ
  constexpr double kLargestCredit = 1e12;  // Cobblestones; all projects together have granted less than 10^13
  HostFields host;
  const FieldProblem problem = ReadHostFields(record, &host);
  for (const std::string_view text : {host.vendor, host.model, host.os_name, host.os_version})
    if (text.find("<misc>") != std::string_view::npos || text.find("<![CDATA[") != std::string_view::npos)
      return true;
  int impossible = problem.ok() || problem.problem == FileProblem::kTooManyDigits ? 0 : 1;
  if (host.total_credit.micro / 1e6 > kLargestCredit) ++impossible;
  if (host.cpus &&
      (*host.cpus < 0 || *host.cpus > kMostCpus || *host.cpus != static_cast<std::int64_t>(*host.cpus)))
    ++impossible;
  if (host.create_time > 0 && host.create_time < kFirstServer) ++impossible;
  if (host.last_contact > 0 && host.create_time > host.last_contact + kTwoDays) ++impossible;
  if (host.flops && (*host.flops < 0 || (*host.flops > 0 && *host.flops < 1e3))) ++impossible;
  if (host.memory && (*host.memory < 0 || (*host.memory > 0 && *host.memory < 1e3))) ++impossible;
  return impossible >= 2;
}

}  // namespace cobblestone::hub
