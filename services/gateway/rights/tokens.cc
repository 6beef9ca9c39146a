#include "services/gateway/rights/tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <charconv>

#include "common/base/secret_file.h"

namespace cobblestone::gateway {
namespace {

constexpr std::size_t kShortest = 16;
constexpr std::size_t kLongest = 512;
constexpr std::size_t kLargestFile = 1u << 20;
constexpr std::size_t kLongestName = 64;
constexpr std::string_view kIngestForm =
    "an ingest token needs its projects and kinds of events: ingest PROJECT[,PROJECT] "
    "KIND[,KIND] TOKEN, such as `ingest 1,2 results,members TOKEN`, or `ingest * all "
    "TOKEN` for everything; kinds: results, members, catalogue, openings, corrections, "
    "machines, all";

std::string_view NextWord(std::string_view* line) {
  const std::size_t begin = line->find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  const std::size_t end = std::min(line->find_first_of(" \t\r", begin), line->size());
  const std::string_view word = line->substr(begin, end - begin);
  line->remove_prefix(end);
  return word;
}

bool IsToken(std::string_view text) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=";
  return text.size() >= kShortest && text.size() <= kLongest &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

// The "NAME:" before a token; *word is then the token. Empty: no name.
std::string TakeName(std::string_view* word) {
  const std::size_t colon = word->find(':');
  if (colon == std::string_view::npos) return {};
  const std::string_view name = word->substr(0, colon);
  word->remove_prefix(colon + 1);
  return std::string(name);
}

bool IsName(std::string_view text) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._";
  return !text.empty() && text.size() <= kLongestName &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

template <class Number>
bool ParseNumber(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number != 0;
}

std::optional<OwnAccount> ParseOwn(std::string_view text) {
  const std::size_t slash = text.find('/');
  OwnAccount own;
  if (slash == std::string_view::npos || !ParseNumber(text.substr(0, slash), &own.project.value) ||
      !ParseNumber(text.substr(slash + 1), &own.user.value))
    return std::nullopt;
  return own;
}

std::optional<Rights> RightsOf(std::string_view role) {
  if (role == "read")
    return Rights{.read = true, .read_all = true, .metrics = true, .trusted = true, .name = "read"};
  if (role == "ingest") return Rights{.trusted = true, .name = "ingest"};
  if (role == "operate")
    return Rights{
        .read = true, .read_all = true, .operate = true, .metrics = true, .trusted = true, .name = "operate"};
  if (role == "metrics") return Rights{.metrics = true, .trusted = true, .name = "metrics"};
  if (role == "volunteer") return Rights{.read = true, .name = "volunteer"};
  return std::nullopt;
}

std::string HexOf(const std::array<unsigned char, 32>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

Tokens::Digest Tokens::DigestOf(std::string_view token) {
  Digest digest;
  ::SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
  return digest;
}

Result<Tokens> Tokens::Parse(std::string_view text, std::string_view where) {
  Tokens tokens;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find_first_of("\n;"), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto bad = [&](const std::string& what) {
      return Status::InvalidArgument(std::string(where) + ": line " + std::to_string(number) + ": " + what);
    };
    const std::string_view role = NextWord(&line);
    if (role.empty() || role.front() == '#') continue;
    auto rights = RightsOf(role);
    if (!rights)
      return bad(
          "does not start with a role; allowed: read TOKEN, ingest PROJECTS KINDS TOKEN, operate "
          "TOKEN, metrics TOKEN, volunteer PROJECT/USER TOKEN");
    if (role == "volunteer" && !(rights->own = ParseOwn(NextWord(&line))))
      return bad(
          "a volunteer's token is for one account: volunteer PROJECT/USER TOKEN, such as volunteer 1/42 ...");
    if (role == "ingest") {
      const std::string_view projects = NextWord(&line);
      if (!(rights->ingest = IngestRights::Parse(projects, NextWord(&line))))
        return bad(std::string(kIngestForm));
    }
    std::string_view token = NextWord(&line);
    const bool named = token.find(':') != std::string_view::npos;
    rights->sender.name = TakeName(&token);
    if (named && !IsName(rights->sender.name))
      return bad("the name before the token must be 1 to 64 letters, digits or - . _");
    if (!IsToken(token))
      return bad(
          "the token must be 16 to 512 letters, digits or - . _ ~ + / =; create one with "
          "`openssl rand -base64 32`");
    if (!NextWord(&line).empty()) return bad("the line has extra text after the token");
    if (tokens.Find(token)) return bad("the token occurs on an earlier line");
    const Digest digest = DigestOf(token);
    rights->sender.digest = "sha256:" + HexOf(digest);
    tokens.entries_.push_back({.digest = digest, .rights = std::move(*rights)});
  }
  return tokens;
}

Result<Tokens> Tokens::Load(const std::string& path) {
  auto text = ReadSecretFile("gateway.tokens_file", path, kLargestFile);
  if (!text.ok()) return text.status();
  auto tokens = Parse(*text, path);
  Wipe(&*text);
  return tokens;
}

std::optional<Rights> Tokens::Find(std::string_view token) const {
  const Digest asked = DigestOf(token);
  const Entry* found = nullptr;
  for (const Entry& entry : entries_)
    if (::CRYPTO_memcmp(entry.digest.data(), asked.data(), asked.size()) == 0) found = &entry;
  if (found == nullptr) return std::nullopt;
  return found->rights;
}

}  // namespace cobblestone::gateway
