#include "tests/layering/rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <ostream>
#include <regex>
#include <set>
#include <string_view>

#include "tests/layering/phrases.h"

namespace cobblestone::layering {
namespace {

using Names = std::vector<std::string_view>;

// ---- The tables -------------------------------------------------------------------------------------------

// A layer is a folder with all its subfolders that are not layers themselves. A layer may include itself and the
// listed layers.
struct Layer {
  std::string_view folder;
  Names may_include;
};

const std::vector<Layer>& Layers() {
  static const Names kStage = {"common/base", "common/credit", "common/wire", "common/stream",
                               "services/stage"};
  static const std::vector<Layer> kLayers = {
      {"common/base", {}},
      {"common/credit", {"common/base"}},
      {"common/federation", {"common/base", "common/credit"}},
      // Topics, partitions and the description of a refused record are types of the runtime.
      {"common/wire", {"common/base", "common/credit", "common/stream"}},
      {"common/store", {"common/base"}},
      {"common/store/rocksdb", {"common/base", "common/store"}},
      {"common/stream", {"common/base", "common/store"}},
      {"common/stream/runtime", {"common/base", "common/store", "common/stream"}},
      {"common/stream/index", {"common/base", "common/store", "common/store/rocksdb", "common/stream"}},
      {"common/stream/embedded",
       {"common/base", "common/store", "common/store/rocksdb", "common/stream", "common/stream/runtime",
        "common/stream/index"}},
      {"common/stream/kafka",
       {"common/base", "common/store", "common/store/rocksdb", "common/stream", "common/stream/runtime"}},
      // The only folder that uses librdkafka. The code above it sees only the interface in transport.h.
      {"common/stream/kafka/librdkafka",
       {"common/base", "common/stream", "common/stream/runtime", "common/stream/kafka"}},
      {"common/sim",
       {"common/base", "common/store", "common/stream", "common/stream/runtime", "common/stream/kafka"}},
      {"common/settings", {"common/base", "common/credit"}},
      {"common/http", {"common/base"}},
      {"common/federation/identity", {"common/base"}},
      {"common/workfetch", {"common/base"}},
      {"common/client", {"common/base", "common/wire", "common/stream", "common/stream/kafka"}},
      {"services/stage", {"common/base", "common/credit", "common/wire", "common/stream"}},
      {"services/claims", kStage},
      {"services/grants", kStage},
      {"services/accounts", kStage},
      {"services/teams", kStage},
      {"services/coordinator", kStage},
      {"services/feeds",
       {"common/base", "common/credit", "common/federation", "common/federation/identity", "common/wire",
        "common/stream", "services/stage"}},
      {"services/identity", {"common/base", "common/federation/identity", "common/wire", "common/stream"}},
      {"services/members",
       {"common/base", "common/credit", "common/federation/identity", "common/wire", "common/stream",
        "services/stage"}},
      {"services/boinc", {"common/base", "common/credit", "common/wire"}},
      {"services/export", {"common/base"}},
      // Files and answers of other projects, as values: no stage, no backend, no gateway.
      {"services/hub/feeds", {"common/base", "common/credit", "common/federation", "common/stream"}},
      {"services/hub/snapshot", {"common/base"}},
      {"services/hub/publish",
       {"common/base", "common/credit", "common/federation/identity", "common/stream", "common/wire",
        "services/stage", "services/feeds", "services/identity", "services/members", "services/view",
        "services/export", "services/hub/feeds", "services/hub/snapshot"}},
      {"services/hub/collector",
       {"common/base", "common/credit", "common/federation", "common/stream", "common/wire",
        "services/hub/feeds"}},
      {"services/view",
       {"common/base", "common/credit", "common/federation", "common/federation/identity", "common/wire",
        "common/store", "common/stream", "common/stream/runtime", "services/stage", "services/claims",
        "services/accounts", "services/teams", "services/coordinator", "services/feeds", "services/identity",
        "services/members"}},
      {"services/gateway", {"common/base", "common/http", "common/settings", "common/wire", "services/view"}},
      {"services/metrics", {"common/base", "common/credit", "common/http", "common/wire", "common/stream"}},
      {"services/pipeline",
       {"common/base", "common/credit", "common/wire", "common/settings", "common/stream",
        "common/stream/runtime", "services/boinc", "services/stage", "services/claims", "services/grants",
        "services/accounts", "services/teams", "services/coordinator", "services/feeds", "services/identity",
        "services/members"}},
      {"services/intake",
       {"common/base", "common/settings", "common/wire", "common/stream", "services/pipeline"}},
      {"services/events",
       {"common/base", "common/credit", "common/settings", "common/wire", "common/stream", "services/boinc",
        "services/pipeline"}},
      {"services/traffic",
       {"common/base", "common/credit", "common/wire", "common/stream", "services/events",
        "services/pipeline"}},
      {"services/fleet", {"common/base", "common/credit", "common/wire", "common/workfetch"}},
      {"services/replay",
       {"common/base", "common/credit", "common/wire", "common/store", "common/stream",
        "common/stream/runtime", "services/stage", "services/claims", "services/grants", "services/accounts",
        "services/teams", "services/coordinator", "services/events", "services/pipeline"}},
      {"services/lab",
       {"common/base", "common/credit", "common/wire", "services/fleet", "services/pipeline",
        "services/replay", "services/history"}},
      {"services/ledger",
       {"common/base", "common/credit", "common/wire", "common/store", "common/stream", "common/stream/index",
        "services/stage", "services/accounts", "services/teams", "services/view"}},
      {"services/corrections",
       {"common/base", "common/credit", "common/wire", "common/stream", "common/stream/index",
        "services/stage", "services/ledger", "services/view"}},
      {"services/embedded", {"common", "services"}},
      {"services/audit",
       {"common/base", "common/credit", "common/wire", "common/stream", "common/stream/index",
        "services/stage", "services/claims", "services/grants", "services/accounts", "services/teams",
        "services/coordinator", "services/view", "services/ledger", "services/corrections",
        "services/export"}},
      {"services/history",
       {"common/base", "common/credit", "common/wire", "common/stream", "common/stream/index",
        "services/stage", "services/claims", "services/view", "services/ledger", "services/audit",
        "services/events"}},
      {"services/kafka", {"common", "services"}},
      {"services/adoption", {"common", "services"}},
      {"services/export/state",
       {"common/base", "common/credit", "common/wire", "common/stream", "services/claims",
        "services/accounts", "services/teams", "services/coordinator", "services/view", "services/ledger",
        "services/export"}},
      {"services/workfetch", {"common/base", "common/workfetch"}},
      {"services/cli", {"common", "services"}},
      {"services/access", {"common", "services"}},
      {"services/factors",
       {"common/base", "common/credit", "common/federation", "common/settings", "common/wire",
        "common/stream", "services/stage", "services/coordinator", "services/view", "services/gateway",
        "services/metrics"}},
      {"services/hub/push",
       {"common/base", "common/credit", "common/federation", "common/settings", "common/stream",
        "common/wire", "services/view", "services/gateway", "services/metrics", "services/export",
        "services/export/state", "services/hub/feeds", "services/hub/collector"}},
      {"services/backup", {"common", "services"}},
      {"services/commands", {"common", "services"}},
      {"services/cobblestone", {"common", "services"}},
      // Code for others to copy. It includes nothing of this project.
      {"examples", {}},
      {"tests", {"common", "services", "examples"}},
  };
  return kLayers;
}

// System libraries that only some folders may use. The folders are prefixes: tests/unit/wire_ means all files
// whose paths start with it.
struct Confined {
  std::string_view what;
  std::string_view header;      // regular expression on the path that is included
  std::string_view dependency;  // the name to link
  Names allowed;
};

const std::vector<Confined>& ConfinedLibraries() {
  static const std::vector<Confined> kConfined = {
      {"librdkafka",
       "(librdkafka/.*|rdkafka.*\\.h)",
       "deps::rdkafka",
       {"common/stream/kafka/librdkafka/", "tests/bench/", "examples/cpp/"}},
      {"RocksDB",
       "rocksdb/.*",
       "deps::rocksdb",
       {"common/store/rocksdb/", "common/stream/embedded/", "common/stream/index/", "tests/"}},
      {"yaml-cpp", "yaml-cpp/.*", "deps::yaml", {"common/settings/", "services/lab/"}},
      {"prometheus-cpp", "prometheus/.*", "deps::prometheus", {"services/metrics/"}},
      {"Boost", "boost/.*", "deps::asio", {"common/http/", "tests/fuzz/"}},
      {"simdjson", "simdjson\\.h", "deps::simdjson", {"common/wire/"}},
      {"libcurl",
       "curl/.*",
       "deps::curl",
       {"services/factors/", "services/hub/feeds/", "services/hub/push/"}},
      // A client for tests, and for examples that schedulers copy.
      {"cpp-httplib", "httplib\\.h", "deps::httplib", {"tests/", "examples/"}},
      {"generated protobuf",
       "(.*\\.pb\\.h|google/protobuf/.*)",
       "cobblestone::schemas",
       {"common/wire/", "tests/fuzz/", "tests/unit/wire_", "tests/unit/wire/", "tests/unit/schema_",
        "tests/unit/schemas/", "tests/support/oracle", "examples/cpp/", "tools/"}},
  };
  return kConfined;
}

// Backends of an interface. Code that names a backend decides how the program is deployed.
const Names kBackends = {"common/store/rocksdb", "common/stream/embedded", "common/stream/kafka"};
// The programs of projects use Kafka directly, and a simulation replaces Kafka.
const Names kMayNameBackends = {
    "services/cobblestone", "services/commands",  "services/access", "services/backup",
    "services/embedded",    "services/kafka",     "tests",           "common/client",
    "common/sim",           "common/stream/index"};

// The folders whose results must have the same bits on every machine and in every re-execution.
const Names kStateCode = {"common/credit",   "common/federation", "services/stage",   "services/claims",
                          "services/grants", "services/accounts", "services/teams",   "services/coordinator",
                          "services/feeds",  "services/identity", "services/members", "common/workfetch"};

const std::set<std::string_view> kImpureHeaders = {
    "atomic",  "chrono",    "condition_variable", "cstdio",   "ctime",   "fcntl.h",    "filesystem",
    "fstream", "future",    "iostream",           "mutex",    "netdb.h", "poll.h",     "pthread.h",
    "random",  "semaphore", "shared_mutex",       "signal.h", "stdio.h", "stop_token", "syncstream",
    "thread",  "time.h",    "unistd.h",           "latch",    "barrier"};

constexpr std::string_view kImpureHeaderPattern = "(sys/|net/|arpa/|netinet/|spdlog/|CLI/|httplib).*";
constexpr std::string_view kImpureCallPattern =
    R"((\b(system_clock|steady_clock|high_resolution_clock|random_device|clock_gettime|gettimeofday|getenv)\b)"
    R"(|(^|[^\w.>])(std::|::)?(time|clock|rand|srand)\s*\())";

// All functions of libm whose last bit differs between CPUs or versions of glibc, with the variants of float and long
// double. Not sqrt, fma and the rounding functions: IEEE 754 defines every bit of their results.
constexpr std::string_view kLibmNames =
    "(exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|cbrt|hypot|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|erf|"
    "erfc|tgamma|lgamma)[fl]?";

// ---- Helpers ----------------------------------------------------------------------------------------------

const Layer* LayerOf(std::string_view path) {
  const Layer* best = nullptr;
  for (const Layer& layer : Layers()) {
    if (IsWithin(path, layer.folder) && (!best || layer.folder.size() > best->folder.size())) best = &layer;
  }
  return best;
}

bool WithinAny(std::string_view path, const Names& folders) {
  return std::any_of(folders.begin(), folders.end(), [&](std::string_view f) { return IsWithin(path, f); });
}

bool StartsWithAny(std::string_view path, const Names& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view p) { return path.starts_with(p); });
}

bool IsCxx(std::string_view path) { return path.ends_with(".cc") || path.ends_with(".h"); }

std::string Join(const Names& names) {
  std::string joined;
  for (const std::string_view name : names) joined += (joined.empty() ? "" : ", ") + std::string(name);
  return joined.empty() ? "nothing" : joined;
}

std::string At(const std::string& path, int line) { return path + ":" + std::to_string(line); }

std::string CMakeListsOf(const std::string& folder) {
  return folder.empty() ? "CMakeLists.txt" : folder + "/CMakeLists.txt";
}

// True if a file of layer `from` may use the files of `target`. "common" in the table means all layers below it.
bool MayUse(const Layer& from, const Layer& target) {
  if (&from == &target) return true;
  return std::any_of(from.may_include.begin(), from.may_include.end(), [&](std::string_view allowed) {
    return target.folder == allowed ||
           ((allowed == "common" || allowed == "services") && IsWithin(target.folder, allowed));
  });
}

// All lines with the pattern in the code of the files that `wanted` selects.
template <typename Wanted, typename Report>
void Search(const Tree& tree, const std::string& pattern, Wanted wanted, Report report) {
  const std::regex expression(pattern);
  for (const auto& [path, file] : tree.sources) {
    if (!IsCxx(path) || !wanted(path)) continue;
    int last_line = 0;
    for (std::sregex_iterator hit(file.code.begin(), file.code.end(), expression), end; hit != end; ++hit) {
      const int line = LineOf(file.code, static_cast<size_t>(hit->position() + hit->length() - 1));
      if (line != last_line) report(path, line, *hit);
      last_line = line;
    }
  }
}

// The folder of each library that a CMakeLists.txt defines, by the name for linking.
std::map<std::string, std::string> LibraryFolders(const Tree& tree) {
  std::map<std::string, std::string> folders;
  for (const auto& [folder, calls] : tree.cmake) {
    for (const CMakeCall& call : calls) {
      if (call.name != "cobblestone_library") continue;
      for (size_t i = 0; i + 1 < call.arguments.size(); ++i) {
        if (call.arguments[i] == "NAME") folders["cobblestone::" + call.arguments[i + 1]] = folder;
      }
    }
  }
  return folders;
}

// True if a call with one of these names, in the folder of the file or above, lists the file. Without names every
// call counts.
bool Listed(const Tree& tree, const std::string& path, const std::set<std::string_view>& functions = {}) {
  for (std::string folder = FolderOf(path);; folder = FolderOf(folder)) {
    const auto calls = tree.cmake.find(folder);
    if (calls != tree.cmake.end()) {
      const std::string relative = folder.empty() ? path : path.substr(folder.size() + 1);
      for (const CMakeCall& call : calls->second) {
        if (!functions.empty() && !functions.contains(call.name)) continue;
        const auto& arguments = call.arguments;
        if (std::find(arguments.begin(), arguments.end(), relative) != arguments.end()) return true;
      }
    }
    if (folder.empty()) return false;
  }
}

// ---- The rules --------------------------------------------------------------------------------------------

std::vector<Finding> UnknownFolder(const Tree& tree) {
  std::vector<Finding> findings;
  for (const auto& [path, file] : tree.sources) {
    if (IsCxx(path) && !LayerOf(path)) {
      findings.push_back(
          {"unknown-folder", path,
           "its folder is no layer; give it a line in the table of tests/layering/rules.cc, or "
           "put the file where it belongs"});
    }
  }
  return findings;
}

std::vector<Finding> IncludeDirection(const Tree& tree) {
  std::vector<Finding> findings;
  for (const auto& [path, file] : tree.sources) {
    const Layer* from = LayerOf(path);
    if (!from) continue;
    for (const Include& include : file.includes) {
      const Layer* target = LayerOf(include.path);
      if (!target || MayUse(*from, *target)) continue;
      findings.push_back({"include-direction", At(path, include.line),
                          std::string(from->folder) + " must not include " + include.path +
                              "; it may include " + Join(from->may_include)});
    }
  }
  return findings;
}

std::vector<Finding> IncludeExists(const Tree& tree) {
  std::vector<Finding> findings;
  for (const auto& [path, file] : tree.sources) {
    if (!IsCxx(path)) continue;
    for (const Include& include : file.includes) {
      const bool generated = include.path.ends_with(".pb.h");
      const bool in_tree = tree.sources.contains(include.path) || generated;
      if (include.quoted && !in_tree) {
        findings.push_back({"include-exists", At(path, include.line),
                            "\"" + include.path +
                                "\" is no file of the tree; quoted paths start at the root of the "
                                "tree, paths of libraries are written in <>"});
      } else if (!include.quoted && in_tree && !include.path.starts_with("google/")) {
        findings.push_back({"include-exists", At(path, include.line),
                            "<" + include.path + "> is a file of the tree: quote it"});
      }
    }
  }
  return findings;
}

std::vector<Finding> LinkDirection(const Tree& tree) {
  std::vector<Finding> findings;
  const auto folders = LibraryFolders(tree);
  for (const auto& [folder, calls] : tree.cmake) {
    const Layer* from = LayerOf(folder);
    if (!from || IsWithin(folder, "tests")) continue;
    for (const CMakeCall& call : calls) {
      for (const std::string& argument : call.arguments) {
        const auto target = folders.find(argument);
        const Layer* target_layer = target == folders.end() ? nullptr : LayerOf(target->second);
        if (target_layer && !MayUse(*from, *target_layer)) {
          findings.push_back({"link-direction", At(CMakeListsOf(folder), call.line),
                              std::string(from->folder) + " must not link " + argument + "; it may use " +
                                  Join(from->may_include)});
        }
        for (const Confined& library : ConfinedLibraries()) {
          if (argument != library.dependency || StartsWithAny(folder + "/", library.allowed)) continue;
          findings.push_back({"link-direction", At(CMakeListsOf(folder), call.line),
                              argument + " may be linked only by " + Join(library.allowed)});
        }
      }
    }
  }
  return findings;
}

std::vector<Finding> ConfinedLibrary(const Tree& tree) {
  std::vector<Finding> findings;
  for (const Confined& library : ConfinedLibraries()) {
    const std::regex header{std::string(library.header)};
    for (const auto& [path, file] : tree.sources) {
      if (StartsWithAny(path, library.allowed)) continue;
      for (const Include& include : file.includes) {
        if (!std::regex_match(include.path, header)) continue;
        findings.push_back({"confined-library", At(path, include.line),
                            std::string(library.what) + " (" + include.path + ") may be included only in " +
                                Join(library.allowed)});
      }
    }
  }
  return findings;
}

std::vector<Finding> BackendNamed(const Tree& tree) {
  std::vector<Finding> findings;
  for (const auto& [path, file] : tree.sources) {
    if (WithinAny(path, kMayNameBackends) || WithinAny(path, kBackends)) continue;
    for (const Include& include : file.includes) {
      if (!WithinAny(include.path, kBackends)) continue;
      findings.push_back({"backend-named", At(path, include.line),
                          include.path + " is a backend; use the seam above it, only " +
                              Join(kMayNameBackends) + " choose backends"});
    }
  }
  return findings;
}

std::vector<Finding> StateCodeIsPure(const Tree& tree) {
  std::vector<Finding> findings;
  const std::string remedy =
      ": a decision depends only on its inputs; pass the time, the number or the text as an argument";
  const std::regex pattern{std::string(kImpureHeaderPattern)};
  for (const auto& [path, file] : tree.sources) {
    if (!WithinAny(path, kStateCode)) continue;
    for (const Include& include : file.includes) {
      if (!kImpureHeaders.contains(include.path) && !std::regex_match(include.path, pattern)) continue;
      findings.push_back({"pure-state-code", At(path, include.line), "<" + include.path + ">" + remedy});
    }
  }
  Search(
      tree, std::string(kImpureCallPattern),
      [](const std::string& path) { return WithinAny(path, kStateCode); },
      [&](const std::string& path, int line, const std::smatch& hit) {
        findings.push_back({"pure-state-code", At(path, line), "'" + hit.str() + "'" + remedy});
      });
  return findings;
}

std::vector<Finding> LibmInStateCode(const Tree& tree) {
  std::vector<Finding> findings;
  const std::string names(kLibmNames);
  // std::exp in any use; exp( and ::exp( but not x.exp(, x->exp( or other::exp(; the compiler's builtins.
  const std::string pattern =
      "(\\bstd::" + names + "\\b)|((^|[^\\w.:>])(::)?" + names + "\\s*\\()|(\\b__builtin_" + names + "\\b)";
  Search(
      tree, pattern, [](const std::string& path) { return WithinAny(path, kStateCode); },
      [&](const std::string& path, int line, const std::smatch& hit) {
        findings.push_back({"libm-in-state-code", At(path, line),
                            "'" + hit.str() +
                                "': libm's last bit depends on the CPU; use cobblestone::Exp of "
                                "common/base/exp.h, or write the function there"});
      });
  return findings;
}

std::vector<Finding> DeadFile(const Tree& tree) {
  std::vector<Finding> findings;
  std::map<std::string, std::set<std::string>> includers;
  for (const auto& [path, file] : tree.sources) {
    for (const Include& include : file.includes) includers[include.path].insert(path);
  }
  for (const auto& [path, file] : tree.sources) {
    if (path.ends_with(".h")) {
      std::set<std::string>& by = includers[path];
      by.erase(path);
      if (by.empty()) findings.push_back({"dead-file", path, "no file includes it; delete it or use it"});
    } else if (!Listed(tree, path)) {
      findings.push_back({"dead-file", path, "no CMakeLists.txt lists it; delete it or list it"});
    }
  }
  for (const std::string& path : tree.scripts) {
    if (IsWithin(path, "tests") && !Listed(tree, path)) {
      findings.push_back({"dead-file", path, "no CMakeLists.txt names it; register the test or delete it"});
    }
  }
  return findings;
}

std::vector<Finding> UnregisteredTest(const Tree& tree) {
  std::vector<Finding> findings;
  struct Kind {
    const char* pattern;
    const char* function;
  };
  constexpr std::array<Kind, 3> kKinds = {
      {{R"((^|\n)\s*(TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\s*\()", "cobblestone_test"},
       {R"((^|\n)\s*BENCHMARK\w*\s*\()", "cobblestone_benchmark"},
       {R"(\bLLVMFuzzerTestOneInput\s*\()", "cobblestone_fuzzer"}}};
  for (const Kind& kind : kKinds) {
    std::set<std::string> seen;
    Search(
        tree, kind.pattern, [](const std::string& path) { return path.ends_with(".cc"); },
        [&](const std::string& path, int line, const std::smatch&) {
          if (!seen.insert(path).second || Listed(tree, path, {kind.function})) return;
          findings.push_back(
              {"unregistered-test", At(path, line),
               std::string("no ") + kind.function + "(... SOURCES ...) names this file: it never runs"});
        });
  }
  Search(
      tree, R"(\bTEST\w*\s*\([^)]*\bDISABLED_\w*)", [](const std::string&) { return true; },
      [&](const std::string& path, int line, const std::smatch&) {
        findings.push_back({"unregistered-test", At(path, line), "a disabled test: repair it or delete it"});
      });
  return findings;
}

// True if the root's list, or an add_subdirectory in a folder above, names the folder.
bool Reached(const Tree& tree, const std::string& folder) {
  const auto root = tree.cmake.find("");
  if (root != tree.cmake.end()) {
    for (const CMakeCall& call : root->second) {
      if (call.name != "set" && call.name != "foreach" && call.name != "add_subdirectory") continue;
      if (std::find(call.arguments.begin(), call.arguments.end(), folder) != call.arguments.end())
        return true;
    }
  }
  return !FolderOf(folder).empty() && Listed(tree, folder, {"add_subdirectory"});
}

std::vector<Finding> FolderNotBuilt(const Tree& tree) {
  std::vector<Finding> findings;
  for (const auto& [folder, calls] : tree.cmake) {
    if (folder.empty() || Reached(tree, folder)) continue;
    findings.push_back({"folder-not-built", CMakeListsOf(folder),
                        "the root's list of folders does not name it, so nothing in it is built or tested"});
  }
  return findings;
}

std::vector<Finding> SourcesAreListed(const Tree& tree) {
  std::vector<Finding> findings;
  for (const auto& [folder, calls] : tree.cmake) {
    for (const CMakeCall& call : calls) {
      const bool glob =
          call.name == "file" && !call.arguments.empty() && call.arguments[0].starts_with("GLOB");
      if (!glob && call.name != "aux_source_directory") continue;
      findings.push_back({"sources-listed", At(CMakeListsOf(folder), call.line),
                          "list the sources one by one: a glob builds files that nobody meant to build"});
    }
  }
  return findings;
}

std::vector<Finding> ExactArithmetic(const Tree& tree) {
  std::vector<Finding> findings;
  const std::regex harmful(
      "-(ffast-math|Ofast|funsafe-math-optimizations|fassociative-math|freciprocal-math|"
      "ffp-contract=(fast|on)|ffp-model.*|march=.*|mfma.*|mavx.*)");
  for (const auto& [folder, calls] : tree.cmake) {
    for (const CMakeCall& call : calls) {
      for (const std::string& argument : call.arguments) {
        if (!std::regex_search(argument, harmful)) continue;
        findings.push_back(
            {"exact-arithmetic", At(CMakeListsOf(folder), call.line),
             argument + " changes the bits of floating-point results from machine to machine"});
      }
    }
  }
  return findings;
}

std::vector<Finding> FileName(const Tree& tree) {
  std::vector<Finding> findings;
  const std::regex good(R"([a-z][a-z0-9_]*\.(h|cc|proto))");
  for (const auto& [path, file] : tree.sources) {
    const std::string name = path.substr(FolderOf(path).empty() ? 0 : FolderOf(path).size() + 1);
    if (std::regex_match(name, good)) continue;
    findings.push_back(
        {"file-name", path, "files are named snake_case.h, snake_case.cc or snake_case.proto"});
  }
  return findings;
}

// The namespace of the files below a folder: the name of the folder below `common` or `services`.
std::string NamespaceOf(const std::string& path) {
  if (IsWithin(path, "common/base") || IsWithin(path, "services/cobblestone")) return "cobblestone";
  if (IsWithin(path, "common/stream/embedded")) return "cobblestone::stream::embedded";
  if (IsWithin(path, "common/stream/kafka")) return "cobblestone::stream::kafka";
  if (IsWithin(path, "services/export")) return "cobblestone::exports";  // `export` is a keyword
  const size_t begin = path.find('/') + 1;
  return "cobblestone::" + path.substr(begin, path.find('/', begin) - begin);
}

std::vector<Finding> NamespaceFollowsFolder(const Tree& tree) {
  static const std::regex kForwards(R"(namespace cobblestone[\w:]* \{\s*(?:(?:class|struct) \w+;\s*)+\})");
  static const std::regex kNamespace(R"((^|\n)namespace (cobblestone[\w:]*))");
  std::vector<Finding> findings;
  for (const auto& [path, file] : tree.sources) {
    if (!IsCxx(path) || !(IsWithin(path, "common") || IsWithin(path, "services"))) continue;
    const std::string wanted = NamespaceOf(path);
    // Line breaks are kept, so that line numbers match the file.
    std::string code = file.code;
    const auto blank = [](char& c) {
      if (c != '\n') c = ' ';
    };
    for (std::smatch hit; std::regex_search(code, hit, kForwards);)
      std::for_each_n(code.begin() + hit.position(), hit.length(), blank);
    for (std::sregex_iterator hit(code.begin(), code.end(), kNamespace), end; hit != end; ++hit) {
      const std::string found = (*hit)[2].str();
      if (found == wanted || (wanted != "cobblestone" && found.starts_with(wanted + "::"))) continue;
      findings.push_back({"namespace-follows-folder",
                          At(path, LineOf(code, static_cast<size_t>(hit->position(2)))),
                          found + " is not the namespace of this folder; use " + wanted});
    }
  }
  return findings;
}

std::vector<Finding> FolderWithoutReadme(const Tree& tree) {
  std::set<std::string> folders;
  for (const auto& [path, file] : tree.sources) folders.insert(FolderOf(path));
  std::vector<Finding> findings;
  for (const std::string& folder : folders) {
    const auto readme = tree.readmes.find(folder);
    if (readme != tree.readmes.end() && readme->second.find_first_not_of(" \n\t") != std::string::npos)
      continue;
    findings.push_back(
        {"folder-without-readme", folder + "/README.md",
         "missing or empty; it says why the folder exists, what belongs in it and what does not"});
  }
  return findings;
}

// A larger folder of the product is several subjects.
constexpr std::ptrdiff_t kMostLines = 5000;
constexpr int kMostFiles = 40;

std::vector<Finding> FolderTooLarge(const Tree& tree) {
  struct Size {
    std::ptrdiff_t lines = 0;
    int files = 0;
  };
  std::map<std::string, Size> sizes;
  for (const auto& [path, file] : tree.sources) {
    if (!IsCxx(path) || !(IsWithin(path, "common") || IsWithin(path, "services"))) continue;
    Size& size = sizes[FolderOf(path)];
    size.lines += std::count(file.text.begin(), file.text.end(), '\n');
    ++size.files;
  }
  std::vector<Finding> findings;
  for (const auto& [folder, size] : sizes) {
    if (size.lines <= kMostLines && size.files <= kMostFiles) continue;
    findings.push_back({"folder-too-large", folder,
                        std::to_string(size.lines) + " lines in " + std::to_string(size.files) +
                            " files; at most " + std::to_string(kMostLines) + " and " +
                            std::to_string(kMostFiles) + ": move a subject to a folder below"});
  }
  return findings;
}

// "docs/rules.md" for "../rules.md" in "docs/design"; "" is the root.
std::string Resolved(const std::string& folder, const std::string& target) {
  const auto path = (std::filesystem::path(folder) / target).lexically_normal().generic_string();
  return path.ends_with('/') && path.size() > 1 ? path.substr(0, path.size() - 1) : path;
}

// The anchors that code hosts generate from the headings of a document: lower case, blanks as hyphens, without
// punctuation.
std::set<std::string> AnchorsOf(const std::string& text) {
  std::set<std::string> anchors;
  std::map<std::string, int> seen;
  static const std::regex kHeading("(^|\n)#{1,6} +([^\n]*)");
  for (std::sregex_iterator hit(text.begin(), text.end(), kHeading), end; hit != end; ++hit) {
    std::string anchor;
    for (const char c : (*hit)[2].str()) {
      const auto byte = static_cast<unsigned char>(c);
      if (std::isalnum(byte) || c == '-' || c == '_' || byte >= 0x80) {
        anchor += static_cast<char>(std::tolower(byte));
      } else if (c == ' ') {
        anchor += '-';
      }
    }
    const int before = seen[anchor]++;
    anchors.insert(before == 0 ? anchor : anchor + "-" + std::to_string(before));
  }
  static const std::regex kNamed("<a (id|name)=\"([^\"]+)\"");
  for (std::sregex_iterator hit(text.begin(), text.end(), kNamed), end; hit != end; ++hit)
    anchors.insert((*hit)[2].str());
  return anchors;
}

std::vector<Finding> LinkedDocuments(const Tree& tree) {
  std::vector<Finding> findings;
  static const std::regex kLink(R"(\]\(\s*([^)\s]+)\s*\)|(?:^|\n)\[[^\]\n]+\]:[ ]+(\S+))");
  for (const auto& [path, document] : tree.documents) {
    const std::string text = WithoutCode(document);
    for (std::sregex_iterator hit(text.begin(), text.end(), kLink), end; hit != end; ++hit) {
      const bool inline_link = (*hit)[1].matched;
      const std::string link = (*hit)[inline_link ? 1 : 2].str();
      if (link.find("://") != std::string::npos || link.starts_with("mailto:")) continue;
      const size_t hash = link.find('#');
      const std::string target =
          hash == 0 ? path : Resolved(FolderOf(path), link.substr(0, std::min(hash, link.size())));
      const std::string where =
          At(path, LineOf(text, static_cast<size_t>(hit->position(inline_link ? 1 : 2))));
      if (!tree.paths.contains(target)) {
        findings.push_back({"cited-document", where, "there is no " + target + " in the tree"});
        continue;
      }
      const auto cited = tree.documents.find(target);
      if (hash == std::string::npos || cited == tree.documents.end()) continue;
      if (!AnchorsOf(cited->second).contains(link.substr(hash + 1)))
        findings.push_back({"cited-document", where, target + " has no heading #" + link.substr(hash + 1)});
    }
  }
  return findings;
}

// Documents that C++ and schemas name, from the root, beside the file, or by the file name alone: "docs/rules.md, sections 47 to 51".
std::vector<Finding> CitedDocuments(const Tree& tree) {
  std::vector<Finding> findings = LinkedDocuments(tree);
  static const std::regex kCited(R"(([A-Za-z0-9_./-]+\.md)\b(?:, sections? (\d+)(?:(?: to | and )(\d+))?)?)");
  for (const auto& [path, file] : tree.sources) {
    if (IsWithin(path, "tests/layering")) continue;  // mentions files of invented trees
    for (std::sregex_iterator hit(file.text.begin(), file.text.end(), kCited), end; hit != end; ++hit) {
      const std::string where = At(path, LineOf(file.text, static_cast<size_t>(hit->position())));
      std::string name = (*hit)[1].str();
      if (name.starts_with('/')) name.erase(0, 1);  // appended to the root's path
      std::string target = tree.documents.contains(name) ? name : Resolved(FolderOf(path), name);
      // A file name without a folder, as in a test of the document.
      if (name.find('/') == std::string::npos && !tree.documents.contains(target))
        for (const auto& [other, text] : tree.documents)
          if (other.ends_with("/" + name)) target = other;
      const auto cited = tree.documents.find(target);
      if (cited == tree.documents.end()) {
        findings.push_back({"cited-document", where, "there is no document " + name + " in the tree"});
        continue;
      }
      for (const size_t group : {2, 3}) {
        if (!(*hit)[group].matched) continue;
        const std::string heading = "\n## " + (*hit)[group].str() + ". ";
        if (cited->second.find(heading) == std::string::npos)
          findings.push_back({"cited-document", where, target + " has no section " + (*hit)[group].str()});
      }
    }
  }
  return findings;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Finding& finding) {
  return out << finding.where << ": " << finding.message << " [" << finding.rule << "]";
}

std::ostream& operator<<(std::ostream& out, const Rule& rule) {
  return out << rule.name << ": " << rule.says;
}

const std::vector<Rule>& AllRules() {
  static const std::vector<Rule> kRules = {
      {"unknown-folder", "Every source lies in a layer of the table.", UnknownFolder},
      {"include-direction", "A layer includes itself and the layers that the table lists.", IncludeDirection},
      {"include-exists", "A quoted include is the path of a file from the root of the tree.", IncludeExists},
      {"link-direction", "A folder links only what it may include.", LinkDirection},
      {"confined-library",
       "librdkafka, RocksDB, yaml-cpp, prometheus-cpp and generated protobuf stay in their folders.",
       ConfinedLibrary},
      {"backend-named", "Only the composition root and tests name a backend.", BackendNamed},
      {"pure-state-code", "The domain core and the stages have no clock, thread, randomness or I/O.",
       StateCodeIsPure},
      {"libm-in-state-code", "The domain core and the stages call no libm function whose last bit varies.",
       LibmInStateCode},
      {"dead-file", "Every source is built, every header included, every test script registered.", DeadFile},
      {"unregistered-test", "Tests, benchmarks and fuzz targets are registered and enabled.",
       UnregisteredTest},
      {"folder-not-built", "Every CMakeLists.txt is reached from the root.", FolderNotBuilt},
      {"sources-listed", "No source list is a glob.", SourcesAreListed},
      {"exact-arithmetic", "No compiler flag changes floating-point results.", ExactArithmetic},
      {"file-name", "Source files are named snake_case.", FileName},
      {"namespace-follows-folder", "The namespace is the folder's name below common or services.",
       NamespaceFollowsFolder},
      {"folder-without-readme", "Every folder with sources has a README.md.", FolderWithoutReadme},
      {"folder-too-large", "No folder of the product has more than 5,000 lines or 40 files.", FolderTooLarge},
      {"cited-document", "Every document, section and file that is cited exists.", CitedDocuments},
      {"banned-phrase", "Comments, messages and documents of the product have none of the banned phrases.",
       BannedPhrases},
  };
  return kRules;
}

std::vector<Finding> Check(const Tree& tree) {
  std::vector<Finding> findings;
  for (const Rule& rule : AllRules()) {
    for (Finding& finding : rule.check(tree)) findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace cobblestone::layering
