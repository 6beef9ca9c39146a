#include "tests/layering/phrases.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <string>
#include <string_view>

#include "tests/layering/text.h"

namespace cobblestone::layering {
namespace {

struct BannedPhrase {
  std::string_view phrase;  // lower case
  std::string_view instead;
  bool ends_clause = false;  // only where punctuation follows: "so that one copy" is plain English
};

// A sample of the former dialect of this project's texts, not all of it. Readers judge the style.
constexpr std::array kBannedPhrases = std::to_array<BannedPhrase>({
    {"anew", "the verb itself: repriced, rebuilt, recomputed"},
    {"that one", "the noun", true},
    {"to that one", "the noun"},
    {"of that one", "the noun"},
    {"taken in", "ingested, or read"},
    {"takes in", "ingests, or reads"},
    {"taken back", "reversed"},
    {"takes back", "reverses"},
    {"is told", "who sends what to whom"},
    {"are told", "who sends what to whom"},
    {"was told", "who sent what to whom"},
    {"by its word", "who reports what"},
    {"goes by", "uses, or follows"},
    {"let go of", "released, deleted or evicted"},
    {"lets go of", "releases, deletes or evicts"},
    {"put aside", "set aside with a name: quarantined, deferred, stored"},
    {"nobody knows", "what is unknown"},
    {"stand above", "take precedence over"},
    {"stands above", "takes precedence over"},
    {"in vain", "without a result"},
    {"onlooker", "observer, or viewer"},
    {"half told", "what waits for what"},
    {"still to come", "pending"},
    {"brought along", "adopted; of a balance: opening"},
    {"behind the mark", "below the high-water mark"},
    {"nobody has said", "what is not defined or configured"},
});

bool IsLetter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The end of the phrase that starts at `at`, or npos. Two lines may share the words, with comment marks or quotes
// between.
size_t EndOfPhrase(std::string_view text, size_t at, const BannedPhrase& banned) {
  if (at > 0 && IsLetter(text[at - 1])) return std::string_view::npos;
  for (const char c : banned.phrase) {
    if (c == ' ') {
      const size_t word = std::min(text.size(), text.find_first_not_of(" \t\n\"/#*>", at));
      if (word == at) return std::string_view::npos;
      at = word;
    } else if (at < text.size() && text[at] == c) {
      ++at;
    } else {
      return std::string_view::npos;
    }
  }
  if (at < text.size() && IsLetter(text[at])) return std::string_view::npos;
  const bool closed = at == text.size() || std::string_view(".,;:)").find(text[at]) != std::string_view::npos;
  return closed || !banned.ends_clause ? at : std::string_view::npos;
}

// C++ prose without code spans, with the same lines.
std::string WithoutSpans(const std::string& prose) {
  static const std::regex kSpan("`[^`\n]*`");
  return std::regex_replace(prose, kSpan, "``");
}

void FindPhrases(const std::string& path, std::string text, std::vector<Finding>* findings) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const BannedPhrase& banned : kBannedPhrases) {
    const std::string_view first = banned.phrase.substr(0, banned.phrase.find(' '));
    for (size_t at = text.find(first); at != std::string::npos; at = text.find(first, at + 1)) {
      if (EndOfPhrase(text, at, banned) == std::string_view::npos) continue;
      findings->push_back({"banned-phrase", path + ":" + std::to_string(LineOf(text, at)),
                           "\"" + std::string(banned.phrase) + "\" is not plain English here; write " +
                               std::string(banned.instead)});
    }
  }
}

}  // namespace

std::vector<Finding> BannedPhrases(const Tree& tree) {
  std::vector<Finding> findings;
  for (const auto& [path, file] : tree.sources) {
    if (!IsWithin(path, "tests")) FindPhrases(path, WithoutSpans(ProseOnly(file.text)), &findings);
  }
  for (const auto& [path, document] : tree.documents) FindPhrases(path, WithoutCode(document), &findings);
  for (const auto& [path, text] : tree.texts) FindPhrases(path, text, &findings);
  return findings;
}

}  // namespace cobblestone::layering
