// What an export of a whole project costs: a file of entities is made, exported, and read back; rows per second, memory, sizes.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "services/export/entities_file.h"
#include "services/export/export_job.h"

namespace cobblestone {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::uint64_t hosts = 1'000'000;
  int threads = 2;
  std::string compression = "gzip";
  std::string sort;
  std::string directory = "export_bench_data";
  bool read = false;
};

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

double RssMiB() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Numbers and texts as various as those of a real project.
class Entities {
 public:
  Entities(const Options& options, const std::string& path)
      : options_(options), file_(path, std::ios::binary | std::ios::trunc) {}

  void Write() {
    const std::uint64_t users = options_.hosts / 3 + 1;
    const std::uint64_t teams = users / 50 + 1;
    file_ << "{\n\"users\": [\n";
    for (std::uint64_t id = 1; id <= users; ++id)
      Row(id == users,
          R"({"id": %llu, "name": "Volunteer %llu", "create_time": %llu, "total_credit": %.17g, "expavg_credit": %.17g, )"
          R"("expavg_time": %.17g, "cross_project_id": "%016llx%016llx", "email_addr": "v%llu@example.org", )"
          R"("country": "Germany", "url": "", "teamid": %llu, "has_profile": 0, "show_hosts": 1, "authenticator": "%016llx"})",
          id, id, Whole(1'000'000'000, 600'000'000), Credit(), Credit() / 100, Time(), random_(), random_(),
          id, random_() % 3 == 0 ? 0 : random_() % teams + 1, random_());
    file_ << "],\n\"teams\": [\n";
    for (std::uint64_t id = 1; id <= teams; ++id)
      Row(id == teams,
          R"({"id": %llu, "create_time": %llu, "userid": %llu, "name": "Team %llu", "type": 1, "total_credit": %.17g, )"
          R"("expavg_credit": %.17g, "expavg_time": %.17g, "url": "http://team%llu.org", "name_html": "", )"
          R"("description": "We crunch & <b>crunch</b>", "country": "International"})",
          id, Whole(1'000'000'000, 600'000'000), id * 7, id, Credit(), Credit() / 100, Time(), id);
    file_ << "],\n\"hosts\": [\n";
    for (std::uint64_t id = 1; id <= options_.hosts; ++id)
      Row(id == options_.hosts,
          R"({"id": %llu, "create_time": %llu, "userid": %llu, "rpc_time": %llu, "total_credit": %.17g, )"
          R"("expavg_credit": %.17g, "expavg_time": %.17g, "timezone": 3600, "domain_name": "host%llu", "p_ncpus": %llu, )"
          R"("p_vendor": "GenuineIntel", "p_model": "Intel(R) Core(TM) i%llu-%llu CPU @ 3.%02lluGHz [Family 6 Model 158]", )"
          R"("p_fpops": %.17g, "p_iops": %.17g, "p_membw": 1000000000, "os_name": "Linux Debian", )"
          R"("os_version": "Debian GNU/Linux 13 [6.12.%llu+deb13-amd64|libc 2.41]", "m_nbytes": %llu, "m_cache": 1048576, )"
          R"("m_swap": %.17g, "d_total": %.17g, "d_free": %.17g, "n_bwup": %.17g, "n_bwdown": %.17g, )"
          R"("avg_turnaround": %.17g, "credit_per_cpu_sec": %.17g, "host_cpid": "%016llx%016llx", "misc": ""})",
          id, Whole(1'000'000'000, 600'000'000), random_() % users + 1, Whole(1'600'000'000, 100'000'000),
          Credit(), Credit() / 100, Time(), id, Whole(1, 64), Whole(3, 7), Whole(1000, 9000), Whole(0, 100),
          Number(5e9), Number(1e10), Whole(0, 40), Whole(1'000'000'000, 64'000'000'000), Number(1e10),
          Number(1e12), Number(1e11), Number(1e6), Number(1e7), Number(1e6), Number(1), random_(), random_());
    file_ << "]\n}\n";
  }

 private:
  template <class... Values>
  void Row(bool last, const char* format, Values... values) {
    char text[2048];
    std::snprintf(text, sizeof text, format, values...);  // NOLINT(cppcoreguidelines-pro-type-vararg)
    file_ << text << (last ? "\n" : ",\n");
  }
  unsigned long long Whole(unsigned long long first, unsigned long long count) {
    return first + random_() % count;
  }
  double Number(double most) { return most * std::uniform_real_distribution<>()(random_); }
  double Credit() { return std::exp(Number(20)); }
  double Time() { return 1.6e9 + Number(1e8); }

  const Options& options_;
  std::ofstream file_;
  std::mt19937_64 random_{1};
};

std::string SpecText(const Options& options) {
  std::string text = "<boinc_db_dump_spec>";
  for (const char* table : {"user", "team", "host"}) {
    text += std::string("<enumeration><table>") + table + "</table><filename>" + table + "</filename>";
    if (!options.sort.empty()) text += "<sort>" + options.sort + "</sort>";
    text += "<output><compression>" + options.compression + "</compression><detail/></output></enumeration>";
  }
  return text + "</boinc_db_dump_spec>";
}

int Fail(const Status& status) {
  std::fprintf(stderr, "export_bench: %s\n", status.message().c_str());
  return 1;
}

int Run(const Options& options) {
  // What is deleted at the end must not have been anybody's.
  if (!std::filesystem::create_directory(options.directory))
    return Fail(Status::InvalidArgument(options.directory + " is there already; name another directory"));
  const std::string path = options.directory + "/entities.json";
  auto start = Clock::now();
  Entities(options, path).Write();
  std::printf("made       %8.2f s  %.0f MiB, %.0f MiB resident\n", Seconds(start),
              static_cast<double>(std::filesystem::file_size(path)) / (1 << 20), RssMiB());
  start = Clock::now();
  auto entities = statistics::EntitiesFile::Open(path, {});
  if (!entities.ok()) return Fail(entities.status());
  std::printf("found      %8.2f s  %.0f MiB resident\n", Seconds(start), RssMiB());
  const auto spec = statistics::ParseSpec(SpecText(options), "spec");
  if (!spec.ok()) return Fail(spec.status());
  const auto write = Clock::now();
  const auto outcome = statistics::RunExport(**entities, *spec,
                                             {.now = 1'700'000'000,
                                              .out = options.directory + "/stats",
                                              .delete_old = true,
                                              .threads = options.threads});
  if (!outcome.ok()) return Fail(outcome.status());
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t content = 0;
  for (const statistics::FileFigures& file : outcome->manifest.files) {
    records += file.records;
    bytes += file.bytes;
    content += file.content_bytes;
  }
  std::printf("written    %8.2f s  %.0f MiB resident, %.1f MiB of %.1f MiB content\n", Seconds(write),
              RssMiB(), static_cast<double>(bytes) / (1 << 20), static_cast<double>(content) / (1 << 20));
  std::printf("exported   %8.2f s  %llu records, %.0f records/s, %d threads\n", Seconds(start),
              static_cast<unsigned long long>(records), static_cast<double>(records) / Seconds(start),
              options.threads);
  if (options.read) {
    start = Clock::now();
    const auto back = statistics::ReadBack({outcome->directory}, nullptr);
    if (!back.ok()) return Fail(back.status());
    if (!back->differences.empty()) return Fail(Status::Corrupted(back->differences.front()));
    std::printf("read back  %8.2f s  %.0f MiB resident\n", Seconds(start), RssMiB());
  }
  std::filesystem::remove_all(options.directory);
  return 0;
}

}  // namespace
}  // namespace cobblestone

int main(int argc, char** argv) {
  cobblestone::Options options;
  CLI::App app("An export of a project of any size");
  app.add_option("--hosts", options.hosts, "hosts; a third as many users")->capture_default_str();
  app.add_option("--threads", options.threads)->capture_default_str();
  app.add_option("--compression", options.compression, "gzip, zip, none")->capture_default_str();
  app.add_option("--sort", options.sort, "id, total_credit, expavg_credit; without it as it comes");
  app.add_option("--directory", options.directory, "made, and deleted at the end")->capture_default_str();
  app.add_flag("--read", options.read, "read it back, too");
  CLI11_PARSE(app, argc, argv);
  return cobblestone::Run(options);
}
