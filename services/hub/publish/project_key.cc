#include "services/hub/publish/project_key.h"

#include <algorithm>

#include "services/hub/snapshot/canonical_text.h"
#include "services/hub/snapshot/hash_tree.h"

namespace cobblestone::hub {
namespace {

constexpr std::size_t kMostOfKey = 40;
constexpr std::size_t kKeptOfKey = 31;
constexpr std::size_t kHashBytes = 4;

std::string WithoutEnd(std::string text) {
  while (text.ends_with('-')) text.pop_back();
  return text;
}

}  // namespace

std::string ProjectKeyOf(std::string_view url, std::string_view name) {
  std::string plain(url.empty() ? name : url);
  for (char& c : plain)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  std::string_view rest = plain;
  for (const std::string_view begin : {"http://", "https://", "www."})
    if (rest.starts_with(begin)) rest.remove_prefix(begin.size());
  std::string key;
  for (const char c : rest) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (kept)
      key += c;
    else if (!key.empty() && key.back() != '-')
      key += '-';
  }
  key = WithoutEnd(std::move(key));
  if (key.empty()) key = "project";
  if (key.size() <= kMostOfKey) return key;
  const std::string hash = ToHex(Sha256Of(key).substr(0, kHashBytes));
  return WithoutEnd(key.substr(0, kKeptOfKey)) + "-" + hash;
}

std::string UniqueKey(const std::string& key, const std::vector<std::string>& taken) {
  const auto is_taken = [&](const std::string& text) {
    return std::find(taken.begin(), taken.end(), text) != taken.end();
  };
  std::string unique = key;
  for (int n = 2; is_taken(unique); ++n) {
    const std::string ending = "-" + std::to_string(n);
    unique = key.substr(0, kMostOfKey - ending.size()) + ending;
  }
  return unique;
}

}  // namespace cobblestone::hub
