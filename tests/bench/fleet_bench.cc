// The fleet simulator on one CPU core, by preset and work fetch: results that hosts return per second of CPU, with all events encoded and
// the truth computed, and the memory for one host at the end.
//   results/s     returned with success
//   events/s      of all kinds
//   bytes/host    hosts, jobs in progress, workunits and appointments
#include <cstdint>
#include <string_view>

#include <benchmark/benchmark.h>

#include "services/fleet/fleet.h"

namespace cobblestone {
namespace {

using fleet::Fleet;
using fleet::FleetOptions;
using fleet::Preset;

void Simulate(benchmark::State& state) {
  FleetOptions options;
  options.like = static_cast<Preset>(state.range(0));
  options.parameters = fleet::ParametersOf(options.like);
  options.hosts = static_cast<std::uint64_t>(state.range(1));
  options.days = static_cast<double>(state.range(2));
  const char* const names[] = {"simple", "seed", "rec", "hybrid"};
  const char* const name = names[state.range(3)];
  options.work_fetch = fleet::WorkFetchByName(name);
  double results = 0;
  double events = 0;
  double bytes = 0;
  for (auto _ : state) {
    std::int64_t deserved = 0;
    Fleet world(options, [&](const fleet::Truth& row) { deserved += row.deserved_micro; });
    for (std::string_view event; world.Next(&event);) benchmark::DoNotOptimize(event);
    benchmark::DoNotOptimize(deserved);
    results += static_cast<double>(world.counts().results);
    events += static_cast<double>(world.counts().events);
    bytes = static_cast<double>(world.bytes());
  }
  state.SetLabel(std::string(fleet::PresetName(options.like)) + " " + name);
  state.counters["results/s"] = benchmark::Counter(results, benchmark::Counter::kIsRate);
  state.counters["events/s"] = benchmark::Counter(events, benchmark::Counter::kIsRate);
  state.counters["bytes/host"] = bytes / static_cast<double>(options.hosts);
}

// Preset, hosts, days, work fetch.
BENCHMARK(Simulate)
    ->Args({0, 2000, 5, 0})
    ->Args({1, 2000, 5, 0})
    ->Args({2, 2000, 5, 0})
    ->Args({0, 2000, 5, 1})
    ->Args({0, 2000, 5, 2})
    ->Args({0, 2000, 5, 3})
    ->Args({1, 2000, 5, 3})
    ->Args({2, 2000, 5, 3})
    ->Args({0, 100'000, 1, 0})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cobblestone
