// app_versions.php of a stock BOINC project: its versions with their credit statistics. One row for each version that
// is not deprecated and has samples.
//
// Numbers are printed by PHP: up to 17 significant digits, exponents as in 1.5E+15. They are doubles at the project
// too. expavg_credit was not decayed by servers before February 2026: decay it from expavg_time to the instant at
// which projects are compared, or leave versions with an old expavg_time out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/federation/plan_class.h"
#include "services/hub/feeds/file_problem.h"

namespace cobblestone::hub {

struct PublishedVersion {
  std::uint64_t id = 0;  // 0: servers before 2026 do not print it
  std::string app{};     // short name; this and the next texts are UTF-8
  std::string platform{};
  std::uint64_t version_num = 0;
  std::string plan_class{};
  federation::PlanClass plan{};
  double create_time = 0;  // UNIX s
  double samples = 0;      // pfc_n
  double pfc_average = 0;
  double scale = 0;           // pfc_scale; 0: the project has not computed one
  double recent_average = 0;  // expavg_credit: Cobblestones a day at recent_average_time
  double recent_average_time = 0;
  // Not empty: a number is missing, not finite, negative or no time, or a text is too long, so the row must not take part.
  // "pfc_scale: nan".
  std::string problem{};
};

// The whole answer, at most 1 MiB (kLargestDocument). Rows with a bad field are kept with their `problem`; a web page,
// a cut answer or one that is not app_versions is a refusal. The order is that of the answer.
std::variant<std::vector<PublishedVersion>, FileRefusal> ParseAppVersions(std::string_view bytes,
                                                                          const std::string& name);

// The apps that have versions of the CPU as well as of a GPU, each with at least `samples` samples, a scale and no
// problem: only those say how GPU credit compares with CPU credit (an app with GPUs alone carries a default in its
// scale). Sorted names.
std::vector<std::string> AppsWithBothKinds(const std::vector<PublishedVersion>& versions, double samples);

}  // namespace cobblestone::hub
