#include "common/settings/trickle_formats.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace cobblestone::settings {
namespace {

constexpr std::size_t kLargestFormatsFile = 1u << 20;  // bytes; a file of formats is a few KiB
constexpr std::size_t kMaxFormatsErrors = 20;

class FormatsReader {
 public:
  FormatsReader(std::string_view file_name, const std::set<std::string>& measures)
      : file_name_(file_name), measures_(measures) {}

  Result<TrickleFormats> Read(std::string_view text) {
    try {
      ReadRoot(YAML::Load(std::string(text)));
    } catch (const YAML::Exception& e) {
      Error(e.mark, "invalid YAML: " + e.msg);
    } catch (const std::exception& e) {
      Error(YAML::Mark::null_mark(), std::string("cannot be read: ") + e.what());
    }
    if (errors_.empty()) return std::move(formats_);
    std::string all;
    for (std::size_t k = 0; k < std::min(errors_.size(), kMaxFormatsErrors); ++k)
      all += (k == 0 ? "" : "\n") + errors_[k];
    return Status::InvalidArgument(all);
  }

 private:
  void Error(const YAML::Mark& mark, const std::string& what) {
    const bool known = !mark.is_null();
    errors_.push_back(std::string(file_name_) + ":" + std::to_string(known ? mark.line + 1 : 1) + ":" +
                      std::to_string(known ? mark.column + 1 : 1) + ": " + what);
  }

  // Calls `visit` once for each key, with its value. `allowed` describes the expected node in messages.
  template <class F>
  void EachKey(const YAML::Node& node, const std::string& allowed, F&& visit) {
    if (!node.IsMap()) {
      Error(node.Mark(), "must be " + allowed);
      return;
    }
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) {
        Error(entry.first.Mark(), "a name must be a scalar");
      } else if (!seen.insert(entry.first.Scalar()).second) {
        Error(entry.first.Mark(), "'" + entry.first.Scalar() + "' occurs twice; keep one of them");
      } else {
        visit(entry.first, entry.second);
      }
    }
  }

  void ReadRoot(const YAML::Node& root) {
    if (root.IsNull()) return;
    EachKey(
        root, "a group with `varieties` and `ignore`", [&](const YAML::Node& key, const YAML::Node& value) {
          if (key.Scalar() == "varieties") {
            EachKey(value, "a group: a variety, and under it `app` and `elements`",
                    [&](const YAML::Node& name, const YAML::Node& variety) { ReadVariety(name, variety); });
          } else if (key.Scalar() == "ignore") {
            ReadIgnored(value);
          } else {
            Error(key.Mark(), "unknown key '" + key.Scalar() + "'; allowed: `varieties` and `ignore`");
          }
        });
    for (const auto& [name, variety] : formats_.varieties) {
      if (formats_.ignored.contains(name))
        Error(root["ignore"].Mark(), "'" + name + "' is also among the varieties; keep one of them");
    }
  }

  void ReadIgnored(const YAML::Node& list) {
    if (!list.IsSequence()) return Error(list.Mark(), "must be a list of varieties: [status, log]");
    for (const YAML::Node& name : list) {
      if (!name.IsScalar()) return Error(name.Mark(), "a variety must be a scalar");
      formats_.ignored.insert(name.Scalar());
    }
  }

  void ReadVariety(const YAML::Node& name, const YAML::Node& node) {
    TrickleVariety variety;
    if (!node.IsNull()) {
      EachKey(node, "a group with `app` and `elements`, or {}",
              [&](const YAML::Node& key, const YAML::Node& value) {
                if (key.Scalar() == "app") {
                  ReadApp(value, &variety);
                } else if (key.Scalar() == "elements") {
                  EachKey(value, "a group: element: measure",
                          [&](const YAML::Node& element, const YAML::Node& measure) {
                            ReadElement(element, measure, &variety);
                          });
                } else {
                  Error(key.Mark(), "unknown key '" + key.Scalar() + "'; allowed: `app` and `elements`");
                }
              });
    }
    formats_.varieties.emplace(name.Scalar(), std::move(variety));
  }

  void ReadApp(const YAML::Node& value, TrickleVariety* variety) {
    const std::string text = value.IsScalar() ? value.Scalar() : std::string();
    const auto end = std::from_chars(text.data(), text.data() + text.size(), variety->app.value);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || !variety->app)
      Error(value.Mark(), "an app must be a number above 0; omit the app to use the app of the result");
  }

  void ReadElement(const YAML::Node& element, const YAML::Node& measure, TrickleVariety* variety) {
    const std::string word = measure.IsScalar() ? measure.Scalar() : std::string();
    if (!measures_.contains(word)) {
      std::string all;
      for (const std::string& one : measures_) all += (all.empty() ? "" : ", ") + one;
      Error(measure.Mark(),
            "'" + element.Scalar() + "' is mapped to '" + word + "'; an element can be " + all);
      return;
    }
    variety->elements.emplace(element.Scalar(), word);
  }

  std::string_view file_name_;
  const std::set<std::string>& measures_;
  TrickleFormats formats_;
  std::vector<std::string> errors_;
};

}  // namespace

Result<TrickleFormats> ParseTrickleFormats(std::string_view text, std::string_view file_name,
                                           const std::set<std::string>& measures) {
  if (text.size() > kLargestFormatsFile)
    return Status::InvalidArgument(std::string(file_name) +
                                   ":1:1: larger than 1 MiB; check the path of the file");
  return FormatsReader(file_name, measures).Read(text);
}

Result<TrickleFormats> LoadTrickleFormats(const std::string& path, const std::set<std::string>& measures) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status::NotFound(path + ": cannot open for reading: " + std::strerror(errno));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return ParseTrickleFormats(text, path, measures);
}

}  // namespace cobblestone::settings
