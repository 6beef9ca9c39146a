// The parser of event lines in JSON on one CPU core, by kind of event: the reader with its fast path, and protobuf's JSON
// mapping alone.
//   items_per_second   lines/s; `bytes` is the mean length of a line
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "common/wire/events/event_codec.h"
#include "common/wire/json/json_lines.h"
#include "common/wire/json/json_lines_generic.h"
#include "services/traffic/generate.h"

namespace cobblestone {
namespace {

constexpr wire::EventKind kKinds[] = {wire::EventKind::kCompletion, wire::EventKind::kValidation,
                                      wire::EventKind::kDispatch, wire::EventKind::kTrickle,
                                      wire::EventKind::kHost};

// Lines as `cobblestone generate` writes them.
std::vector<std::string> LinesOf(wire::EventKind kind) {
  constexpr std::size_t kLines = 4000;
  traffic::GenerateOptions options;
  options.results = 8000;
  options.hosts = 4000;
  options.dispatches = true;
  options.trickles = 1;
  traffic::Generator generator(options);
  std::vector<std::string> lines;
  for (std::string envelope; lines.size() < kLines && generator.Next(&envelope);)
    if (wire::PeekKind(envelope) == kind) lines.push_back(*wire::EnvelopeToJson(envelope));
  return lines;
}

template <class Read>
void ReadLines(benchmark::State& state, const Read& read) {
  const wire::EventKind kind = kKinds[state.range(0)];
  const std::vector<std::string> lines = LinesOf(kind);
  std::size_t at = 0;
  for (auto _ : state) {
    read(lines[at]);
    at = at + 1 < lines.size() ? at + 1 : 0;
  }
  std::size_t bytes = 0;
  for (const std::string& line : lines) bytes += line.size();
  state.SetItemsProcessed(state.iterations());
  state.SetLabel(std::string(wire::EventKindName(kind)));
  state.counters["bytes"] = static_cast<double>(bytes) / static_cast<double>(lines.size());
}

void Reader(benchmark::State& state) {
  wire::JsonEventReader reader;
  std::string envelope;
  ReadLines(state, [&](std::string_view line) { benchmark::DoNotOptimize(reader.Read(line, &envelope)); });
  if (reader.generic_lines() > 0) state.SkipWithError("the fast path declined a line");
}
BENCHMARK(Reader)->DenseRange(0, std::size(kKinds) - 1);

void Generic(benchmark::State& state) {
  ReadLines(state,
            [](std::string_view line) { benchmark::DoNotOptimize(wire::EnvelopeFromJsonGeneric(line)); });
}
BENCHMARK(Generic)->DenseRange(0, std::size(kKinds) - 1);

}  // namespace
}  // namespace cobblestone

BENCHMARK_MAIN();
