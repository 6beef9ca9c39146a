// The type of processor that a plan class uses.
#include "common/federation/plan_class.h"

#include <gtest/gtest.h>

namespace cobblestone::federation {
namespace {

using credit::Resource;

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

TEST(PlanClass, AResourceIsFoundByItsName) {
  for (const Resource resource : {Resource::kCpu, Resource::kNvidia, Resource::kAmd, Resource::kIntelGpu,
                                  Resource::kAppleGpu, Resource::kUnknown})
    EXPECT_EQ(ResourceOfName(ResourceName(resource)), resource);
  for (const char* name : {"", "NVIDIA", "gpu"}) EXPECT_EQ(ResourceOfName(name), Resource::kUnknown) << name;
}

}  // namespace
}  // namespace cobblestone::federation
