#include "common/workfetch/examples.h"

namespace cobblestone::workfetch {
namespace {

constexpr std::size_t kGpu = 1;
constexpr std::size_t kA = 0;
constexpr std::size_t kB = 1;
constexpr std::size_t kC = 2;
constexpr double kHour = 3600;
constexpr double kYear = 365 * kDay;

App CpuApp(double seconds) {
  return {.name = "cpu", .versions = {{.usage = {1}, .estimate = seconds, .duration = seconds}}};
}

App GpuApp(double seconds) {
  return {.name = "gpu",
          .versions = {{.resource = kGpu, .usage = {0, 1}, .estimate = seconds, .duration = seconds}}};
}

App From(App app, double from) {
  app.from = from;
  return app;
}

// One CPU and one GPU that is twice as fast; no buffer.
const std::vector<Resource> kSeedHost = {{.name = "CPU"}, {.name = "GPU", .speed = 2}};

Example Example1() {
  return {.id = "1",
          .title = "A has GPU jobs, B has GPU and CPU jobs",
          .goal = "A and B process the same amount: A 75 % of the GPU, B 25 % and the CPU",
          .scenario = {.resources = kSeedHost,
                       .projects = {{.name = "A", .server = {.apps = {GpuApp(kHour)}}},
                                    {.name = "B", .server = {.apps = {GpuApp(kHour), CpuApp(kHour)}}}},
                       .duration = 200 * kDay},
          .goals = {{"200 days", 0, 200 * kDay, kA, kGpu, 0.75}, {"200 days", 0, 200 * kDay, kB, kCpu, 1}}};
}

Example Example1a() {
  Example example = Example1();
  example.id = "1a";
  example.title = "Example 1 with a buffer of half a day";
  example.scenario.preferences.connect_interval = 0.1 * kDay;
  example.scenario.preferences.additional_work = 0.4 * kDay;
  return example;
}

Example Example2() {
  App year = CpuApp(kYear);
  year.jobs = 1;
  year.latency_bound = kYear;
  return {.id = "2",
          .title = "A has a job of one year without slack, B has jobs",
          .goal = "After A's job, B gets the CPU for a year, then both share it",
          .scenario = {.resources = {{.name = "CPU"}},
                       .projects = {{.name = "A", .server = {.apps = {year, From(CpuApp(kHour), kYear)}}},
                                    {.name = "B", .server = {.apps = {CpuApp(kHour)}}}},
                       .duration = 930 * kDay},
          .goals = {{"year 1", 0, kYear, kA, kCpu, 1},
                    {"year 2", kYear, 2 * kYear, kB, kCpu, 1},
                    {"then", 2 * kYear, 930 * kDay, kB, kCpu, 0.5}},
          .marks = {{kYear, "A's job ends"}, {2 * kYear, "one year later"}}};
}

Example Example2a() {
  Example example = Example2();
  example.id = "2a";
  example.title = "Example 2, and C is attached when A's job ends";
  example.goal = "C and B share the CPU at once";
  example.scenario.projects.push_back({.name = "C", .server = {.apps = {CpuApp(kHour)}}, .attached = false});
  example.scenario.events = {{.at = kYear, .kind = Event::Kind::kAttach, .project = kC}};
  example.scenario.duration = 565 * kDay;
  example.goals = {{"first day", kYear, kYear + kDay, kC, kCpu, 0.5, 0.05},
                   {"200 days", kYear, 565 * kDay, kC, kCpu, 0.5},
                   {"200 days", kYear, 565 * kDay, kB, kCpu, 0.5}};
  example.marks = {{kYear, "A's job ends, C is attached"}};
  return example;
}

Example Example3() {
  return {.id = "3",
          .title = "A has GPU jobs, B gets a GPU app after a year",
          .goal = "From then on A and B share the GPU",
          .scenario = {.resources = {{.name = "CPU"}, {.name = "GPU", .speed = 2}},
                       .projects = {{.name = "A", .server = {.apps = {GpuApp(kHour)}}},
                                    {.name = "B", .server = {.apps = {From(GpuApp(kHour), kYear)}}}},
                       .duration = 565 * kDay},
          // The longest backoff, and the lead of rule H, pass within two days.
          .goals = {{"year 1", 0, kYear, kA, kGpu, 1},
                    {"after 2 days", kYear + 2 * kDay, kYear + 12 * kDay, kB, kGpu, 0.5, 0.05},
                    {"200 days", kYear, 565 * kDay, kB, kGpu, 0.5}},
          .marks = {{kYear, "B's GPU app"}}};
}

Example Example3a() {
  Example example = Example3();
  example.id = "3a";
  example.title = "Example 3, and B has CPU jobs all the time";
  example.goal = "As in example 1: A and B process the same amount, B gets 25 % of the GPU";
  example.scenario.projects[kB].server.apps.push_back(CpuApp(kHour));
  example.goals = {{"after 2 days", kYear + 2 * kDay, kYear + 12 * kDay, kB, kGpu, 0.25, 0.05},
                   {"200 days", kYear, 565 * kDay, kB, kGpu, 0.25}};
  return example;
}

Example Example4() {
  App short_deadline = {.name = "short deadline",
                        .versions = {{.usage = {1}, .estimate = 10 * kHour, .duration = 13 * kHour}},
                        .latency_bound = 1.25 * kDay};
  App both = {.name = "both",
              .versions = {{.usage = {1}, .estimate = 20 * kHour, .duration = 22 * kHour},
                           {.resource = kGpu, .usage = {0.1, 1}, .estimate = kHour, .duration = 1.1 * kHour}},
              .latency_bound = 14 * kDay};
  App threads = {.name = "threads",
                 .versions = {{.usage = {4}, .estimate = 3 * kHour, .duration = 2.5 * kHour}},
                 .latency_bound = 7 * kDay};
  App gpu = GpuApp(0.5 * kHour);
  gpu.latency_bound = 3 * kDay;
  gpu.until = 30 * kDay;
  App gpu_again = gpu;
  gpu_again.from = 60 * kDay;
  gpu_again.until = kNever;
  App cpu = CpuApp(2 * kHour);
  cpu.latency_bound = 7 * kDay;
  return {.id = "4",
          .title = "An ordinary host: 4 CPUs, a GPU, 5 projects, on for 14 hours a day",
          .goal = "Few missed deadlines, no idle processor, FLOPs by resource share, few requests",
          .scenario = {.resources = {{.name = "CPU", .instances = 4}, {.name = "GPU", .speed = 10}},
                       .preferences = {.connect_interval = 0.1 * kDay, .additional_work = 0.5 * kDay},
                       .projects = {{.name = "A", .share = 100, .server = {.apps = {cpu}}},
                                    {.name = "B", .share = 300, .server = {.apps = {both}}},
                                    {.name = "C", .share = 50, .server = {.apps = {threads}}},
                                    {.name = "D", .share = 200, .server = {.apps = {gpu, gpu_again}}},
                                    {.name = "E", .share = 50, .server = {.apps = {short_deadline}}}},
                       .cycle = kDay,
                       .on = 14 * kHour,
                       .duration = 120 * kDay},
          .marks = {{30 * kDay, "D has no jobs"}, {60 * kDay, "D has jobs"}}};
}

}  // namespace

const std::vector<Example>& Examples() {
  static const std::vector<Example> kExamples = {Example1(), Example1a(), Example2(), Example2a(),
                                                 Example3(), Example3a(), Example4()};
  return kExamples;
}

}  // namespace cobblestone::workfetch
