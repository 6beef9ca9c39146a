#include "services/gateway/static_files.h"

#include <algorithm>
#include <cctype>

namespace cobblestone::gateway {
namespace {

std::string Small(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Calls `visit` for each part of a comma-separated list, until it returns false.
template <class Visit>
void EachPart(std::string_view list, Visit&& visit) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (!visit(Trimmed(list.substr(0, end)))) return;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

bool Matches(std::string_view if_none_match, std::string_view etag) {
  bool found = false;
  EachPart(if_none_match, [&](std::string_view one) {
    if (one.starts_with("W/")) one.remove_prefix(2);
    found = found || one == etag || one == "*";
    return !found;
  });
  return found;
}

}  // namespace

bool AcceptsGzip(std::string_view accept_encoding) {
  bool named = false;
  bool any = false;
  bool refused = false;
  const std::string small = Small(accept_encoding);
  EachPart(small, [&](std::string_view part) {
    const std::size_t semicolon = part.find(';');
    const std::string_view coding = Trimmed(part.substr(0, semicolon));
    const std::string_view quality =
        semicolon == std::string_view::npos ? std::string_view() : Trimmed(part.substr(semicolon + 1));
    const bool zero =
        quality.starts_with("q=0") && quality.substr(3).find_first_not_of(".0") == std::string_view::npos;
    if (coding == "gzip") (zero ? refused : named) = true;
    if (coding == "*") any = !zero;
    return true;
  });
  return !refused && (named || any);
}

std::optional<StaticAnswer> FindStatic(std::span<const EmbeddedFile> files, std::string_view path,
                                       std::string_view accept_encoding, std::string_view if_none_match) {
  if (path == "/") path = "/index.html";
  const auto file =
      std::find_if(files.begin(), files.end(), [&](const EmbeddedFile& f) { return f.path == path; });
  if (file == files.end()) return std::nullopt;
  StaticAnswer answer{.file = &*file};
  if (Matches(if_none_match, file->etag)) {
    answer.status = 304;
    return answer;
  }
  answer.gzip = !file->gzip.empty() && AcceptsGzip(accept_encoding);
  answer.body = answer.gzip ? file->gzip : file->bytes;
  return answer;
}

}  // namespace cobblestone::gateway
