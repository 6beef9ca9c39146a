#include "services/traffic/federation.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "services/traffic/federation_project.h"
#include "services/traffic/federation_text.h"

namespace cobblestone::traffic {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostRecords = 100'000'000;  // of one kind
constexpr std::uint64_t kUsersPerTeam = 20;

Status BadFederation(const std::string& name, const std::string& value, const std::string& valid) {
  return Status::InvalidArgument("federation: " + name + " is " + value + "; valid: " + valid);
}

std::uint64_t Scaled(std::uint64_t count, double scale) {
  return static_cast<std::uint64_t>(std::floor(static_cast<double>(count) * scale + 0.5));
}

// Splits a count by 1/(P + 2); the first project also has what is left over.
std::vector<std::uint64_t> Split(std::uint64_t count, std::uint32_t projects) {
  std::uint64_t weights = 0;
  const auto weight = [](std::uint32_t p) { return (std::uint64_t{1} << 32) / (p + 3); };
  for (std::uint32_t p = 0; p < projects; ++p) weights += weight(p);
  std::vector<std::uint64_t> parts(projects);
  std::uint64_t left = count;
  for (std::uint32_t p = projects; p-- > 1;) {
    parts[p] = static_cast<std::uint64_t>(static_cast<unsigned __int128>(count) * weight(p) / weights);
    left -= parts[p];
  }
  parts[0] = left;
  return parts;
}

FederationWorld WorldOf(const std::vector<FederationSize>& sizes) {
  std::uint64_t users = 0;
  std::uint64_t teams = 0;
  std::uint64_t most_users = 0;
  std::uint64_t most_teams = 0;
  for (const FederationSize& size : sizes) {
    users += size.users;
    teams += size.teams;
    most_users = std::max(most_users, size.users);
    most_teams = std::max(most_teams, size.teams);
  }
  // A project has at most one account of a person, also after it has grown.
  return {.people = std::max(users / 2, 2 * most_users), .team_names = std::max(teams / 2, 2 * most_teams)};
}

Status WriteConfiguration(const FederationOptions& options, const std::string& directory) {
  auto file = TextFile::Create(directory + "/hub.yaml", false);
  if (!file.ok()) return file.status();
  *file << "# A hub of the projects in this directory. Serve those of one day, for example with\n"
           "#   python3 -m http.server 8900 --bind 127.0.0.1 --directory day-0\n"
           "role: hub\nticks: wall\nprojects:\n";
  for (std::uint32_t p = 1; p <= options.projects; ++p) {
    const std::string url = options.base_url + "project-" + std::to_string(p) + "/";
    *file << "  - {id: " << std::uint64_t{p} << ", name: Project " << std::uint64_t{p} << ", url: \"" << url
          << "\", statistics: \"" << url << "\"}\n";
  }
  return file->Close();
}

// Writes the parts on several threads.
class Writers {
 public:
  Writers(const FederationOptions& options, const std::string& directory)
      : options_(options), directory_(directory), sizes_(FederationSizes(options)), world_(WorldOf(sizes_)) {}

  Status Write(unsigned threads, const std::function<void(const FederationPoint&)>& progress) {
    FederationPoint point;
    for (const FederationSize& size : sizes_) point.all += size.users + size.hosts + size.teams;
    point.all *= options_.days;
    std::vector<std::jthread> writers;
    const unsigned parts = options_.projects * options_.days;
    const unsigned started = std::clamp(threads, 1u, parts);
    writers.reserve(started);
    running_ = started;
    for (unsigned i = 0; i < started; ++i) writers.emplace_back([this] { WriteParts(); });
    std::unique_lock lock(mutex_);
    while (running_ > 0) {
      ended_.wait_for(lock, std::chrono::milliseconds(200));
      point.done = records_;
      point.bytes = bytes_;
      if (progress) progress(point);
    }
    return status_;
  }

 private:
  // Days one after the other, the large projects of a day first.
  void WriteParts() {
    const std::uint32_t parts = options_.projects * options_.days;
    for (std::uint32_t n = next_++; n < parts; n = next_++) {
      const Status written = WritePart(n % options_.projects, n / options_.projects);
      if (written.ok()) continue;
      const std::lock_guard lock(mutex_);
      if (status_.ok()) status_ = written;
      next_ = parts;
    }
    const std::lock_guard lock(mutex_);
    --running_;
    ended_.notify_all();
  }

  Status WritePart(std::uint32_t p, std::uint32_t day) {
    const std::string path = directory_ + "/day-" + std::to_string(day) + "/project-" + std::to_string(p + 1);
    std::error_code error;
    fs::create_directories(path, error);
    if (error) return Status::Unwritten(error.value(), "cannot create " + path + ": " + error.message());
    return WriteFederationPart(
        {.options = &options_, .world = world_, .size = sizes_[p], .project = p + 1, .day = day}, path,
        [this](std::uint64_t records, std::uint64_t bytes) {
          const std::lock_guard lock(mutex_);
          records_ += records;
          bytes_ += bytes;
        });
  }

  const FederationOptions& options_;
  const std::string& directory_;
  const std::vector<FederationSize> sizes_;
  const FederationWorld world_;
  std::atomic<std::uint32_t> next_{0};
  std::mutex mutex_;
  std::condition_variable ended_;
  unsigned running_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
  Status status_;
};

}  // namespace

Status CheckFederationOptions(const FederationOptions& options) {
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  constexpr std::uint32_t kMostProjects = 10'000;
  constexpr std::uint32_t kMostDays = 1000;
  if (options.projects == 0 || options.projects > kMostProjects)
    return BadFederation("projects", number(options.projects), "from 1 to 10000");
  if (options.days == 0 || options.days > kMostDays)
    return BadFederation("days", number(options.days), "from 1 to 1000");
  if (!(options.scale > 0 && options.scale <= 1000))
    return BadFederation("scale", std::to_string(options.scale), "more than 0, at most 1000");
  for (const auto& [name, count] : {std::pair("users", options.users), std::pair("hosts", options.hosts)}) {
    if (count > kMostRecords || Scaled(count, options.scale) > kMostRecords)
      return BadFederation(name, number(count), "at most 10^8, also times the scale");
  }
  if (Scaled(options.users, options.scale) < options.projects)
    return BadFederation("users", number(options.users),
                         "at least one for each project, also times the scale");
  constexpr std::uint64_t kFirst = 1'000'000'000;
  constexpr std::uint64_t kLast = 4'000'000'000;
  if (options.start_time < kFirst || options.start_time > kLast)
    return BadFederation("start_time", number(options.start_time), "UNIX seconds from 10^9 to 4 x 10^9");
  if (!options.base_url.starts_with("http") || !options.base_url.ends_with("/") ||
      options.base_url.find_first_of("\"<>& \n") != std::string::npos)
    return BadFederation("base_url", options.base_url, "a URL that ends with a slash");
  return Status::Ok();
}

std::vector<FederationSize> FederationSizes(const FederationOptions& options) {
  const std::vector<std::uint64_t> users = Split(Scaled(options.users, options.scale), options.projects);
  const std::vector<std::uint64_t> hosts = Split(Scaled(options.hosts, options.scale), options.projects);
  std::vector<FederationSize> sizes(options.projects);
  for (std::uint32_t p = 0; p < options.projects; ++p)
    sizes[p] = {.users = std::max<std::uint64_t>(1, users[p]),
                .hosts = hosts[p],
                .teams = std::max<std::uint64_t>(1, users[p] / kUsersPerTeam)};
  return sizes;
}

Status WriteFederation(const FederationOptions& options, const std::string& directory, unsigned threads,
                       const std::function<void(const FederationPoint&)>& progress) {
  if (Status s = CheckFederationOptions(options); !s.ok()) return s;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return Status::Unwritten(error.value(), "cannot create " + directory + ": " + error.message());
  if (Status s = WriteConfiguration(options, directory); !s.ok()) return s;
  return Writers(options, directory).Write(threads, progress);
}

}  // namespace cobblestone::traffic
