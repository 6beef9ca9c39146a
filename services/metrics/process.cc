#include "services/metrics/process.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "common/base/build_id.h"

namespace cobblestone::metrics {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Start time of the process, UNIX s.
std::optional<double> StartedAt() {
  std::ifstream stat("/proc/self/stat");
  std::string line;
  std::getline(stat, line);
  const std::size_t behind_name = line.rfind(')');  // the name may contain blanks
  if (behind_name == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(behind_name + 1));
  std::string word;
  constexpr int kStartTime = 20;  // fields after the name: proc(5), field 22
  for (int i = 0; i < kStartTime; ++i) fields >> word;
  std::ifstream system("/proc/stat");
  while (std::getline(system, line)) {
    if (!line.starts_with("btime ")) continue;
    return std::stod(line.substr(6)) + std::stod(word) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  return std::nullopt;
}

}  // namespace

void AddProcess(Families* all) {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0)
    all->Counter("process_cpu_seconds_total", "User and system CPU time of the process.")
        .Add(Seconds(usage.ru_utime) + Seconds(usage.ru_stime));
  std::uint64_t pages = 0;
  std::uint64_t resident = 0;
  if (std::ifstream("/proc/self/statm") >> pages >> resident)
    all->Gauge("process_resident_memory_bytes", "Resident memory of the process.")
        .Add(static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  if (!error)
    all->Gauge("process_open_fds", "Open file descriptors.")
        .Add(static_cast<double>(std::distance(open, std::filesystem::directory_iterator{})));
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0)
    all->Gauge("process_max_fds", "Limit of open file descriptors.").Add(static_cast<double>(files.rlim_cur));
  static const std::optional<double> started = StartedAt();
  if (started)
    all->Gauge("process_start_time_seconds", "Start time of the process, UNIX time.").Add(*started);
}

void AddDisk(const std::string& directory, Families* all) {
  struct statvfs disk {};
  if (::statvfs(directory.c_str(), &disk) != 0) return;
  const auto block = static_cast<double>(disk.f_frsize);
  all->Gauge("cobblestone_disk_size_bytes", "Size of the disk with the data directory.")
      .Add(static_cast<double>(disk.f_blocks) * block);
  all->Gauge("cobblestone_disk_free_bytes", "Free space on the disk with the data directory.")
      .Add(static_cast<double>(disk.f_bavail) * block);
}

void AddBuild(Families* all) {
  static const std::string build = BuildId();
  all->Gauge("cobblestone_build_info", "Always 1; the label is the running build.")
      .Add({{"build", build}}, 1);
}

}  // namespace cobblestone::metrics
