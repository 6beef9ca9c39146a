#include "services/gateway/tokens.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace cobblestone::gateway {
namespace {

constexpr std::size_t kShortest = 16;
constexpr std::size_t kLongest = 512;
constexpr std::size_t kLargestFile = 1u << 20;
constexpr mode_t kForbidden = S_IROTH | S_IWOTH | S_IWGRP;

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
  if (role == "ingest") return Rights{.ingest = true, .trusted = true, .name = "ingest"};
  if (role == "operate")
    return Rights{
        .read = true, .read_all = true, .operate = true, .metrics = true, .trusted = true, .name = "operate"};
  if (role == "metrics") return Rights{.metrics = true, .trusted = true, .name = "metrics"};
  if (role == "volunteer") return Rights{.read = true, .name = "volunteer"};
  return std::nullopt;
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
          "begins with no role; allowed: read TOKEN, ingest TOKEN, operate TOKEN, metrics TOKEN, "
          "volunteer PROJECT/USER TOKEN");
    if (role == "volunteer" && !(rights->own = ParseOwn(NextWord(&line))))
      return bad(
          "a volunteer's token is for one account: volunteer PROJECT/USER TOKEN, such as volunteer 1/42 ...");
    const std::string_view token = NextWord(&line);
    if (!IsToken(token))
      return bad(
          "its token must be 16 to 512 letters, digits or - . _ ~ + / =; `openssl rand -base64 32` makes one");
    if (!NextWord(&line).empty()) return bad("there is more on the line than a role and a token");
    if (tokens.Find(token)) return bad("has a token that stands on a line before");
    tokens.entries_.push_back({.digest = DigestOf(token), .rights = *rights});
  }
  return tokens;
}

Result<Tokens> Tokens::Load(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return Status::InvalidArgument("the tokens in " + path + " cannot be read: " + std::strerror(errno) +
                                   "; gateway.tokens_file names the file");
  struct stat about {};
  std::string text;
  Status status;
  if (::fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
    status = Status::InvalidArgument("the tokens in " + path + " cannot be read: it is no file");
  } else if ((about.st_mode & kForbidden) != 0) {
    status = Status::InvalidArgument("others may read or change " + path +
                                     ", which holds tokens: chmod 600 " + path);
  } else {
    char some[4096];
    ssize_t n = 0;
    while ((n = ::read(file, some, sizeof some)) > 0 && text.size() <= kLargestFile)
      text.append(some, static_cast<std::size_t>(n));
    if (n < 0)
      status = Status::InvalidArgument("the tokens in " + path + " cannot be read: " + std::strerror(errno));
    if (text.size() > kLargestFile)
      status = Status::InvalidArgument(path + " is larger than 1 MiB; is it a file of tokens?");
  }
  ::close(file);
  auto tokens = status.ok() ? Parse(text, path) : Result<Tokens>(status);
  ::OPENSSL_cleanse(text.data(), text.size());
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
