#include "services/traffic/federation_project.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <string_view>
#include <vector>

#include "services/traffic/federation_text.h"

namespace cobblestone::traffic {

namespace {

constexpr std::uint64_t kSecondsPerDay = 86400;
constexpr std::uint64_t kChangeEvery = 20;  // days
constexpr std::uint64_t kGrowth = 2000;     // one new record a day for so many
constexpr std::uint64_t kLeaving = 20'000;  // one record of so many leaves on a day
constexpr std::uint64_t kReportedRecords = 4096;

constexpr std::array<std::string_view, 12> kCountries = {"United States",
                                                         "Germany",
                                                         "United Kingdom",
                                                         "Japan",
                                                         "France",
                                                         "China",
                                                         "Canada",
                                                         "Poland",
                                                         "Czech Republic",
                                                         "Russia",
                                                         "C\xc3\xb4te d'Ivoire",
                                                         "Trinidad & Tobago"};
constexpr std::array<std::string_view, 16> kSyllables = {"ka",  "ro", "mi",  "ten",          "sul", "ba",
                                                         "ner", "vi", "lo",  "dra",          "pe",  "zu",
                                                         "han", "ge", "tor", "&#195;&#182;l"};
struct Model {
  std::string_view vendor;
  std::string_view name;
  std::uint32_t cpus;
};
constexpr std::array<Model, 6> kModels = {{
    {"GenuineIntel", "Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz [Family 6 Model 158 Stepping 10]", 12},
    {"GenuineIntel", "12th Gen Intel(R) Core(TM) i5-12400F [Family 6 Model 151 Stepping 5]", 12},
    {"AuthenticAMD", "AMD Ryzen 9 5950X 16-Core Processor [Family 25 Model 33 Stepping 0]", 32},
    {"AuthenticAMD", "AMD Ryzen 5 3600 6-Core Processor [Family 23 Model 113 Stepping 0]", 12},
    {"ARM", "ARM Cortex-A72 [Impl 0x41 Arch 8 Variant 0x0 Part 0xd08 Rev 3]", 4},
    {"GenuineIntel", "Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz [Family 6 Model 45 Stepping 7]", 16},
}};
struct System {
  std::string_view name;
  std::string_view version;
};
constexpr std::array<System, 4> kSystems = {{
    {"Microsoft Windows 11", "Professional x64 Edition, (10.00.22631.00)"},
    {"Linux Debian", "Debian GNU/Linux 12 (bookworm) [6.1.0-18-amd64|libc 2.36]"},
    {"Linux Ubuntu", "Ubuntu 24.04.1 LTS [6.8.0-45-generic|libc 2.39]"},
    {"Microsoft Windows 10", "Core x64 Edition, (10.00.19045.00)"},
}};

enum FederationSalt : std::uint32_t {
  kPhaseSalt,
  kGoneSalt,
  kIdBitSalt,
  kLevelSalt,
  kBaseSalt,
  kTimeSalt,
  kRecentSalt,
  kPersonSalt,
  kOwnIdSalt,
  kTeamSalt,
  kTextSalt,
  kDetailSalt,
  kMachineSalt,
  kVersionSalt
};

// splitmix64's finalizer.
std::uint64_t Mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}
std::uint64_t Hash(std::uint64_t key, std::uint64_t x, std::uint32_t salt) {
  return Mix(key + x * 0x9E3779B97F4A7C15ull + salt * 0xF1357AEA2E62A9C5ull);
}
// A number below `bound` whose square root is evenly distributed: small numbers are more frequent.
std::uint64_t Skewed(std::uint64_t hash, std::uint64_t bound) {
  const auto square = static_cast<std::uint64_t>(static_cast<unsigned __int128>(hash) * hash >> 64);
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(square) * bound >> 64);
}

// x -> (a x + b) mod n, with a and n coprime: different x below n get different numbers.
class Shuffle {
 public:
  Shuffle(std::uint64_t n, std::uint64_t key) : n_(n), b_(Mix(key) % n), a_(1 + Mix(key + 1) % n) {
    while (std::gcd(a_, n_) != 1) ++a_;
  }
  std::uint64_t operator()(std::uint64_t x) const {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(a_) * x + b_) % n_);
  }

 private:
  std::uint64_t n_;
  std::uint64_t b_;
  std::uint64_t a_;
};

// Which host belongs to whom: first one host of each user, then second hosts of the first two thirds of the users (with three
// hosts per user), and so on. Hosts are asked for in ascending order.
class Owners {
 public:
  struct Owner {
    std::uint64_t user = 0;    // from 0 on
    std::uint64_t number = 0;  // of the host among those of the user
  };

  Owners(std::uint64_t users, std::uint64_t hosts)
      : users_(users), hosts_(hosts), layer_(std::min(users, hosts)) {}

  Owner Of(std::uint64_t host) {
    while (host - start_ >= layer_) {
      start_ += layer_;
      ++number_;
      const auto fewer = static_cast<std::uint64_t>(static_cast<unsigned __int128>(layer_) * users_ /
                                                    std::max<std::uint64_t>(1, hosts_));
      layer_ = std::max<std::uint64_t>(1, layer_ - std::min(fewer, layer_));
    }
    return {host - start_, number_};
  }

 private:
  std::uint64_t users_;
  std::uint64_t hosts_;
  std::uint64_t layer_;
  std::uint64_t start_ = 0;
  std::uint64_t number_ = 0;
};

// A user or host as of a day; credit in millionths.
struct Earned {
  std::uint64_t total = 0;
  std::uint64_t recent = 0;
  std::uint64_t recent_time = 0;  // millionths of a second
};

struct TeamSum {
  std::uint64_t total = 0;
  std::uint64_t recent = 0;
  std::uint64_t recent_time = 0;
};

class Part {
 public:
  Part(const FederationPart& part, const std::string& directory,
       const std::function<void(std::uint64_t, std::uint64_t)>& report)
      : options_(*part.options),
        part_(part),
        directory_(directory),
        report_(report),
        world_key_(Mix(options_.seed)),
        user_key_(Mix(world_key_ + 3 * part.project)),
        host_key_(Mix(world_key_ + 3 * part.project + 1)),
        team_key_(Mix(world_key_ + 3 * part.project + 2)),
        person_(part.world.people, user_key_),
        team_name_(part.world.team_names, team_key_),
        teams_(part.size.teams) {}

  Status Write() {
    if (Status s = WriteUsers(); !s.ok()) return s;
    if (Status s = WriteTeams(); !s.ok()) return s;
    if (Status s = WriteHosts(); !s.ok()) return s;
    if (Status s = WriteAnswers(); !s.ok()) return s;
    return WriteTables();  // last, as the sign that the others are complete
  }

 private:
  // ---- Records over days ----------------------------------------------------------------------------------------

  [[nodiscard]] std::uint64_t Now() const { return options_.start_time + part_.day * kSecondsPerDay; }
  // Also records that have left.
  [[nodiscard]] std::uint64_t Count(std::uint64_t at_first) const {
    return at_first + at_first * part_.day / kGrowth;
  }
  [[nodiscard]] bool Left(std::uint64_t key, std::uint64_t n) const {
    return 1 + Hash(key, n, kGoneSalt) % kLeaving <= part_.day;
  }
  // Ascending, about every second number.
  static std::uint64_t IdOf(std::uint64_t key, std::uint64_t n) {
    return 2 * n + 1 + (Hash(key, n, kIdBitSalt) & 1);
  }

  [[nodiscard]] Earned EarnedBy(std::uint64_t key, std::uint64_t n) const {
    constexpr std::uint64_t kMillion = 1'000'000;
    constexpr int kHighestLevel = 28;
    const std::uint64_t phase = Hash(key, n, kPhaseSalt) % kChangeEvery;
    const std::uint64_t changes = (phase + part_.day) / kChangeEvery;
    // From 1 to 2,000 Cobblestones, and for every second account of those twice as much, and so on.
    const int level = std::min(std::countl_zero(Hash(key, n, kLevelSalt)), kHighestLevel);
    const std::uint64_t first = (kMillion + Hash(key, n, kBaseSalt) % (1999 * kMillion)) << level;
    const std::uint64_t each = 1 + (first >> 12);
    const std::uint64_t time = Hash(key, n, kTimeSalt);
    Earned earned{.total = first + changes * each};
    if (changes > 0) {
      const std::uint64_t day = part_.day - (phase + part_.day) % kChangeEvery;
      earned.recent = each;
      earned.recent_time =
          (options_.start_time + day * kSecondsPerDay) * kMillion - time % (80'000 * kMillion);
    } else {
      earned.recent = first >> (8 + Hash(key, n, kRecentSalt) % 24);
      earned.recent_time =
          options_.start_time * kMillion - kMillion - time % (400 * kSecondsPerDay * kMillion);
    }
    return earned;
  }
  // Accounts are older than any credit.
  [[nodiscard]] std::uint64_t CreatedAt(std::uint64_t key, std::uint64_t n) const {
    return options_.start_time - 500 * kSecondsPerDay - Hash(key, n, kDetailSalt) % (5000 * kSecondsPerDay);
  }

  // ---- Users ------------------------------------------------------------------------------------------------------

  Status WriteUsers() {
    auto file = Open("user");
    if (!file.ok()) return file.status();
    const std::uint64_t count = Count(part_.size.users);
    for (std::uint64_t n = 0; n < count; ++n) {
      const Earned earned = EarnedBy(user_key_, n);
      const std::uint64_t in_team = Hash(user_key_, n, kTeamSalt);
      const std::uint64_t team = in_team % 3 == 0 ? 0 : 1 + Skewed(Mix(in_team), part_.size.teams);
      if (team > 0) AddTo(teams_[team - 1], earned);
      if (Left(user_key_, n)) continue;
      WriteUser(*file, n, earned, team);
      ++users_;
      credit_ += earned.total;
      Report(*file);
    }
    *file << "</users>\n";
    return Done(*file);
  }

  static void AddTo(TeamSum& sum, const Earned& member) {
    sum.total += member.total;
    sum.recent += member.recent;
    sum.recent_time = std::max(sum.recent_time, member.recent_time);
  }

  void WriteUser(TextFile& file, std::uint64_t n, const Earned& earned, std::uint64_t team) {
    const std::uint64_t id = IdOf(user_key_, n);
    const std::uint64_t person = Hash(world_key_, person_(n), kPersonSalt);
    file << "<user>\n <id>" << id << "</id>\n <name>";
    Name(file, person);
    file << "</name>\n <create_time>" << CreatedAt(user_key_, n) << "</create_time>\n";
    Credit(file, earned, " ");
    file << " <cpid>";
    Cpid(file, Hash(user_key_, n, kOwnIdSalt) % 50 == 0 ? Hash(user_key_, n, kOwnIdSalt) : person);
    file << "</cpid>\n <country>" << kCountries[Skewed(Mix(person + 1), kCountries.size())] << "</country>\n";
    const std::uint64_t text = Hash(user_key_, n, kTextSalt);
    if (text % 8 == 0) file << " <url>https://example.org/?a=1&amp;b=" << id << "</url>\n";
    if (team > 0) file << " <teamid>" << team << "</teamid>\n";
    if (text % 16 == 1) file << " <has_profile/>\n";
    file << "</user>\n";
  }

  static void Name(TextFile& file, std::uint64_t hash) {
    for (std::uint64_t i = 0, rest = hash; i < 2 + hash % 3; ++i, rest >>= 8) file << kSyllables[rest % 16];
    file << " " << hash % 10'000;
  }
  static void Cpid(TextFile& file, std::uint64_t hash) { file.Id(Mix(hash + 2), Mix(hash + 3)); }
  static void Credit(TextFile& file, const Earned& earned, std::string_view indent) {
    file << indent << "<total_credit>";
    file.Millionths(earned.total) << "</total_credit>\n" << indent << "<expavg_credit>";
    file.Millionths(earned.recent) << "</expavg_credit>\n" << indent << "<expavg_time>";
    file.Millionths(earned.recent_time) << "</expavg_time>\n";
  }

  // ---- Teams ------------------------------------------------------------------------------------------------------

  Status WriteTeams() {
    auto file = Open("team");
    if (!file.ok()) return file.status();
    for (std::uint64_t n = 0; n < teams_.size(); ++n) {
      const TeamSum& sum = teams_[n];
      if (sum.total == 0) continue;  // BOINC exports no team without credit
      const std::uint64_t name = Hash(world_key_, team_name_(n), kTeamSalt);
      *file << "<team>\n <id>" << n + 1 << "</id>\n <type>" << name % 5 << "</type>\n <name>Team ";
      Name(*file, name);
      *file << "</name>\n <userid>"
            << IdOf(user_key_, Skewed(Hash(team_key_, n, kMachineSalt), part_.size.users)) << "</userid>\n";
      Credit(*file, {.total = sum.total, .recent = sum.recent, .recent_time = sum.recent_time}, " ");
      *file << "  <founder_name>";
      Name(*file, Mix(name));
      *file << "</founder_name>\n <create_time>" << CreatedAt(team_key_, n) << "</create_time>\n";
      if (name % 3 == 0) *file << " <url>http://team.example.org/" << name % 100'000 << "</url>\n";
      *file << "<description>&lt;p>We compute.&lt;/p>&#10;</description>\n <country>"
            << kCountries[Skewed(Mix(name + 1), kCountries.size())] << "</country>\n</team>\n";
      ++written_teams_;
      Report(*file);
    }
    *file << "</teams>\n";
    return Done(*file);
  }

  // ---- Hosts ------------------------------------------------------------------------------------------------------

  Status WriteHosts() {
    auto file = Open("host");
    if (!file.ok()) return file.status();
    Owners owners(part_.size.users, part_.size.hosts);
    const std::uint64_t count = Count(part_.size.hosts);
    for (std::uint64_t n = 0; n < count; ++n) {
      // New hosts are those of anybody; no machine has a number that large.
      const Owners::Owner owner = n < part_.size.hosts
                                      ? owners.Of(n)
                                      : Owners::Owner{Hash(host_key_, n, kPersonSalt) % part_.size.users,
                                                      (std::uint64_t{1} << 32) + n};
      if (Left(host_key_, n)) continue;
      WriteHost(*file, n, owner);
      ++hosts_;
      Report(*file);
    }
    *file << "</hosts>\n";
    return Done(*file);
  }

  void WriteHost(TextFile& file, std::uint64_t n, const Owners::Owner& owner) {
    const Earned earned = EarnedBy(host_key_, n);
    const std::uint64_t machine =
        Hash(Hash(world_key_, person_(owner.user), kPersonSalt), owner.number, kMachineSalt);
    const std::uint64_t text = Hash(host_key_, n, kTextSalt);
    const Model& model = kModels[machine % kModels.size()];
    const System& system = kSystems[(machine >> 8) % kSystems.size()];
    file << "<host>\n    <id>" << IdOf(host_key_, n) << "</id>\n";
    if (text % 20 != 0)  // the owner hides the others
      file << "    <userid>" << IdOf(user_key_, owner.user) << "</userid>\n";
    Credit(file, earned, "    ");
    file << "    <p_vendor>" << model.vendor << "</p_vendor>\n    <p_model>" << model.name
         << "</p_model>\n    <os_name>" << system.name << "</os_name>\n    <os_version>" << system.version
         << "</os_version>\n    <misc><![CDATA[{\"client_brand\":\"\",\"boinc_version\":\"8.0." << machine % 5
         << "\",\"virtualbox_version\":\"\",\"coprocs\":[";
    if (machine % 4 == 0)
      file << "{\"type\":\"CUDA\",\"model\":\"NVIDIA GeForce RTX 3060\",\"count\":1,\"ram\":"
              "12884246528,\"driver\":\"550.107\",\"opencl\":\"3.0\"}";
    file << "]}]]></misc>\n";
    Detail(file, n, machine, model, earned);
    file << "  <host_cpid>";
    Cpid(file, machine);
    file << "</host_cpid>\n</host>\n";
  }

  void Detail(TextFile& file, std::uint64_t n, std::uint64_t machine, const Model& model,
              const Earned& earned) {
    constexpr std::uint64_t kMillion = 1'000'000;
    std::uint64_t draw = Mix(machine);
    const auto element = [&](std::string_view open, std::uint64_t least, std::uint64_t range,
                             std::string_view close) {
      draw = Mix(draw + 1);
      file << open;
      file.Millionths((least + draw % range) * kMillion + (draw >> 40) % kMillion) << close;
    };
    file << "  <create_time>" << CreatedAt(host_key_, n) << "</create_time>\n  <rpc_time>"
         << earned.recent_time / kMillion << "</rpc_time>\n  <timezone>" << machine % 24 * 3600
         << "</timezone>\n  <ncpus>" << std::uint64_t{model.cpus} << "</ncpus>\n";
    element("  <p_fpops>", 1'000'000'000, 6'000'000'000, "</p_fpops>\n");
    element("  <p_iops>", 3'000'000'000, 60'000'000'000, "</p_iops>\n");
    file << "  <p_membw>1000000000.000000</p_membw>\n";
    element("  <m_nbytes>", 2'000'000'000, 64'000'000'000, "</m_nbytes>\n");
    file << "  <m_cache>524288.000000</m_cache>\n";
    element("  <m_swap>", 1'000'000'000, 30'000'000'000, "</m_swap>\n");
    element("  <d_total>", 100'000'000'000, 4'000'000'000'000, "</d_total>\n");
    element("  <d_free>", 1'000'000'000, 90'000'000'000, "</d_free>\n");
    element("  <n_bwup>", 1000, 1'000'000, "</n_bwup>\n");
    element("  <n_bwdown>", 1000, 20'000'000, "</n_bwdown>\n");
    element("  <avg_turnaround>", 1000, 400'000, "</avg_turnaround>\n");
    file << "  <credit_per_cpu_sec>0.0" << 10 + draw % 80 << "405</credit_per_cpu_sec>\n";
  }

  // ---- Other files ------------------------------------------------------------------------------------------------

  Status WriteTables() {
    auto file = TextFile::Create(directory_ + "/tables.xml", false);
    if (!file.ok()) return file.status();
    *file << "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<tables>\n    <update_time>" << Now()
          << "</update_time>\n    <nusers_total>" << users_ << "</nusers_total>\n    <nteams_total>"
          << written_teams_ << "</nteams_total>\n    <nhosts_total>" << hosts_
          << "</nhosts_total>\n    <total_credit>";
    file->Millionths(credit_)
        << "</total_credit>\n    <applications>\n        <application>\n            <name>"
           "Folding</name>\n        </application>\n    </applications>\n</tables>\n";
    return file->Close();
  }

  Status WriteAnswers() {
    const std::string url = options_.base_url + "project-" + std::to_string(part_.project) + "/";
    auto config = TextFile::Create(directory_ + "/get_project_config.php", false);
    if (!config.ok()) return config.status();
    *config << "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n<project_config>\n    <name>Project "
            << std::uint64_t{part_.project} << "</name>\n    <master_url>" << url
            << "</master_url>\n    <web_rpc_url_base>" << url
            << "</web_rpc_url_base>\n    <min_passwd_length>6</min_passwd_length>\n    <server_version>803"
               "</server_version>\n    <web_stopped>0</web_stopped>\n    <sched_stopped>0</sched_stopped>\n"
               "</project_config>\n";
    if (Status s = config->Close(); !s.ok()) return s;
    auto status = TextFile::Create(directory_ + "/server_status.php", false);
    if (!status.ok()) return status.status();
    *status
        << "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n<server_status>\n<daemon_status>\n    <daemon>\n"
           "        <host>www</host>\n        <command>Scheduler</command>\n        <status>running</status>\n"
           "    </daemon>\n</daemon_status>\n<database_file_states>\n    <results_ready_to_send>"
        << 100 + part_.size.hosts / 10 << "</results_ready_to_send>\n    <results_in_progress>"
        << part_.size.hosts / 4 << "</results_in_progress>\n    <workunits_waiting_for_validation>7"
        << "</workunits_waiting_for_validation>\n    <transitioner_backlog_hours>0</transitioner_backlog_hours>\n"
           "    <users_with_credit>"
        << users_ << "</users_with_credit>\n</database_file_states>\n</server_status>\n";
    if (Status s = status->Close(); !s.ok()) return s;
    return WriteVersions();
  }

  // One app with versions for the CPU and for GPUs; every third project also has one for GPUs alone, whose scale is the default of
  // BOINC.
  Status WriteVersions() {
    auto file = TextFile::Create(directory_ + "/app_versions.php", false);
    if (!file.ok()) return file.status();
    *file << "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n<app_versions>\n";
    struct Version {
      std::string_view app, platform, plan_class;
      std::uint64_t scale;  // millionths
    };
    constexpr std::array<Version, 5> kVersions = {
        {{"folding", "windows_x86_64", "", 1'000'000},
         {"folding", "x86_64-pc-linux-gnu", "native_mt", 950'000},
         {"folding", "windows_x86_64", "cuda101", 130'000},
         {"folding", "x86_64-pc-linux-gnu", "opencl_amd", 90'000},
         {"render", "windows_x86_64", "opencl_nvidia_101", 100'000}}};
    for (std::uint64_t v = 0; v < kVersions.size(); ++v) {
      const Version& version = kVersions[v];
      const bool gpu_only = version.app == "render";
      if (gpu_only && part_.project % 3 != 0) continue;
      const std::uint64_t draw = Hash(team_key_, v, kVersionSalt);
      // Projects differ by up to a quarter.
      const std::uint64_t scale = gpu_only ? version.scale : version.scale * (75 + draw % 51) / 100;
      *file << "    <app_version>\n        <id>" << v + 1 << "</id>\n        <create_time>"
            << options_.start_time - 100 * kSecondsPerDay << "</create_time>\n        <platform>"
            << version.platform << "</platform>\n        <app_name>" << version.app
            << "</app_name>\n        <version_num>102</version_num>\n        <plan_class>"
            << version.plan_class << "</plan_class>\n        <pfc_n>" << 1000 + draw % 9000 + part_.day
            << "</pfc_n>\n        <pfc_avg>1.5E+15</pfc_avg>\n        <pfc_scale>";
      file->Millionths(scale) << "</pfc_scale>\n        <expavg_credit>";
      file->Millionths((credit_ >> 10) / (v + 1)) << "</expavg_credit>\n        <expavg_time>" << Now() - 600
                                                  << "</expavg_time>\n    </app_version>\n";
    }
    *file << "</app_versions>\n";
    return file->Close();
  }

  Result<TextFile> Open(const std::string& kind) {
    auto file =
        TextFile::Create(directory_ + "/" + kind + (options_.compress ? ".gz" : ".xml"), options_.compress);
    if (file.ok()) *file << "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<" << kind << "s>\n";
    return file;
  }
  Status Done(TextFile& file) {
    report_(unreported_, file.bytes() - reported_bytes_);
    unreported_ = reported_bytes_ = 0;
    return file.Close();
  }
  void Report(const TextFile& file) {
    if (++unreported_ < kReportedRecords) return;
    report_(unreported_, file.bytes() - reported_bytes_);
    reported_bytes_ = file.bytes();
    unreported_ = 0;
  }

  const FederationOptions& options_;
  const FederationPart& part_;
  const std::string& directory_;
  const std::function<void(std::uint64_t, std::uint64_t)>& report_;
  const std::uint64_t world_key_;
  const std::uint64_t user_key_;
  const std::uint64_t host_key_;
  const std::uint64_t team_key_;
  const Shuffle person_;
  const Shuffle team_name_;
  std::vector<TeamSum> teams_;
  std::uint64_t users_ = 0;
  std::uint64_t hosts_ = 0;
  std::uint64_t written_teams_ = 0;
  std::uint64_t credit_ = 0;  // of the users of the file, millionths
  std::uint64_t unreported_ = 0;
  std::uint64_t reported_bytes_ = 0;
};

}  // namespace

Status WriteFederationPart(const FederationPart& part, const std::string& directory,
                           const std::function<void(std::uint64_t, std::uint64_t)>& report) {
  return Part(part, directory, report).Write();
}

}  // namespace cobblestone::traffic
