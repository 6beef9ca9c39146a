// Reading statistics files on one CPU core, from gzip and plain, by kind of record.
//   bytes_per_second   uncompressed XML
//   Records            boundaries, id, total and hash: what an unchanged record costs
//   Fields             all fields of every record: what a first import costs
#include <benchmark/benchmark.h>
#include <cstdint>
#include <string>

#include "services/hub/feeds/statistics_reader.h"
#include "tests/support/gzip.h"

namespace cobblestone::hub {
namespace {

using testing::Gzip;

constexpr int kUsers = 200000;
constexpr int kHosts = 50000;

std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ x >> 31) * 0x7FB5D329728EA185;
  return (x ^ x >> 27) * 0x81DADEF4BC2DD44D;
}
std::string Hex(std::uint64_t seed) {
  std::string hex;
  for (int i = 0; i < 32; ++i) hex += "0123456789abcdef"[Mix(seed * 32 + static_cast<unsigned>(i)) >> 60];
  return hex;
}
std::string Figure(std::uint64_t seed, std::uint64_t most) {
  std::string decimals = std::to_string(Mix(seed + 7) % 1000000);
  return std::to_string(Mix(seed) % most) + "." + std::string(6 - decimals.size(), '0') + decimals;
}
std::string Element(const std::string& blanks, const std::string& tag, const std::string& value) {
  return blanks + "<" + tag + ">" + value + "</" + tag + ">\n";
}

std::string UserFile() {
  std::string text = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<users>\n";
  for (std::uint64_t id = 1; id <= kUsers; ++id) {
    text += "<user>\n" + Element(" ", "id", std::to_string(id)) +
            Element(" ", "name", "J&#195;&#188;rgen " + std::to_string(Mix(id) % 99999)) +
            Element(" ", "create_time", std::to_string(1000000000 + Mix(id) % 700000000)) +
            Element(" ", "total_credit", Figure(id, 100000000)) +
            Element(" ", "expavg_credit", Figure(id + 1, 10000)) +
            Element(" ", "expavg_time", Figure(id + 2, 1790000000)) + Element(" ", "cpid", Hex(id)) +
            Element(" ", "country", "Germany") + Element(" ", "teamid", std::to_string(Mix(id) % 5000 + 1)) +
            "</user>\n";
  }
  return text + "</users>\n";
}

std::string HostFile() {
  std::string text = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<hosts>\n";
  for (std::uint64_t id = 1; id <= kHosts; ++id) {
    text +=
        "<host>\n" + Element("    ", "id", std::to_string(id)) +
        Element("    ", "userid", std::to_string(Mix(id) % kUsers)) +
        Element("    ", "total_credit", Figure(id, 100000000)) +
        Element("    ", "expavg_credit", Figure(id + 1, 10000)) +
        Element("    ", "expavg_time", Figure(id + 2, 1790000000)) +
        Element("    ", "p_vendor", "GenuineIntel") +
        Element("    ", "p_model",
                "Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz [Family 6 Model 158 Stepping 10]") +
        Element("    ", "os_name", "Linux Debian") +
        Element("    ", "os_version", "Debian GNU/Linux 12 [6.1.0-18-amd64|libc 2.36]") +
        Element(
            "    ", "misc",
            "<![CDATA[{\"coprocs\":[{\"type\":\"NVIDIA\",\"count\":1,\"model\":\"GeForce RTX 3080\"}]}]]>");
    for (const char* tag : {"create_time", "rpc_time"})
      text += Element("  ", tag, std::to_string(1700000000 + Mix(id) % 10000000));
    text += Element("  ", "timezone", "3600") + Element("  ", "ncpus", "16");
    for (const char* tag : {"p_fpops", "p_iops", "p_membw", "m_nbytes", "m_cache", "m_swap", "d_total",
                            "d_free", "n_bwup", "n_bwdown", "avg_turnaround", "credit_per_cpu_sec"})
      text += Element("  ", tag, Figure(Mix(id) + static_cast<unsigned char>(tag[2]), 90000000000));
    text += Element("  ", "host_cpid", Hex(id)) + "</host>\n";
  }
  return text + "</hosts>\n";
}

struct Files {
  std::string plain;
  std::string gzip;
};
const Files& FilesOf(RecordKind kind) {
  static const Files kUserFiles = [] {
    const std::string text = UserFile();
    return Files{text, Gzip(text)};
  }();
  static const Files kHostFiles = [] {
    const std::string text = HostFile();
    return Files{text, Gzip(text)};
  }();
  return kind == RecordKind::kUser ? kUserFiles : kHostFiles;
}

void ReadOnce(benchmark::State& state, bool fields) {
  const RecordKind kind = state.range(0) == 0 ? RecordKind::kUser : RecordKind::kHost;
  const Files& files = FilesOf(kind);
  for (auto _ : state) {
    const auto reader =
        StatisticsReader::OverBytes(kind, state.range(1) == 0 ? files.plain : files.gzip, "bench");
    UserFields user;
    HostFields host;
    for (StatisticsRecord record; reader->Next(&record);) {
      if (!fields) continue;
      if (kind == RecordKind::kUser) {
        benchmark::DoNotOptimize(reader->ReadUser(record, &user));
      } else {
        benchmark::DoNotOptimize(reader->ReadHost(record, &host));
      }
    }
    if (!reader->accepted()) state.SkipWithError(reader->refusals().front().Text().c_str());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * files.plain.size()));
  state.SetLabel(std::string(RecordKindName(kind)) + (state.range(1) == 0 ? ", plain" : ", gzip"));
  state.counters["record"] =
      static_cast<double>(files.plain.size()) / (kind == RecordKind::kUser ? kUsers : kHosts);
  state.counters["ratio"] = static_cast<double>(files.plain.size()) / static_cast<double>(files.gzip.size());
}

void Records(benchmark::State& state) { ReadOnce(state, false); }
BENCHMARK(Records)->ArgsProduct({{0, 1}, {0, 1}})->Unit(benchmark::kMillisecond);
void Fields(benchmark::State& state) { ReadOnce(state, true); }
BENCHMARK(Fields)->ArgsProduct({{0, 1}, {0, 1}})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cobblestone::hub

BENCHMARK_MAIN();
