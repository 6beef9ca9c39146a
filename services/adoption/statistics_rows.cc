#include "services/adoption/statistics_rows.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

namespace cobblestone::adoption {
namespace {

using nlohmann::json;

// One object of a row; the first error is kept.
class Fields {
 public:
  Fields(const json& object, std::string prefix, std::string* error)
      : object_(object), prefix_(std::move(prefix)), error_(*error) {}

  double Number(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end()) return Bad<double>(name, "is missing");
    if (!found->is_number()) return Bad<double>(name, "must be a finite number");
    return found->get<double>();
  }
  std::optional<double> NumberIfAny(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end() || found->is_null()) return std::nullopt;
    return Number(name);
  }
  // For ids and counts.
  std::uint64_t Whole(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end()) return Bad<std::uint64_t>(name, "is missing");
    if (!found->is_number_unsigned()) return Bad<std::uint64_t>(name, "must be a whole number, 0 or more");
    return found->get<std::uint64_t>();
  }
  std::uint64_t WholeIfAny(const char* name) { return object_.contains(name) ? Whole(name) : 0; }
  std::int64_t Version() {
    const auto found = object_.find("app_version");
    if (found == object_.end()) return Bad<std::int64_t>("app_version", "is missing");
    if (!found->is_number_integer()) return Bad<std::int64_t>("app_version", "must be a whole number");
    return found->get<std::int64_t>();
  }
  Fields Part(const char* name) {
    static const json kNone = json::object();
    const auto found = object_.find(name);
    const bool good = found != object_.end() && found->is_object();
    if (!good) Bad<int>(name, found == object_.end() ? "is missing" : "must be an object");
    return {good ? *found : kNone, prefix_ + name + ".", &error_};
  }

 private:
  template <class Value>
  Value Bad(const char* name, const char* what) {
    if (error_.empty()) error_ = "'" + prefix_ + name + "' " + what;
    return Value{};
  }

  const json& object_;
  const std::string prefix_;
  std::string& error_;
};

credit::Average AverageOf(Fields fields) {
  const double n = fields.Number("n");
  return {.n = n, .mean = fields.Number("avg")};
}

credit::AverageVar AverageVarOf(Fields fields) {
  credit::AverageVar average;
  average.n = fields.Number("n");
  average.mean = fields.Number("avg");
  average.var = fields.Number("var");
  average.q = fields.Number("q");
  return average;
}

wire::EventBody HostVersionOf(Fields& fields) {
  wire::OpeningHostVersion opening;
  opening.host = HostId(fields.Whole("host"));
  opening.version = AppVersionId(fields.Version());
  opening.app = AppId(fields.WholeIfAny("app"));
  opening.pfc = AverageOf(fields.Part("pfc"));
  opening.et = AverageVarOf(fields.Part("et"));
  opening.turnaround = AverageVarOf(fields.Part("turnaround"));
  opening.consecutive_valid = fields.Number("consecutive_valid");
  opening.max_jobs_per_day = fields.Number("max_jobs_per_day");
  opening.error_rate = fields.NumberIfAny("error_rate");
  return opening;
}

wire::EventBody AppVersionOf(Fields& fields) {
  wire::OpeningAppVersion opening;
  opening.app_version = fields.Whole("app_version");
  opening.pfc = AverageOf(fields.Part("pfc"));
  opening.pfc_scale = fields.Number("pfc_scale");
  opening.expavg_credit = fields.Number("expavg_credit");
  opening.expavg_time = fields.Number("expavg_time");
  return opening;
}

wire::EventBody AppOf(Fields& fields) {
  return wire::OpeningApp{.app = AppId(fields.Whole("app")),
                          .min_avg_pfc = fields.NumberIfAny("min_avg_pfc")};
}

// Returns the problem of the line; empty: none.
std::string ReadRow(const std::string& text, ProjectId project, StatisticsRow* row) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return "the line is not a JSON object";
  std::string error;
  Fields fields(object, "", &error);
  const auto kind = object.find("kind");
  if (kind == object.end() || !kind->is_string()) return "'kind' is missing or not a string";
  if (object.contains("project") && fields.Whole("project") != project.value)
    return "the row belongs to project " + object["project"].dump() + ", but --project is " +
           std::to_string(project.value);
  row->body = std::monostate{};
  if (*kind == "host_version") row->body = HostVersionOf(fields);
  if (*kind == "app_version") row->body = AppVersionOf(fields);
  if (*kind == "app") row->body = AppOf(fields);
  return error;
}

}  // namespace

Status ReadStatistics(const std::string& path, ProjectId project,
                      const std::function<Status(const StatisticsRow&)>& take) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status::NotFound(path + ": cannot open for reading: " + std::strerror(errno));
  StatisticsRow row;
  for (std::string text; std::getline(file, text);) {
    ++row.line;
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string error = ReadRow(text, project, &row);
    if (!error.empty())
      return Status::InvalidArgument(path + ", line " + std::to_string(row.line) + ": " + error);
    if (Status s = take(row); !s.ok()) return s;
  }
  if (file.bad()) return Status::Fatal(path + ": read error: " + std::strerror(errno));
  return Status::Ok();
}

}  // namespace cobblestone::adoption
