#include "services/lab/attack_file.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <yaml-cpp/yaml.h>

namespace cobblestone::lab {
namespace {

using fleet::ClaimChannel;
using fleet::ClaimPattern;
using fleet::NewIdentity;
using fleet::Unwanted;

constexpr std::size_t kLargestFile = 1u << 16;  // bytes
constexpr std::uint32_t kMostJobs = 1'000'000;

const std::map<std::string, ClaimPattern> kPatterns = {{"honest", ClaimPattern::kHonest},
                                                       {"constant", ClaimPattern::kConstant},
                                                       {"ramp", ClaimPattern::kRamp},
                                                       {"sawtooth", ClaimPattern::kSawtooth},
                                                       {"spike", ClaimPattern::kSpike},
                                                       {"sandbag", ClaimPattern::kSandbag},
                                                       {"volatility", ClaimPattern::kVolatility},
                                                       {"estimate", ClaimPattern::kEstimate}};
const std::map<std::string, ClaimChannel> kChannels = {{"time", ClaimChannel::kTime},
                                                       {"benchmark", ClaimChannel::kBenchmark}};
const std::map<std::string, NewIdentity> kIdentities = {{"host", NewIdentity::kHost},
                                                        {"account", NewIdentity::kAccount}};
const std::map<std::string, Unwanted> kAborts = {{"user", Unwanted::kAbortedByUser},
                                                 {"project", Unwanted::kAbortedByProject},
                                                 {"never", Unwanted::kWithheld},
                                                 {"detach", Unwanted::kDetached}};
const std::map<std::string, bool> kSwitch = {{"no", false}, {"yes", true}, {"false", false}, {"true", true}};

class AttackReader {
 public:
  explicit AttackReader(const std::string& file_name) : file_name_(file_name) {}

  Result<NamedAttack> Read(std::string_view text) {
    try {
      const YAML::Node root = YAML::Load(std::string(text));
      EachKey(
          root, [&](const std::string& key, const YAML::Node& value) { return Root(key, value); },
          "id, name, share, start, claim, benchmark, anonymous, fabricate, fabricate_share, build, keep_share, abort, "
          "fail_every, late_every, one_account, rehome, repeat, identities, versions, trickles, "
          "reports");
      if (errors_.empty() && attack_.attack.one_account &&
          attack_.attack.identity == fleet::NewIdentity::kAccount)
        Error(root.Mark(), "one_account cannot be combined with new accounts");
      if (errors_.empty() && (attack_.id.empty() || attack_.name.empty()))
        Error(root.Mark(), "an attack needs `id` and `name`");
    } catch (const YAML::Exception& e) {
      Error(e.mark, "invalid YAML: " + e.msg);
    } catch (const std::exception& e) {
      Error(YAML::Mark::null_mark(), std::string("cannot be read: ") + e.what());
    }
    if (errors_.empty() && attack_.attack.rehome && attack_.attack.recycle_every > 0)
      Error(YAML::Mark::null_mark(), "rehome and identities cannot be combined");
    if (errors_.empty()) return attack_;
    return Status::InvalidArgument(errors_);
  }

 private:
  void Error(const YAML::Mark& mark, const std::string& what) {
    const bool known = !mark.is_null();
    errors_ += (errors_.empty() ? "" : "\n") + file_name_ + ":" + std::to_string(known ? mark.line + 1 : 1) +
               ":" + std::to_string(known ? mark.column + 1 : 1) + ": " + what;
  }

  // `take` returns false for a key that it does not know.
  template <class F>
  void EachKey(const YAML::Node& node, F&& take, const std::string& allowed) {
    if (!node.IsMap()) return Error(node.Mark(), "must be a group of " + allowed);
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (!seen.insert(key).second) {
        Error(entry.first.Mark(), "'" + key + "' occurs twice; keep one of them");
      } else if (!take(key, entry.second)) {
        Error(entry.first.Mark(), "unknown key '" + key + "'; allowed: " + allowed);
      }
    }
  }

  bool Root(const std::string& key, const YAML::Node& value) {
    fleet::Attack& attack = attack_.attack;
    if (key == "id") return Text(key, value, &attack_.id);
    if (key == "name") return Text(key, value, &attack_.name);
    if (key == "share") return Number(key, value, 1e-6, 10, &attack_.share);
    if (key == "start") return Count(key, value, 0, &attack.start);
    if (key == "benchmark") return Number(key, value, 1e6, 1e15, &attack.benchmark);
    if (key == "fabricate") return Word(key, value, kSwitch, &attack.fabricate);
    if (key == "fabricate_share") return Number(key, value, 0.001, 1, &attack.fabricate_share);
    if (key == "build") return Count(key, value, 0, &attack.build);
    if (key == "anonymous") return Word(key, value, kSwitch, &attack.anonymous);
    if (key == "one_account") return Word(key, value, kSwitch, &attack.one_account);
    if (key == "rehome") return Word(key, value, kSwitch, &attack.rehome);
    if (key == "trickles") {
      attack_.trickles = true;
      return Count(key, value, 0, 20, &attack.trickles);
    }
    if (key == "reports") {
      attack_.reports = true;
      return Number(key, value, 1, 1e6, &attack.reports);
    }
    if (key == "late_every") return Count(key, value, 1, &attack.late_every);
    if (key == "repeat") return Count(key, value, 1, &attack.repeat);
    if (key == "keep_share") return Number(key, value, 0.001, 1, &attack.keep_share);
    if (key == "abort") return Word(key, value, kAborts, &attack.unwanted);
    if (key == "fail_every") return Count(key, value, 2, &attack.fail_every);
    if (key == "claim") {
      EachKey(
          value, [&](const std::string& k, const YAML::Node& v) { return Claim(k, v); },
          "pattern, channel, factor, growth, period, first_jobs");
      return true;
    }
    if (key == "identities") {
      EachKey(
          value,
          [&](const std::string& k, const YAML::Node& v) {
            if (k == "every") return Count("identities.every", v, 1, &attack.recycle_every);
            if (k == "new") return Word("identities.new", v, kIdentities, &attack.identity);
            return false;
          },
          "every, new");
      return true;
    }
    if (key == "versions") {
      EachKey(
          value,
          [&](const std::string& k, const YAML::Node& v) {
            if (k == "count") return Count("versions.count", v, 2, 100, &attack_.versions);
            if (k == "every") return Count("versions.every", v, 1, kMostJobs, &attack.version_every);
            return false;
          },
          "count, every");
      return true;
    }
    return false;
  }

  bool Claim(const std::string& key, const YAML::Node& value) {
    fleet::Attack& attack = attack_.attack;
    if (key == "pattern") return Word("claim.pattern", value, kPatterns, &attack.pattern);
    if (key == "channel") return Word("claim.channel", value, kChannels, &attack.channel);
    if (key == "factor") return Number("claim.factor", value, 1e-6, 1e9, &attack.factor);
    if (key == "growth") return Number("claim.growth", value, 1, 10, &attack.growth);
    if (key == "period") return Count("claim.period", value, 1, &attack.period);
    if (key == "first_jobs") return Count("claim.first_jobs", value, 1, &attack.first_jobs);
    return false;
  }

  bool Text(const std::string& key, const YAML::Node& value, std::string* text) {
    if (value.IsScalar() && !value.Scalar().empty()) {
      *text = value.Scalar();
    } else {
      Error(value.Mark(), key + ": must be a text");
    }
    return true;
  }

  bool Number(const std::string& key, const YAML::Node& value, double least, double most, double* number) {
    double read = 0;
    if (value.IsScalar() && YAML::convert<double>::decode(value, read) && read >= least && read <= most) {
      *number = read;
    } else {
      char range[64];
      std::snprintf(range, sizeof range, "from %g to %g", least, most);
      Error(value.Mark(), key + ": " + Found(value) + "; it must be a number " + range);
    }
    return true;
  }

  bool Count(const std::string& key, const YAML::Node& value, std::uint32_t least, std::uint32_t* count) {
    return Count(key, value, least, kMostJobs, count);
  }

  bool Count(const std::string& key, const YAML::Node& value, std::uint32_t least, std::uint32_t most,
             std::uint32_t* count) {
    std::uint32_t read = 0;
    if (value.IsScalar() && YAML::convert<std::uint32_t>::decode(value, read) && read >= least &&
        read <= most) {
      *count = read;
    } else {
      Error(value.Mark(), key + ": " + Found(value) + "; it must be a whole number from " +
                              std::to_string(least) + " to " + std::to_string(most));
    }
    return true;
  }

  template <class T>
  bool Word(const std::string& key, const YAML::Node& value, const std::map<std::string, T>& words, T* word) {
    const auto found = words.find(value.IsScalar() ? value.Scalar() : "");
    if (found != words.end()) {
      *word = found->second;
      return true;
    }
    std::string all;
    for (const auto& [name, unused] : words) all += (all.empty() ? "" : ", ") + name;
    Error(value.Mark(), key + ": " + Found(value) + "; it must be one of " + all);
    return true;
  }

  static std::string Found(const YAML::Node& value) {
    return value.IsScalar() ? "'" + value.Scalar() + "'" : std::string("is not a single value");
  }

  const std::string& file_name_;
  NamedAttack attack_;
  std::string errors_;
};

}  // namespace

Result<NamedAttack> ParseAttack(const std::string& file_name, std::string_view text) {
  return AttackReader(file_name).Read(text);
}

Result<std::vector<NamedAttack>> ReadAttacks(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code problem;
    if (!std::filesystem::is_directory(path, problem)) {
      files.push_back(path);
      continue;
    }
    const std::size_t before = files.size();
    for (const auto& entry : std::filesystem::directory_iterator(path, problem))
      if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
    if (problem) return Status::InvalidArgument("cannot list " + path + ": " + problem.message());
    if (files.size() == before)
      return Status::InvalidArgument(path + " contains no attack; an attack is a file with the ending .yaml");
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  }
  std::vector<NamedAttack> attacks;
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) return Status::NotFound("cannot read " + file + "; name a file or directory of attacks");
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (text.size() > kLargestFile) return Status::InvalidArgument(file + " is too large for an attack");
    auto attack = ParseAttack(file, text);
    if (!attack.ok()) return attack.status();
    for (const NamedAttack& other : attacks)
      if (other.id == attack->id)
        return Status::InvalidArgument(file + ": another attack has the id '" + other.id + "', too");
    attacks.push_back(*std::move(attack));
  }
  return attacks;
}

}  // namespace cobblestone::lab
