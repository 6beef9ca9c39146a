#include "common/federation/plan_class.h"

#include <algorithm>
#include <array>
#include <vector>

namespace cobblestone::federation {
namespace {

using credit::Resource;

// Sources: [wiki] "Plan classes" of BOINC's wiki, with the predefined classes and what a name must contain for each
// kind of GPU; [sample] the sample of plan_class_spec.xml in BOINC's source; [vbox], [docker] the wiki's pages about
// these applications; [field] classes that projects have published in apps.php.
struct PlanWord {
  std::string_view word;
  Resource resource;
  std::string_view source;
};

constexpr std::array kPlanWords = {
    // GPUs.
    PlanWord{"cuda", Resource::kNvidia, "wiki: cuda, cuda23, cuda_fermi"},
    PlanWord{"nvidia", Resource::kNvidia, "wiki: opencl_nvidia_101"},
    PlanWord{"oclcuda", Resource::kNvidia, "field: OCLcudaGFN16"},
    PlanWord{"openclnvidia", Resource::kNvidia, "field: openclnvidiaGFN16"},
    PlanWord{"ati", Resource::kAmd, "wiki: ati, ati13amd, ati14, opencl_ati_101"},
    PlanWord{"amd", Resource::kAmd, "wiki: ati13amd; field: opencl_amd"},
    PlanWord{"oclati", Resource::kAmd, "field: OCLatiGFN16"},
    PlanWord{"openclati", Resource::kAmd, "field: openclatiGFN16"},
    PlanWord{"cal", Resource::kAmd, "wiki: CAL libraries are AMD's"},
    PlanWord{"rocm", Resource::kAmd, "field: AMD's libraries"},
    PlanWord{"hip", Resource::kAmd, "field: AMD's libraries"},
    PlanWord{"intelgpu", Resource::kIntelGpu, "wiki: intel_gpu, opencl_intel_gpu_101"},
    PlanWord{"applegpu", Resource::kAppleGpu, "wiki: apple_gpu"},
    PlanWord{"metal", Resource::kAppleGpu, "field: Apple's interface to its GPUs"},
    // CPUs.
    PlanWord{"mt", Resource::kCpu, "wiki: mt, native_mt"},
    PlanWord{"native", Resource::kCpu, "field: native_mt"},
    PlanWord{"cpu", Resource::kCpu, "sample: opencl_cpu_intel"},
    PlanWord{"vbox", Resource::kCpu, "vbox: vbox32, vbox64, vbox64_mt"},
    PlanWord{"docker", Resource::kCpu, "docker: docker, docker_wsl"},
    PlanWord{"podman", Resource::kCpu, "docker"},
    PlanWord{"wsl", Resource::kCpu, "docker: docker_wsl"},
    PlanWord{"nci", Resource::kCpu, "wiki: not CPU intensive"},
    PlanWord{"mmx", Resource::kCpu, "sample: CPU features"},
    PlanWord{"sse", Resource::kCpu, "sample: sse2, sse3, sse41"},
    PlanWord{"ssse", Resource::kCpu, "sample: ssse3"},
    PlanWord{"avx", Resource::kCpu, "sample: avx, avx2, avx512"},
    PlanWord{"fma", Resource::kCpu, "field: CPU features"},
    PlanWord{"altivec", Resource::kCpu, "sample: CPU features"},
    PlanWord{"neon", Resource::kCpu, "sample: CPU features"},
    PlanWord{"vfp", Resource::kCpu, "sample: CPU features"},
    PlanWord{"armv", Resource::kCpu, "field: processors"},
    PlanWord{"arm", Resource::kCpu, "field: processors"},
    PlanWord{"amd64", Resource::kCpu, "field: the instruction set, not the vendor of a GPU"},
};

constexpr bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (IsUpper(c)) c = static_cast<char>(c + 'a' - 'A');
  return lower;
}

// Words are runs of letters between other characters, and runs of lower-case letters inside them, as in OCLcudaGFN.
// "amd64", "intel" before "gpu" and "apple" before "gpu" are one word.
std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && (IsLower(name[end]) || IsUpper(name[end]))) ++end;
    if (end == at) {
      ++at;
      continue;
    }
    std::string word = Lower(name.substr(at, end - at));
    if (word == "amd" && name.substr(end).starts_with("64")) word = "amd64";
    if (word == "gpu" && !words.empty() && (words.back() == "intel" || words.back() == "apple")) {
      words.back() += word;
    } else {
      words.push_back(word);
    }
    for (std::size_t run = at; run < end; ++run) {
      std::size_t run_end = run;
      while (run_end < end && IsLower(name[run_end])) ++run_end;
      if (run_end > run && run_end - run < end - at) words.emplace_back(name.substr(run, run_end - run));
      run = std::max(run, run_end);
    }
    at = end;
  }
  return words;
}

const PlanWord* Meaning(const std::string& word) {
  const auto* const found = std::find_if(kPlanWords.begin(), kPlanWords.end(),
                                         [&](const PlanWord& entry) { return entry.word == word; });
  return found == kPlanWords.end() ? nullptr : found;
}

std::string_view ResourceText(Resource resource) {
  switch (resource) {
    case Resource::kNvidia: return "NVIDIA GPU";
    case Resource::kAmd: return "AMD GPU";
    case Resource::kIntelGpu: return "Intel GPU";
    case Resource::kAppleGpu: return "Apple GPU";
    case Resource::kCpu:
    case Resource::kUnknown: break;
  }
  return "CPU";
}

std::string NoteOf(const PlanWord& entry) {
  return std::string(entry.word) + ": " + std::string(ResourceText(entry.resource)) + " (" +
         std::string(entry.source) + ")";
}

}  // namespace

PlanClass PlanClassOf(std::string_view name) {
  if (name.empty()) return {.note = "no plan class: CPU, one thread"};
  const PlanWord* gpu = nullptr;
  const PlanWord* cpu = nullptr;
  for (const std::string& word : WordsOf(name)) {
    const PlanWord* const entry = Meaning(word);
    if (entry == nullptr) continue;
    // A class of GPUs may also say how many threads or which container the application uses.
    if (entry->resource == Resource::kCpu) {
      if (cpu == nullptr) cpu = entry;
    } else if (gpu == nullptr) {
      gpu = entry;
    } else if (gpu->resource != entry->resource) {
      return {.known = false, .note = NoteOf(*gpu) + " and " + NoteOf(*entry) + ": taken for a CPU class"};
    }
  }
  if (gpu != nullptr) return {.resource = gpu->resource, .note = NoteOf(*gpu)};
  if (cpu != nullptr) return {.note = NoteOf(*cpu)};
  return {.known = false, .note = "no word of the table: taken for a CPU class"};
}

Resource ResourceOfPlanClass(std::string_view name) {
  const PlanClass plan = PlanClassOf(name);
  if (plan.known) return plan.resource;
  const std::vector<std::string> words = WordsOf(name);
  return std::find(words.begin(), words.end(), "opencl") == words.end() ? Resource::kCpu : Resource::kUnknown;
}

std::string_view ResourceName(Resource resource) {
  switch (resource) {
    case Resource::kCpu: return "cpu";
    case Resource::kNvidia: return "nvidia";
    case Resource::kAmd: return "amd";
    case Resource::kIntelGpu: return "intel_gpu";
    case Resource::kAppleGpu: return "apple_gpu";
    case Resource::kUnknown: break;
  }
  return "unknown";
}

Resource ResourceOfName(std::string_view name) {
  for (const Resource resource :
       {Resource::kCpu, Resource::kNvidia, Resource::kAmd, Resource::kIntelGpu, Resource::kAppleGpu})
    if (ResourceName(resource) == name) return resource;
  return Resource::kUnknown;
}

}  // namespace cobblestone::federation
