// The type of processor that a plan class uses, from its name. For app versions that name no resource, such as those
// of stock BOINC projects. Pure.
#pragma once

#include <string_view>

#include "common/credit/model/model.h"

namespace cobblestone::federation {

// The name is read as words of letters and digits, in any case of letters:
// - NVIDIA: a word that begins with "cuda" or "nvidia"
// - AMD: "ati" or "amd", alone or followed by a digit (ati13amd), but not amd64
// - Intel GPU, Apple GPU: "intel" or "apple", followed by the word "gpu"
// - unknown: a word that ends with "opencl", and none of the above: the vendor of the GPU is missing
// - CPU: every other name, such as "", mt, native_mt, sse2, vbox64_mt, docker
// BOINC searches for the letters instead: "native_mt" contains "ati", and "opencl_amd" contains no word of its list.
credit::Resource ResourceOfPlanClass(std::string_view plan_class);

// "cpu", "nvidia", "amd", "intel_gpu", "apple_gpu", "unknown": in what projects and hubs publish.
std::string_view ResourceName(credit::Resource resource);
// kUnknown for every other text.
credit::Resource ResourceOfName(std::string_view name);

}  // namespace cobblestone::federation
