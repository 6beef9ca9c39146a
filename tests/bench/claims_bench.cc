// The pure functions of the credit policies on one CPU core: the cost to price results and to settle their
// workunits, by policy. The other benchmarks measure the codecs of the claims stage: an event is decoded, a claim
// is encoded and decoded.
//   claims/s      two claims and one settlement for each workunit of two results; hosts in random order
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "common/credit/policies/policy.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/claim_codec.h"
#include "services/traffic/generate.h"
#include "tests/unit/credit_world.h"

namespace cobblestone {

using traffic::GenerateOptions;
using traffic::Generator;

namespace {

constexpr credit::PolicyKind kPolicies[] = {
    credit::PolicyKind::kBenchmark, credit::PolicyKind::kReportedFlops, credit::PolicyKind::kCreditNewV2,
    credit::PolicyKind::kCreditNew, credit::PolicyKind::kBoinc,         credit::PolicyKind::kRuntime,
    credit::PolicyKind::kAssigned,  credit::PolicyKind::kNone};

void Core(benchmark::State& state) {
  const credit::PolicyKind kind = kPolicies[state.range(0)];
  const credit::Policy& policy = credit::PolicyFor(kind);
  credit::World world(policy, kind);
  world.SetVersion(credit::kCpuVersion, 500, 1.1, 0.9);
  world.SetVersion(credit::kGpuVersion, 500, 3.5, 0.3);
  world.SetMinAvgPfc(1.05);
  std::vector<credit::HostRecord> hosts(static_cast<std::size_t>(state.range(1)));
  for (credit::HostRecord& host : hosts) {
    host = world.Trusted(50, 1.2);
    host.known = true;
    host.whetstone = 2e9;
    host.dhrystone = 4e9;
  }
  credit::Job job;
  job.awaited = 2;
  job.reported_flops = 1e13;
  job.reported_credit = 20;
  job.assigned = 20;
  std::mt19937_64 random(1);
  std::vector<credit::Claim> claims(2);
  for (auto _ : state) {
    job.workunit += 1;
    for (credit::Claim& claim : claims) {
      credit::HostRecord& host = hosts[random() % hosts.size()];
      claim = world.Validate(job, host).claim;
    }
    benchmark::DoNotOptimize(world.Settle(claims));
  }
  state.SetLabel(std::string(credit::PolicyName(kind)));
  state.counters["claims/s"] =
      benchmark::Counter(2 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(Core)->ArgsProduct({{0, 1, 2, 3, 4, 5, 6, 7}, {10000, 1000000}})->ArgNames({"policy", "hosts"});

void DecodeEvents(benchmark::State& state) {
  GenerateOptions options;
  options.results = 20000;
  options.hosts = 10000;
  Generator generator(options);
  std::vector<std::string> events;
  wire::HotEvent event;
  for (std::string envelope; generator.Next(&envelope);)
    if (wire::DecodeHot(envelope, &event) == wire::HotDecode::kHot) events.push_back(envelope);
  std::size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(wire::DecodeHot(events[at], &event));
    at = at + 1 < events.size() ? at + 1 : 0;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(DecodeEvents);

void EncodeAndDecodeClaim(benchmark::State& state) {
  credit::World world(credit::PolicyFor(credit::PolicyKind::kCreditNew), credit::PolicyKind::kCreditNew);
  world.SetVersion(credit::kCpuVersion, 500, 1.1, 0.9);
  credit::HostRecord host = world.Trusted(50, 1.2);
  const credit::Claim claim = world.ClaimOf({}, host);
  credit::Claim back;
  std::string bytes;
  for (auto _ : state) {
    bytes.clear();
    wire::EncodeClaim(claim, &bytes);
    benchmark::DoNotOptimize(wire::DecodeClaim(bytes, &back));
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["bytes"] = static_cast<double>(bytes.size());
}
BENCHMARK(EncodeAndDecodeClaim);

}  // namespace
}  // namespace cobblestone

BENCHMARK_MAIN();
