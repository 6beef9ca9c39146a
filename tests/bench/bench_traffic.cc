#include "tests/bench/bench_traffic.h"

#include <sys/resource.h>

#include <deque>
#include <unordered_map>

#include "common/wire/events/event_codec.h"

namespace cobblestone {

using intake::AppendBlock;
using intake::SourceLine;
using traffic::GenerateOptions;
using traffic::Generator;

GenerateOptions PlainTraffic(std::uint64_t results, std::uint64_t hosts, const std::string& policy) {
  GenerateOptions generate;
  generate.results = results;
  generate.hosts = hosts;
  generate.policies = {policy};
  generate.errors = generate.timeouts = generate.invalid = generate.inconclusive = generate.late = 0;
  generate.duplicates = 0;
  return generate;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

Prepared Prepare(const GenerateOptions& options, std::size_t size, std::uint64_t wait) {
  Prepared prepared;
  std::deque<std::string> waiting;
  Generator generator(options);
  std::string envelope;
  std::uint64_t line = 0;
  AppendBlock block{.source = "bench"};
  bool broadcast_block = false;
  bool data = false;
  const auto close = [&] {
    if (block.lines.empty()) return;
    block.barrier = broadcast_block;
    (data ? prepared.blocks : prepared.members).push_back(std::move(block));
    block = AppendBlock{.source = "bench", .first_line = line};
  };
  while (true) {
    if (!generator.Next(&envelope)) {
      if (waiting.empty()) break;
      envelope = std::move(waiting.front());
      waiting.pop_front();
    } else if (wait > 0 && wire::PeekRouting(envelope)->kind == wire::EventKind::kValidation) {
      waiting.push_back(std::move(envelope));
      if (waiting.size() <= wait) continue;
      envelope = std::move(waiting.front());
      waiting.pop_front();
    }
    const auto routing = wire::PeekRouting(envelope);
    const bool broadcast = routing && routing->key == wire::KeyKind::kBroadcast;
    const auto is = [&](wire::EventKind kind) { return routing && routing->kind == kind; };
    const bool is_data = is(wire::EventKind::kCompletion) || is(wire::EventKind::kValidation) ||
                         is(wire::EventKind::kDispatch) || is(wire::EventKind::kTrickle);
    if (broadcast != broadcast_block || is_data != data || block.lines.size() >= size) {
      close();
      broadcast_block = broadcast;
      data = is_data;
    }
    if (is(wire::EventKind::kValidation)) ++prepared.results;
    if (is(wire::EventKind::kTrickle)) ++prepared.trickles;
    block.lines.push_back({.envelope = envelope, .original = {}, .problem = {}});
    ++line;
  }
  close();
  return prepared;
}

std::vector<std::uint32_t> DecidingBlocks(const std::vector<AppendBlock>& blocks) {
  struct Workunit {
    int halves = 0;
    std::uint64_t results[2] = {0, 0};
  };
  std::vector<std::uint32_t> deciding;
  std::unordered_map<std::uint64_t, Workunit> open;
  wire::HotEvent event;
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    for (const SourceLine& line : blocks[b].lines) {
      if (wire::DecodeHot(line.envelope, &event) != wire::HotDecode::kHot) continue;
      const bool completion = event.kind == wire::EventKind::kCompletion;
      const std::uint64_t result = completion ? event.completion.result.value : event.validation.result.value;
      const std::uint64_t workunit =
          completion ? event.completion.workunit.value : event.validation.workunit.value;
      Workunit& one = open[workunit];
      ++one.halves;
      (one.results[0] == 0 || one.results[0] == result ? one.results[0] : one.results[1]) = result;
      if (one.halves < 4) continue;
      for (const std::uint64_t decided : one.results) {
        if (decided >= deciding.size()) deciding.resize(decided * 2 + 1, kNoBlock);
        deciding[decided] = b;
      }
      open.erase(workunit);
    }
  }
  return deciding;
}

}  // namespace cobblestone
