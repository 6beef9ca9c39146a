#include "common/settings/run_settings.h"

#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <thread>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "common/base/day_text.h"
#include "common/base/host_port.h"
#include "common/settings/registry.h"

namespace cobblestone::settings {
namespace {

constexpr std::size_t kLargestFile = 1u << 20;  // bytes; a configuration file is a few KiB
constexpr std::size_t kMaxErrors = 20;
constexpr std::size_t kMaxProjects = 10000;
constexpr std::size_t kLongestSocketPath = sizeof(sockaddr_un::sun_path) - 1;

// 1-based, as in editors.
struct Place {
  int line = 1;
  int column = 1;
};

Place PlaceOf(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {mark.line + 1, mark.column + 1};
}

// Text of the file for a message: on one line, quoted, shortened to kLongest characters.
std::string Shown(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string out = "\"";
  for (const char c : text.substr(0, kLongest))
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out + (text.size() > kLongest ? "...\"" : "\"");
}

std::string KindOf(const YAML::Node& node) {
  if (node.IsMap()) return "a group of keys";
  if (node.IsSequence()) return "a list";
  if (node.IsNull()) return "nothing";
  return Shown(node.Scalar());
}

// The place of a second document in the text; YAML::Load reads only the first. (YAML::LoadAll never returns
// for ", a", as the fuzzer found.)
std::optional<Place> SecondDocument(std::string_view text) {
  struct Starts : YAML::EventHandler {
    std::optional<Place> last;
    void OnDocumentStart(const YAML::Mark& mark) override { last = PlaceOf(mark); }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
    void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
    void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
    void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                         YAML::EmitterStyle::value) override {}
    void OnSequenceEnd() override {}
    void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                    YAML::EmitterStyle::value) override {}
    void OnMapEnd() override {}
  };
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  Starts starts;
  if (!parser.HandleNextDocument(starts) || !parser.HandleNextDocument(starts)) return std::nullopt;
  return starts.last;
}

// Reads one file once: fills the settings and collects all errors.
class Reader {
 public:
  explicit Reader(std::string_view file_name) : file_name_(file_name) {}

  Result<RunSettings> Read(std::string_view text) {
    if (text.size() > kLargestFile) {
      Error({}, "the file is larger than " + FormatQuantity(Quantity::kBytes, kLargestFile) +
                    "; check that this is a configuration file");
      return Failure();
    }
    try {
      if (const std::optional<Place> second = SecondDocument(text)) {
        Error(*second,
              "a second YAML document starts here and is not read; put all options into one document");
      } else {
        ReadRoot(YAML::Load(std::string(text)));
      }
      if (errors_.empty()) CheckTogether();
      if (errors_.empty()) FillIn();
    } catch (const YAML::Exception& e) {
      Error(PlaceOf(e.mark), "invalid YAML: " + e.msg);
    } catch (const std::exception& e) {
      Error({}, std::string("cannot be read: ") + e.what());
    }
    if (!errors_.empty()) return Failure();
    return std::move(settings_);
  }

 private:
  // Calls `visit` once for each key of a group, with the place of the key and the place of the value (of the
  // key if the value is absent). A key that is not a scalar, or is repeated, is an error.
  template <class F>
  void EachKey(const YAML::Node& map, const std::string& prefix, F&& visit) {
    std::set<std::string> seen;
    for (const auto& entry : map) {
      const Place place = PlaceOf(entry.first.Mark());
      if (!entry.first.IsScalar()) {
        Error(place, "found " + KindOf(entry.first) + " instead of the name of an option");
        continue;
      }
      const std::string& name = entry.first.Scalar();
      if (!seen.insert(name).second) {
        Error(place, prefix + ShownName(name) + ": occurs twice; keep one of them");
        continue;
      }
      visit(name, place, entry.second, entry.second.IsNull() ? place : PlaceOf(entry.second.Mark()));
    }
  }

  void ReadRoot(const YAML::Node& root) {
    if (root.IsNull()) return;
    if (!root.IsMap()) {
      Error(PlaceOf(root.Mark()),
            "found " + KindOf(root) + "; a configuration file must be a list of `option: value` lines");
      return;
    }
    EachKey(root, "", [&](const std::string& name, Place place, const YAML::Node& value, Place at) {
      if (name == kProjectsKey) {
        ReadProjects(value, at);
      } else if (const Option* option = name.find('.') == name.npos ? Find(name) : nullptr) {
        ReadOption(*option, value, at);
      } else if (IsGroup(name)) {
        ReadGroup(name, value, at);
      } else {
        Unknown(place, name, "");
      }
    });
  }

  void ReadGroup(const std::string& group, const YAML::Node& map, Place map_place) {
    if (map.IsNull()) return;  // all lines of the group are commented out
    if (!map.IsMap()) {
      Error(map_place, group + ": found " + KindOf(map) +
                           "; allowed: options of this group, one per line, such as " +
                           std::string(FirstOf(group)));
      return;
    }
    EachKey(map, group + ".", [&](const std::string& name, Place place, const YAML::Node& value, Place at) {
      if (const Option* option = Find(group + "." + name)) {
        ReadOption(*option, value, at);
      } else {
        Unknown(place, name, group);
      }
    });
  }

  void ReadOption(const Option& option, const YAML::Node& value, Place place) {
    const std::string key(option.key);
    given_[key] = place;
    const bool empty_text = value.IsNull() && option.kind == Kind::kText && option.may_be_empty;
    std::string text;
    bool readable = value.IsScalar() || empty_text;
    if ((option.kind == Kind::kSet || option.kind == Kind::kNetworks) && value.IsSequence()) {
      readable = value.size() > 0 || option.kind == Kind::kNetworks;
      for (const YAML::Node& word : value) {
        readable = readable && word.IsScalar();
        if (readable) text += (text.empty() ? "" : ",") + word.Scalar();
      }
    } else if (value.IsScalar()) {
      text = value.Scalar();
    }
    if (!readable) {
      Error(place, key + ": found " + KindOf(value) + "; allowed: " + Allowed(option));
      return;
    }
    const Status set = SetFromText(option, text, settings_);
    if (set.ok()) return;
    std::string units;
    if (option.kind == Kind::kQuantity && option.quantity != Quantity::kCount) {
      units = " (units: " + UnitsOf(option.quantity) + ")";
    }
    Error(place, key + ": found " + Shown(text) + ", which " + set.message() +
                     "; allowed: " + Allowed(option) + units);
  }

  void ReadProjects(const YAML::Node& list, Place list_place) {
    if (list.IsNull()) return;
    if (!list.IsSequence() || list.size() > kMaxProjects) {
      Error(list_place, "projects: found " + KindOf(list) + "; allowed: a list of at most " +
                            std::to_string(kMaxProjects) + " projects such as - {id: 1, name: example}");
      return;
    }
    std::set<ProjectId> ids;
    std::set<std::string> names;
    for (const YAML::Node& entry : list) {
      const Place place = PlaceOf(entry.Mark());
      if (!entry.IsMap()) {
        Error(place, "projects: found " + KindOf(entry) + "; allowed: {id: 1, name: example}");
        continue;
      }
      const std::size_t errors_before = errors_.size() + errors_left_out_;
      ProjectEntry project;
      ReadProject(entry, project);
      if (errors_.size() + errors_left_out_ != errors_before) continue;
      if (!project.id) Error(place, "projects.id: is missing; allowed: a number from 1 to 4294967295");
      if (project.name.empty()) Error(place, "projects.name: is missing; allowed: a text");
      if (project.id && !ids.insert(project.id).second) {
        Error(place, "projects.id: " + std::to_string(project.id.value) +
                         " occurs twice; every project must have its own");
      }
      if (!project.name.empty() && !names.insert(project.name).second) {
        Error(place,
              "projects.name: " + Shown(project.name) + " occurs twice; every project must have its own");
      }
      settings_.projects.push_back(std::move(project));
    }
  }

  static std::string KeyOfProject(std::size_t index, const std::string& name) {
    return "projects[" + std::to_string(index) + "]." + name;
  }
  // Where the first of these settings of a project is.
  Place GivenAtProject(const RunSettings& s, const ProjectEntry& project,
                       std::initializer_list<const char*> names) const {
    const auto index = static_cast<std::size_t>(&project - s.projects.data());
    for (const char* name : names)
      if (const auto found = given_.find(KeyOfProject(index, name)); found != given_.end())
        return found->second;
    return {};
  }

  void ReadProject(const YAML::Node& map, ProjectEntry& project) {
    static constexpr std::string_view kKeys[] = {
        "id",           "name",        "events_per_second", "bytes_per_second",
        "url",          "statistics",  "ownership_key",     "points_per_cobblestone",
        "points_since", "erase_after", "shared_accounts",   "account_manager",
        "fetch_time",   "hub_project"};
    EachKey(map, "projects.", [&](const std::string& name, Place place, const YAML::Node& value, Place at) {
      given_.emplace(KeyOfProject(settings_.projects.size(), name), at);
      given_.emplace("projects." + name, at);  // of the first project that has it
      if (name == "id" || name == "hub_project") {
        const auto id = value.IsScalar() ? ParseQuantity(Quantity::kCount, value.Scalar())
                                         : Result<std::int64_t>(Status::InvalidArgument(""));
        if (!id.ok() || *id < 1 || *id > 0xffffffff) {
          Error(at,
                "projects." + name + ": found " + KindOf(value) + "; allowed: a number from 1 to 4294967295");
        } else if (name == "id") {
          project.id = ProjectId(static_cast<std::uint32_t>(*id));
        } else {
          project.hub_project = ProjectId(static_cast<std::uint32_t>(*id));
        }
      } else if (name == "name") {
        if (!value.IsScalar() || value.Scalar().empty()) {
          Error(at, "projects.name: found " + KindOf(value) + "; allowed: a text");
        } else {
          project.name = value.Scalar();
        }
      } else if (name == "events_per_second" || name == "bytes_per_second") {
        ReadQuota(name, value, at, project);
      } else if (name == "url" || name == "statistics") {
        const std::string text = value.IsScalar() ? value.Scalar() : std::string();
        if (!text.starts_with("http://") && !text.starts_with("https://"))
          Error(at, "projects." + name + ": found " + KindOf(value) + "; allowed: a URL with http or https");
        // The part of the host, behind the scheme.
        if (const std::size_t begin = text.find("//");
            begin != std::string::npos &&
            text.substr(begin + 2, text.find_first_of("/?#", begin + 2) - begin - 2).find('@') !=
                std::string::npos)
          Error(
              at,
              "projects." + name +
                  ": contains a user name or a password; allowed: a URL without them, because everybody sees it");
        (name == "url" ? project.url : project.statistics) = text;
      } else if (name == "shared_accounts") {
        ReadSharedAccounts(value, at, project);
      } else if (name == "ownership_key" || name == "points_per_cobblestone" || name == "points_since" ||
                 name == "account_manager" || name == "erase_after" || name == "fetch_time") {
        ReadFeedFact(name, value, at, project);
      } else {
        UnknownAmong(place, name, "projects.", kKeys);
      }
    });
  }

  // What the hub is to know of a project that the project does not publish.
  void ReadFeedFact(const std::string& name, const YAML::Node& value, Place place, ProjectEntry& project) {
    const std::string text = value.IsScalar() ? value.Scalar() : std::string();
    const auto wrong = [&](const std::string& allowed) {
      Error(place, "projects." + name + ": found " + KindOf(value) + "; allowed: " + allowed);
    };
    if (name == "ownership_key") {
      project.ownership_key = text;
      project.ownership_key_place = PlaceText(place);
      if (text.empty()) wrong("a file with the project's public key (PEM)");
    } else if (name == "points_per_cobblestone") {
      if (!YAML::convert<double>::decode(value, project.points_per_cobblestone) ||
          !(project.points_per_cobblestone >= 1e-9) || project.points_per_cobblestone > 1e9)
        wrong("a number from 1e-9 to 1e9, such as 7");
    } else if (name == "points_since") {
      const auto day = ParseDay(text);
      if (!day || *day <= 0) return wrong("a day in UTC, from 1970-01-02 to 9999-12-31, such as 2026-12-01");
      project.points_since = *day;
    } else if (name == "account_manager") {
      if (!YAML::convert<bool>::decode(value, project.account_manager)) wrong("true or false");
    } else if (name == "fetch_time") {
      const auto duration = ParseQuantity(Quantity::kDuration, text);
      if (!duration.ok() || Duration(*duration) < std::chrono::seconds(1) ||
          Duration(*duration) > std::chrono::hours(24))
        return wrong("a duration from 1 s to 1 d, such as 2 h");
      project.fetch_time = Duration(*duration);
    } else {
      const auto duration = ParseQuantity(Quantity::kDuration, text);
      if (!duration.ok() || Duration(*duration) < std::chrono::hours(24))
        return wrong("a duration from 1 d, such as 30 d");
      project.erase_after = Duration(*duration);
    }
  }

  void ReadSharedAccounts(const YAML::Node& value, Place place, ProjectEntry& project) {
    const auto wrong = [&](Place at, const std::string& found) {
      Error(at, "projects.shared_accounts: found " + found + "; allowed: a list of at most " +
                    std::to_string(kMostSharedAccounts) + " numbers of users, such as [12345], each once");
    };
    if (!value.IsSequence()) return wrong(place, KindOf(value));
    if (value.size() > kMostSharedAccounts) return wrong(place, std::to_string(value.size()) + " numbers");
    std::set<std::uint64_t> users;
    for (const YAML::Node& item : value) {
      const auto user = item.IsScalar() ? ParseQuantity(Quantity::kCount, item.Scalar())
                                        : Result<std::int64_t>(Status::InvalidArgument(""));
      const Place at = item.IsNull() ? place : PlaceOf(item.Mark());
      if (!user.ok() || *user < 1)
        wrong(at, KindOf(item));
      else if (!users.insert(static_cast<std::uint64_t>(*user)).second)
        wrong(at, KindOf(item) + " twice");
    }
    project.shared_accounts.assign(users.begin(), users.end());
  }

  // The same values as for the option of this name in `quota`.
  void ReadQuota(const std::string& name, const YAML::Node& value, Place place, ProjectEntry& project) {
    const Option& option = *Find("quota." + name);
    RunSettings read;
    const Status set = value.IsScalar() ? SetFromText(option, value.Scalar(), read)
                                        : Status::InvalidArgument("is not one value");
    if (!set.ok()) {
      Error(place, "projects." + name + ": found " + KindOf(value) + ", which " + set.message() +
                       "; allowed: " + Allowed(option));
    } else if (name == "events_per_second") {
      project.events_per_second = read.quota.events_per_second;
    } else {
      project.bytes_per_second = read.quota.bytes_per_second;
    }
  }

  // Where a URL leads: a project is the same over http and https, with and without "www." and a slash at the end.
  static std::string PlaceOfUrl(const std::string& url) {
    const std::size_t scheme = url.find("://");
    std::string place = scheme == url.npos ? url : url.substr(scheme + 3);
    while (!place.empty() && place.back() == '/') place.pop_back();
    const std::size_t host = std::min(place.find('/'), place.size());
    std::transform(place.begin(), place.begin() + static_cast<std::ptrdiff_t>(host), place.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return place.starts_with("www.") ? place.substr(4) : place;
  }

  // A project that is collected twice would count twice in the sum of each of its users.
  void CheckUrlsDiffer(const RunSettings& s) {
    const std::pair<const char*, std::string ProjectEntry::*> fields[] = {
        {"url", &ProjectEntry::url}, {"statistics", &ProjectEntry::statistics}};
    for (const auto& [name, field] : fields) {
      std::map<std::string, std::uint64_t> found;  // id by place
      for (const ProjectEntry& project : s.projects) {
        if ((project.*field).empty()) continue;
        const auto [first, is_new] = found.emplace(PlaceOfUrl(project.*field), project.id.value);
        if (!is_new)
          Error(GivenAtProject(s, project, {name}),
                "projects." + std::string(name) + ": " + Shown(project.*field) + " of project " +
                    std::to_string(project.id.value) + " is also that of project " +
                    std::to_string(first->second) +
                    "; a project that is collected twice would count twice in the sums of its users");
      }
    }
  }

  void CheckRole(const RunSettings& s) {
    CheckUrlsDiffer(s);
    if (s.role == Role::kHub && s.order == Order::kLockstep)
      Error(GivenAt({"role", "order"}), "role: hub requires order: arrival, because a hub has no periods");
    if (s.role == Role::kHub && s.kafka.slots == KafkaSlots::kByStage)
      Error(GivenAt({"role", "kafka.slots"}),
            "role: hub requires kafka.slots: together, because a hub has one stage per slot");
    for (const ProjectEntry& project : s.projects) {
      const bool collected = !project.url.empty() || !project.statistics.empty();
      const bool described = !project.ownership_key.empty() || project.points_per_cobblestone > 0 ||
                             project.points_since != 0 || !project.shared_accounts.empty() ||
                             project.account_manager || project.erase_after;
      if (project.points_since != 0 && !(project.points_per_cobblestone > 0))
        Error(
            GivenAtProject(s, project, {"points_since"}),
            "projects.points_since: project " + std::to_string(project.id.value) +
                " has no points_per_cobblestone that could hold from this day on; set it, or remove the day");
      if (s.role != Role::kHub && (collected || described || project.fetch_time))
        Error(
            GivenAtProject(s, project,
                           {"url", "statistics", "ownership_key", "points_per_cobblestone", "points_since",
                            "erase_after", "shared_accounts", "account_manager", "fetch_time"}),
            "projects.url, statistics, ownership_key, points_per_cobblestone, points_since, erase_after, "
            "shared_accounts, account_manager and fetch_time are for role: hub; hub.url names the hub of a pipeline of projects");
      if (s.role == Role::kHub && described && !collected)
        Error(
            GivenAtProject(s, project,
                           {"ownership_key", "points_per_cobblestone", "points_since", "erase_after",
                            "shared_accounts", "account_manager"}),
            "projects: project " + std::to_string(project.id.value) +
                " has ownership_key, points_per_cobblestone, points_since, erase_after, shared_accounts or "
                "account_manager, which `hub collect` sends to the hub, but neither url nor statistics, so it is not collected");
    }
  }

  // Rules across several options.
  void CheckTogether() {
    const auto shown = [](Duration d) { return FormatQuantity(Quantity::kDuration, d.count()); };
    const RunSettings& s = settings_;
    if (s.checkpoint.interval < s.state.flush_interval) {
      Error(GivenAt({"checkpoint.interval", "state.flush_interval"}),
            "checkpoint.interval: " + shown(s.checkpoint.interval) +
                " is shorter than state.flush_interval, " + shown(s.state.flush_interval) +
                ": a checkpoint is a copy of flushed state, so its interval must not be shorter");
    }
    // State older than the start of the log can never catch up. The factor of four leaves time to react: an
    // alarm at a quarter of the retention fires before any harm.
    const Duration oldest = s.checkpoint.interval * static_cast<std::int64_t>(s.checkpoint.keep);
    if (s.retention.inputs_age / 4 < oldest) {
      Error(GivenAt({"retention.inputs_age", "checkpoint.interval", "checkpoint.keep"}),
            "retention.inputs_age: " + shown(s.retention.inputs_age) +
                " is less than 4 x checkpoint.keep x "
                "checkpoint.interval, " +
                shown(4 * oldest) + ": inputs of a state restored from a copy could be missing");
    }
    if (!(s.stages == StageSet{}) && (s.backend != Backend::kKafka || s.kafka.slots != KafkaSlots::kByStage))
      Error(GivenAt({"stages", "kafka.slots", "backend"}),
            "stages: a subset of the stages is only allowed on Kafka with kafka.slots: by_stage");
    if (s.order == Order::kLockstep && s.ticks == Ticks::kWall && s.backend == Backend::kKafka)
      Error(GivenAt({"order", "ticks", "backend"}),
            "order: lockstep on Kafka requires ticks: input, because the ingesting process must "
            "know all events before each tick");
    CheckRole(s);
    CheckGateway(s.gateway);
    CheckHub(s);
    const std::pair<const char*, const std::string*> kafka_names[] = {{"kafka.prefix", &s.kafka.prefix},
                                                                      {"kafka.instance", &s.kafka.instance}};
    for (const auto& [key, name] : kafka_names) {
      const std::string& text = *name;
      if (text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
              text.npos ||
          text.size() > 100)
        Error(GivenAt({key}), std::string(key) + ": found " + Shown(text) +
                                  "; allowed: at most 100 letters, digits, '.', '_' and '-'");
    }
    if (s.kafka.commit_max < s.kafka.commit_min)
      Error(GivenAt({"kafka.commit_max", "kafka.commit_min"}),
            "kafka.commit_max: " + shown(s.kafka.commit_max) + " is shorter than kafka.commit_min, " +
                shown(s.kafka.commit_min));
    const bool sasl =
        s.kafka.security == KafkaSecurity::kSaslPlaintext || s.kafka.security == KafkaSecurity::kSaslSsl;
    if (sasl && (s.kafka.user.empty() || s.kafka.password_file.empty() == s.kafka.password_variable.empty()))
      Error(GivenAt({"kafka.security", "kafka.user"}),
            "kafka.security: SASL requires kafka.user and one of kafka.password_file and "
            "kafka.password_variable");
    if (!s.metrics.listen.empty())
      if (const auto where = ParseHostPort(s.metrics.listen); !where.ok())
        Error(GivenAt({"metrics.listen"}), "metrics.listen: found " + Shown(s.metrics.listen) + ", which " +
                                               where.status().message() +
                                               "; allowed: host:port, such as 127.0.0.1:9464");
    if (SocketOf(s).size() > kLongestSocketPath) {
      Error(GivenAt({"listen.socket", "data_directory"}),
            "listen.socket: " + Shown(SocketOf(s)) + " is longer than the " +
                std::to_string(kLongestSocketPath) +
                " bytes that the system allows for a socket; set listen.socket to a shorter path");
    }
  }

  // What is pushed, to which hub, and with which token belong together.
  void CheckPush(const RunSettings& s) {
    std::set<ProjectId> numbers;
    for (const ProjectEntry& project : s.projects)
      if (project.hub_project && !numbers.insert(*project.hub_project).second)
        Error(GivenAtProject(s, project, {"hub_project"}),
              "projects.hub_project: " + std::to_string(project.hub_project->value) +
                  " occurs twice; the hub has a number for each project");
    if (!numbers.empty() && s.role == Role::kHub)
      Error(GivenAt({"projects.hub_project"}),
            "projects.hub_project is for a pipeline of projects that sends to a hub; role: hub receives");
    if (!numbers.empty() && (s.hub.url.empty() || s.hub.push_token_file.empty()))
      Error(
          GivenAt({"projects.hub_project"}),
          "projects.hub_project needs hub.url and hub.push_token_file: to whom accounts are sent, and with which token");
    if (numbers.empty() && !s.hub.push_token_file.empty())
      Error(GivenAt({"hub.push_token_file"}),
            "hub.push_token_file: no project is sent to the hub; set hub_project of an entry in projects");
    if (!s.hub.push_token_file.empty() && s.hub.url.starts_with("http://") &&
        !IsLoopback(s.hub.url.substr(7)))
      Error(GivenAt({"hub.url", "hub.push_token_file"}),
            "hub.url: a token is sent over https:// only, except to this machine (http://127.0.0.1:PORT)");
  }

  // `place`: HOST:PORT and a path.
  static bool IsLoopback(std::string_view place) {
    const std::string_view host = place.substr(0, place.find_first_of(":/", place.starts_with('[') ? 5 : 0));
    return host == "127.0.0.1" || host == "localhost" || host == "[::1]";
  }

  void CheckHub(const RunSettings& s) {
    CheckPush(s);
    if (s.hub.url.empty()) return;
    const bool plain = s.hub.url.starts_with("http://");
    const std::string_view place =
        std::string_view(s.hub.url).substr(std::min<std::size_t>(s.hub.url.size(), plain ? 7 : 8));
    if ((!plain && !s.hub.url.starts_with("https://")) || place.empty() || place.ends_with('/') ||
        place.find_first_of(" \t?#@") != place.npos)
      Error(GivenAt({"hub.url"}),
            "hub.url: found " + Shown(s.hub.url) +
                "; allowed: http://HOST:PORT or https://HOST, with a path if the hub has one, "
                "without a '/' at the end, user name or query");
    if (s.hub.factors && s.order == Order::kLockstep)
      Error(
          GivenAt({"hub.url", "order"}),
          "hub.url: with order: lockstep only `cobblestone ingest` may send events; set hub.factors: false");
  }

  void CheckGateway(const GatewaySettings& gateway) {
    if (gateway.tls_certificate.empty() != gateway.tls_key.empty())
      Error(GivenAt({"gateway.tls_certificate", "gateway.tls_key"}),
            "gateway.tls_certificate and gateway.tls_key belong together: set both, or none");
    if (gateway.streams >= gateway.connections)
      Error(GivenAt({"gateway.streams", "gateway.connections"}),
            "gateway.streams: " + std::to_string(gateway.streams) + " of " +
                std::to_string(gateway.connections) +
                " gateway.connections leave no connections for requests; use fewer streams");
    if (gateway.listen.empty()) return;
    const std::size_t colon = gateway.listen.rfind(':');
    const std::string_view port =
        std::string_view(gateway.listen).substr(std::min(colon, gateway.listen.size() - 1) + 1);
    const bool number = !port.empty() && port.size() <= 5 &&
                        port.find_first_not_of("0123456789") == port.npos &&
                        std::stoul(std::string(port)) <= 65535;
    if (colon == gateway.listen.npos || colon == 0 || !number)
      Error(GivenAt({"gateway.listen"}), "gateway.listen: found " + Shown(gateway.listen) +
                                             "; allowed: host:port, such as 127.0.0.1:8080 or [::1]:8080");
  }

  void FillIn() {
    if (settings_.threads == 0) settings_.threads = std::max(1u, std::thread::hardware_concurrency());
    settings_.listen.socket = SocketOf(settings_);
    if (settings_.backend == Backend::kKafka && settings_.kafka.instance.empty()) {
      char name[256] = "";
      (void)::gethostname(name, sizeof name - 1);
      settings_.kafka.instance = *name == '\0' ? "worker" : name;
    }
  }

  static std::string SocketOf(const RunSettings& s) {
    return s.listen.socket.empty() ? s.data_directory + "/cobblestone.sock" : s.listen.socket;
  }

  static const Option* Find(std::string_view key) {
    for (const Option& option : Options()) {
      if (option.key == key) return &option;
    }
    return nullptr;
  }

  static bool IsGroup(std::string_view name) { return !FirstOf(name).empty(); }

  // First option of a group.
  static std::string_view FirstOf(std::string_view group) {
    for (const Option& option : Options()) {
      if (option.key.size() > group.size() && option.key.starts_with(group) &&
          option.key[group.size()] == '.') {
        return option.key;
      }
    }
    return {};
  }

  // Names that are allowed in `group` (empty: at the top level).
  static std::vector<std::string_view> NamesIn(std::string_view group) {
    std::vector<std::string_view> names;
    for (const Option& option : Options()) {
      const std::size_t dot = option.key.find('.');
      if (group.empty()) {
        names.push_back(option.key.substr(0, dot));
      } else if (option.key.substr(0, dot) == group && dot != std::string_view::npos) {
        names.push_back(option.key.substr(dot + 1));
      }
    }
    if (group.empty()) names.push_back(kProjectsKey);
    return names;
  }

  void Unknown(Place place, const std::string& name, const std::string& group) {
    const std::string prefix = group.empty() ? "" : group + ".";
    // The right name in the wrong group is the more common error: `interval` at the top level,
    // `flush_interval` in commit.
    std::string elsewhere;
    for (const Option& option : Options()) {
      const std::size_t dot = option.key.find('.');
      if (option.key == name || (dot != std::string_view::npos && option.key.substr(dot + 1) == name)) {
        elsewhere += (elsewhere.empty() ? "" : " or ") + std::string(option.key);
      }
    }
    if (!elsewhere.empty()) {
      Error(place, prefix + ShownName(name) + ": unknown option here; did you mean " + elsewhere + "?");
      return;
    }
    UnknownAmong(place, name, prefix, NamesIn(group));
  }

  void UnknownAmong(Place place, const std::string& name, const std::string& prefix,
                    std::span<const std::string_view> known) {
    const std::string_view near = Nearest(name, known);
    std::string message = prefix + ShownName(name) + ": unknown option";
    if (!near.empty()) {
      message += "; did you mean " + prefix + std::string(near) + "?";
    } else {
      message += "; allowed here: ";
      std::string_view last;
      for (const std::string_view one : known) {
        if (one == last) continue;  // the name of a group repeats for each of its options
        message += (last.empty() ? "" : ", ") + std::string(one);
        last = one;
      }
    }
    Error(place, message);
  }

  static std::string ShownName(const std::string& name) {
    const std::string shown = Shown(name);
    return shown.substr(1, shown.size() - 2);
  }

  // The place of the first of the keys that is in the file.
  Place GivenAt(std::initializer_list<std::string_view> keys) const {
    for (const std::string_view key : keys) {
      if (const auto found = given_.find(key); found != given_.end()) return found->second;
    }
    return {};
  }

  void Error(Place place, const std::string& what) {
    if (errors_.size() == kMaxErrors) {
      ++errors_left_out_;
      return;
    }
    errors_.push_back(PlaceText(place) + ": " + what);
  }
  [[nodiscard]] std::string PlaceText(Place place) const {
    return file_name_ + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
  }

  Status Failure() const {
    std::string all;
    for (const std::string& error : errors_) all += (all.empty() ? "" : "\n") + error;
    if (errors_left_out_ != 0)
      all += "\n" + file_name_ + ": and " + std::to_string(errors_left_out_) + " more";
    return Status::InvalidArgument(all);
  }

  const std::string file_name_;
  RunSettings settings_;
  std::map<std::string, Place, std::less<>> given_;
  std::vector<std::string> errors_;
  std::size_t errors_left_out_ = 0;
};

}  // namespace

Result<RunSettings> ParseRunSettings(std::string_view text, std::string_view file_name) {
  return Reader(file_name).Read(text);
}

Result<RunSettings> LoadRunSettings(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int error = errno;
    const std::string why = "cannot open the configuration file " + path + ": " + std::strerror(error) +
                            ". Set its path with --config";
    return error == ENOENT ? Status::NotFound(why) : Status::InvalidArgument(why);
  }
  // One byte more than allowed shows that the file is too large; /dev/zero has no end.
  std::string text(kLargestFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return Status::InvalidArgument("cannot read the configuration file " + path);
  text.resize(static_cast<std::size_t>(file.gcount()));
  return ParseRunSettings(text, path);
}

std::string_view KindOf(const RunSettings& settings) {
  if (settings.role == Role::kHub) return kHubKind;
  return settings.order == Order::kLockstep ? kLockstepKind : kArrivalKind;
}

std::string OtherKind(const std::string& place, std::string_view made, std::string_view configured,
                      std::string_view instead) {
  const auto option = [](std::string_view kind) {
    return kind == kHubKind ? std::string("`role: hub`") : "`order: " + std::string(kind) + "`";
  };
  return place + " created with " + option(made) + ", but the configuration has " + std::string(configured) +
         "; this cannot be changed: restore the old value, or use " + std::string(instead);
}

}  // namespace cobblestone::settings
