// Which kind of device the versions of a plan class run on. Pure function, for any thread.
//
// BOINC's server searches for substrings (plan_class_to_proc_type), so it takes `native_mt` for a class of AMD GPUs,
// because of the letters "ati"; its page of GPU ratios takes `opencl_amd` for a CPU class. The policy `boinc` keeps
// that rule, bit for bit (AppVersionRow::IsGpu). Here the name is divided into words, and a table has the meaning of
// the words (plan_class.cc).
#pragma once

#include <string>
#include <string_view>

#include "common/credit/model/model.h"

namespace cobblestone::federation {

struct PlanClass {
  // kCpu also for a class that the table does not know.
  credit::Resource resource = credit::Resource::kCpu;
  // False: no word of the name is in the table, or two of them name GPUs of different vendors.
  bool known = true;
  // For people: "ati: AMD GPU", "no word of the table: taken for a CPU class".
  std::string note{};
};

// The empty class is BOINC's class for applications with one thread.
PlanClass PlanClassOf(std::string_view name);

// For a version that names no resource. kUnknown: a class of OpenCL without a vendor, or with two.
credit::Resource ResourceOfPlanClass(std::string_view name);

// "cpu", "nvidia", "amd", "intel_gpu", "apple_gpu", "unknown": in what projects and hubs publish.
std::string_view ResourceName(credit::Resource resource);
// kUnknown for every other text.
credit::Resource ResourceOfName(std::string_view name);

}  // namespace cobblestone::federation
