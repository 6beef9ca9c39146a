// The type of processor that a plan class uses.
#include "common/federation/plan_class.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/credit/model/catalogue.h"

namespace cobblestone::federation {
namespace {

using credit::Resource;
using ::testing::HasSubstr;

TEST(PlanClass, NamesItsProcessor) {
  for (const char* name : {"cuda", "cuda23", "cuda_fermi", "cuda102_linux", "nvidia_opencl",
                           "opencl_nvidia_101", "BRP7-cuda55", "FGRPopencl1K-nvidia", "CUDA"})
    EXPECT_EQ(ResourceOfPlanClass(name), Resource::kNvidia) << name;
  for (const char* name :
       {"ati", "ati14", "ati13amd", "ati13ati", "opencl_ati_101", "opencl_amd", "FGRPopencl-ati"})
    EXPECT_EQ(ResourceOfPlanClass(name), Resource::kAmd) << name;
  for (const char* name : {"intel_gpu", "opencl_intel_gpu_102", "FGRPopencl-Beta-intel_gpu"})
    EXPECT_EQ(ResourceOfPlanClass(name), Resource::kIntelGpu) << name;
  for (const char* name : {"apple_gpu", "opencl_apple_gpu"})
    EXPECT_EQ(ResourceOfPlanClass(name), Resource::kAppleGpu) << name;
}

// BOINC's rule counts opencl_amd as CPU, and native_mt as AMD, because it contains "ati".
TEST(PlanClass, IsReadByWordsAndNotByLetters) {
  for (const char* name : {"", "mt", "native_mt", "sse2", "avx", "vbox64", "vbox64_mt", "docker", "amd64",
                           "simulations", "intel", "gpu"})
    EXPECT_EQ(ResourceOfPlanClass(name), Resource::kCpu) << name;
  for (const char* name : {"opencl", "opencl_102", "BRPopencl"})
    EXPECT_EQ(ResourceOfPlanClass(name), Resource::kUnknown) << name;
}

TEST(PlanClass, NamesItsDevice) {
  const std::vector<std::pair<std::string, Resource>> classes = {
      {"", Resource::kCpu},
      // CPU classes, some of which contain the letters "ati" or "amd".
      {"mt", Resource::kCpu},
      {"native_mt", Resource::kCpu},
      {"vbox32", Resource::kCpu},
      {"vbox64_mt", Resource::kCpu},
      {"vbox_amd64", Resource::kCpu},
      {"docker", Resource::kCpu},
      {"docker_wsl", Resource::kCpu},
      {"sse2", Resource::kCpu},
      {"avx512", Resource::kCpu},
      {"opencl_cpu_intel", Resource::kCpu},
      {"nci", Resource::kCpu},
      {"cpuGCW", Resource::kCpu},
      // BOINC's predefined classes of GPUs.
      {"cuda", Resource::kNvidia},
      {"cuda23", Resource::kNvidia},
      {"cuda_fermi", Resource::kNvidia},
      {"cuda1121", Resource::kNvidia},
      {"nvidia", Resource::kNvidia},
      {"opencl_nvidia_101", Resource::kNvidia},
      {"ati", Resource::kAmd},
      {"ati14", Resource::kAmd},
      {"ati13amd", Resource::kAmd},
      {"opencl_ati_101", Resource::kAmd},
      {"opencl_amd", Resource::kAmd},
      {"cal", Resource::kAmd},
      {"intel_gpu", Resource::kIntelGpu},
      {"opencl_intel_gpu_101", Resource::kIntelGpu},
      {"apple_gpu", Resource::kAppleGpu},
      {"opencl_apple_gpu", Resource::kAppleGpu},
      {"metal", Resource::kAppleGpu},
      // Names of projects.
      {"FGRPopencl1K-nvidia", Resource::kNvidia},
      {"BRP7-opencl-ati", Resource::kAmd},
      {"FGRPopenclTV-intel_gpu", Resource::kIntelGpu},
      {"OCLcudaGFN16", Resource::kNvidia},
      {"openclatiGFN17MEGA", Resource::kAmd},
      {"cudaPPSsieve", Resource::kNvidia},
      {"OPENCL_NVIDIA", Resource::kNvidia},
      // A GPU in a container, or with several threads, is a GPU.
      {"docker_nvidia", Resource::kNvidia},
      {"cuda_mt", Resource::kNvidia},
  };
  for (const auto& [name, resource] : classes) {
    EXPECT_EQ(PlanClassOf(name).resource, resource) << name << ": " << PlanClassOf(name).note;
    EXPECT_TRUE(PlanClassOf(name).known) << name;
  }
  EXPECT_THAT(PlanClassOf("opencl_amd").note, HasSubstr("amd: AMD GPU"));
}

TEST(PlanClass, ThatIsUnknownCountsAsCpuWithANote) {
  for (const std::string name :
       {"turbo", "opencl", "stationary", "creation", "opencl_nvidia_ati", "barracuda"}) {
    EXPECT_EQ(PlanClassOf(name).resource, Resource::kCpu) << name;
    EXPECT_FALSE(PlanClassOf(name).known) << name;
    EXPECT_THAT(PlanClassOf(name).note, HasSubstr("taken for a CPU class"));
  }
}

// The policy `boinc` has BOINC's rule of substrings, and keeps it.
TEST(PlanClass, LeavesTheRuleOfThePolicyBoincAsItIs) {
  const auto is_gpu = [](const std::string& plan_class) {
    credit::AppVersionRow version;
    version.plan_class = plan_class;
    return version.IsGpu();
  };
  EXPECT_TRUE(is_gpu("native_mt"));
  EXPECT_TRUE(is_gpu("opencl_amd"));
  EXPECT_FALSE(is_gpu("metal"));
}

TEST(PlanClass, AResourceIsFoundByItsName) {
  for (const Resource resource : {Resource::kCpu, Resource::kNvidia, Resource::kAmd, Resource::kIntelGpu,
                                  Resource::kAppleGpu, Resource::kUnknown})
    EXPECT_EQ(ResourceOfName(ResourceName(resource)), resource);
  for (const char* name : {"", "NVIDIA", "gpu"}) EXPECT_EQ(ResourceOfName(name), Resource::kUnknown) << name;
}

}  // namespace
}  // namespace cobblestone::federation
