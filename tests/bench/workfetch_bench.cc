// One decision of work fetch on one CPU core: the round-robin simulation of the queue, and the choice of a request.
//   argument   projects; each has ten queued jobs, CPU and GPU jobs alternately
#include <cstddef>

#include <benchmark/benchmark.h>

#include "common/workfetch/accounting.h"
#include "common/workfetch/choice.h"
#include "common/workfetch/round_robin.h"

namespace cobblestone {
namespace {

workfetch::Client ClientOf(std::size_t projects, workfetch::Variant variant) {
  workfetch::Client client{.variant = variant,
                           .resources = {{.name = "CPU", .instances = 8}, {.name = "GPU", .speed = 20}}};
  client.preferences = {.connect_interval = workfetch::kDay, .additional_work = 10 * workfetch::kDay};
  for (std::size_t p = 0; p < projects; ++p) {
    client.projects.emplace_back().share = 50 + static_cast<double>(p);
    client.projects.back().used = {static_cast<double>(p % 7), static_cast<double>(p % 3)};
  }
  for (std::size_t i = 0; i < 10 * projects; ++i) {
    const double seconds = 1800 + 37 * static_cast<double>(i);
    workfetch::Job job{
        .project = i % projects, .estimate = seconds, .duration = seconds, .remaining = seconds};
    job.resource = i / projects % 2;
    job.usage[job.resource] = 1;
    client.jobs.push_back(job);
  }
  Account(client, 60, 60);
  return client;
}

void Decision(benchmark::State& state, workfetch::Variant variant) {
  workfetch::Client client = ClientOf(static_cast<std::size_t>(state.range(0)), variant);
  double now = 60;
  for (auto _ : state) {
    Account(client, now += 60, 60);
    benchmark::DoNotOptimize(ChooseRequest(client, SimulateRoundRobin(client), now));
  }
}
BENCHMARK_CAPTURE(Decision, seed, workfetch::Variant::kSeed)->Arg(5)->Arg(50)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Decision, rec, workfetch::Variant::kRec)->Arg(5)->Arg(50)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Decision, hybrid, workfetch::Variant::kHybrid)
    ->Arg(5)
    ->Arg(50)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cobblestone

BENCHMARK_MAIN();
