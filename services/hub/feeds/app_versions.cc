#include "services/hub/feeds/app_versions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "services/hub/feeds/document.h"
#include "services/hub/feeds/feed_text.h"
#include "services/hub/feeds/figures.h"

namespace cobblestone::hub {
namespace {

// What an event of the hub may contain (wire::kMaxName, and times before the year 9999).
constexpr std::size_t kLongestText = 1016;  // bytes
constexpr double kLastTime = 1e11;          // UNIX s

class VersionParser {
 public:
  void Take(std::string_view tag, std::string_view value) {
    if (tag == "id") {
      Whole(tag, value, &version_.id);
    } else if (tag == "version_num") {
      Whole(tag, value, &version_.version_num);
    } else if (tag == "app_name") {
      version_.app = value;
    } else if (tag == "platform") {
      version_.platform = value;
    } else if (tag == "plan_class") {
      version_.plan_class = value;
    } else if (double* const number = NumberOf(tag)) {
      Number(tag, value, number);
    }
  }
  PublishedVersion Result() {
    for (const std::string_view tag : {"pfc_n", "pfc_avg", "pfc_scale", "expavg_credit", "expavg_time"})
      if (!seen_.contains(tag)) Problem(tag, "missing");
    if (version_.app.empty()) Problem("app_name", "missing");
    for (const auto& [tag, text] :
         {std::pair("app_name", &version_.app), std::pair("platform", &version_.platform),
          std::pair("plan_class", &version_.plan_class)}) {
      CharsetEvidence evidence;
      evidence.Note(*text);
      *text = ToUtf8(*text, evidence.Decide());
      if (text->size() > kLongestText) Problem(tag, "more than " + std::to_string(kLongestText) + " bytes");
    }
    version_.plan = federation::PlanClassOf(version_.plan_class);
    return std::move(version_);
  }

 private:
  double* NumberOf(std::string_view tag) {
    if (tag == "create_time") return &version_.create_time;
    if (tag == "pfc_n") return &version_.samples;
    if (tag == "pfc_avg") return &version_.pfc_average;
    if (tag == "pfc_scale") return &version_.scale;
    if (tag == "expavg_credit") return &version_.recent_average;
    if (tag == "expavg_time") return &version_.recent_average_time;
    return nullptr;
  }
  void Whole(std::string_view tag, std::string_view value, std::uint64_t* out) {
    if (ParseWhole(value, out) != FileProblem::kNone) Problem(tag, Printable(value, 40));
  }
  void Number(std::string_view tag, std::string_view value, double* out) {
    if (!seen_.insert(tag).second) return;
    const std::optional<double> number = ParseMeasure(value);
    if (number && *number >= 0 && (*number <= kLastTime || !tag.ends_with("_time"))) {
      *out = *number;
    } else {
      Problem(tag, Printable(value, 40));
    }
  }
  void Problem(std::string_view tag, const std::string& what) {
    if (version_.problem.empty()) version_.problem = std::string(tag) + ": " + what;
  }

  PublishedVersion version_;
  std::set<std::string_view> seen_;
};

}  // namespace

std::variant<std::vector<PublishedVersion>, FileRefusal> ParseAppVersions(std::string_view bytes,
                                                                          const std::string& name) {
  const Document document(bytes, name, "app_versions");
  if (document.refusal()) return *document.refusal();
  const auto unclosed = [&](const ElementScan& scan) {
    return document.Refusal(FileProblem::kUnclosedElement, scan.rest(), Printable(scan.rest()));
  };
  std::vector<PublishedVersion> versions;
  ElementScan rows(document.contents());
  while (rows.Next()) {
    if (rows.tag() != "app_version") continue;
    VersionParser parser;
    ElementScan row(rows.value());
    while (row.Next()) parser.Take(row.tag(), row.value());
    if (row.bad()) return unclosed(row);
    versions.push_back(parser.Result());
  }
  if (rows.bad()) return unclosed(rows);
  return versions;
}

std::vector<std::string> AppsWithBothKinds(const std::vector<PublishedVersion>& versions, double samples) {
  struct Kinds {
    bool cpu = false;
    bool gpu = false;
  };
  std::map<std::string, Kinds> apps;
  for (const PublishedVersion& version : versions) {
    if (!version.problem.empty() || !version.plan.known || version.samples < samples || version.scale <= 0)
      continue;
    Kinds& kinds = apps[version.app];
    (version.plan.resource == credit::Resource::kCpu ? kinds.cpu : kinds.gpu) = true;
  }
  std::vector<std::string> both;
  for (const auto& [app, kinds] : apps)
    if (kinds.cpu && kinds.gpu) both.push_back(app);
  return both;
}

}  // namespace cobblestone::hub
