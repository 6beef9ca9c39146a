#include "services/events/foreign_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include "common/wire/events/event_codec.h"
#include "services/boinc/client_message.h"
#include "services/events/event_stream.h"

namespace cobblestone::events {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kBlanks = " \t\r\n";

struct Signature {
  std::string_view bytes;
  std::string_view what;
  std::string_view remedy;
  std::size_t at = 0;
};

constexpr std::string_view kDecompress = "decompress it first; `ingest` reads plain, gzip and zstd files";
constexpr std::string_view kOneByOne = "extract it and ingest each file in it";
constexpr std::string_view kFromSql =
    "`cobblestone adopt` takes over the accounts of a BOINC project; for a dump of the table msg_from_host set "
    "--format trickle-xml";

// At an offset of the file. No delimited Envelope begins like one of these: its length is followed by a tag
// below 0x20.
constexpr auto kBytes = std::to_array<Signature>({
    {"PK\x03\x04"sv, "a zip archive", kOneByOne},
    {"ustar"sv, "a tar archive", kOneByOne, 257},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive", kOneByOne},
    {"\xfd"
     "7zXZ\0"sv,
     "xz data", kDecompress},
    {"BZh"sv, "bzip2 data", kDecompress},
    {"\x1f\x8b"sv, "gzip data", "it was compressed twice: decompress it once, then ingest it"},
    {"\x28\xb5\x2f\xfd"sv, "zstd data", "it was compressed twice: decompress it once, then ingest it"},
});

// At the first character that is not blank, in any case. The first match counts.
constexpr auto kTexts = std::to_array<Signature>({
    {"<!doctype html"sv, "an HTML page",
     "a web server probably answered with an error page: download the file again, with curl --fail"},
    {"<html"sv, "an HTML page",
     "a web server probably answered with an error page: download the file again, with curl --fail"},
    {"http/"sv, "an HTTP response with its headers", "save only the body, without the option -i of curl"},
    {"<"sv, "an XML file",
     "for trickle messages set --format trickle-xml; exports of statistics do not contain events"},
    {"["sv, "a JSON array", "write one event per line: jq -c '.[]' FILE"},
    {"--"sv, "an SQL dump", kFromSql},
    {"/*!"sv, "an SQL dump", kFromSql},
    {"/*m!"sv, "an SQL dump", kFromSql},
    {"insert into "sv, "an SQL dump", kFromSql},
    {"create table "sv, "an SQL dump", kFromSql},
    {"drop table "sv, "an SQL dump", kFromSql},
});

// `lower` is in lower case.
bool StartsWithText(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() &&
         std::equal(lower.begin(), lower.end(), text.begin(), [](char a, char b) {
           return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
         });
}

Foreign ForeignOf(const Signature& signature) {
  return {.what = std::string(signature.what), .remedy = std::string(signature.remedy)};
}

// The encoding of text with two or four bytes per character; empty: not recognized by its start. The first
// character of a file of events has a code below 128.
std::string_view WideEncoding(std::string_view start) {
  if (start.starts_with("\xff\xfe\0\0"sv) || start.starts_with("\0\0\xfe\xff"sv)) return "UTF-32";
  // A delimited record cannot begin like this: with a length, then field 0.
  if (start.starts_with("\xff\xfe"sv) || start.starts_with("\xfe\xff"sv)) start.remove_prefix(2);
  const auto is_ascii = [&](std::size_t at) { return start[at] > 0 && start[at] < 0x7f; };
  if (start.size() < 4) return {};
  if (is_ascii(0) && start[1] == 0 && is_ascii(2) && start[3] == 0) return "UTF-16";
  if (start[0] == 0 && is_ascii(1) && start[2] == 0 && is_ascii(3)) return "UTF-16";
  return {};
}

std::string_view WithoutMarkAndBlanks(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(kBlanks)));
  while (!text.empty() && kBlanks.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

// The line ends in the middle of an object or array, between two of its parts: not a line that was cut off.
bool IsOpenJson(std::string_view line) {
  if (line.empty() || line.front() != '{' || "{[,:"sv.find(line.back()) == std::string_view::npos)
    return false;
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (in_text && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      in_text = !in_text;
    } else if (!in_text) {
      depth += line[i] == '{' || line[i] == '[' ? 1 : line[i] == '}' || line[i] == ']' ? -1 : 0;
    }
  }
  return depth > 0 && !in_text;
}

}  // namespace

bool LooksDelimited(std::string_view start) {
  constexpr std::size_t kLookedAt = 16;
  return std::any_of(start.begin(),
                     start.begin() + static_cast<std::ptrdiff_t>(std::min(start.size(), kLookedAt)),
                     [](char c) {
                       const auto byte = static_cast<unsigned char>(c);
                       return byte < 0x20 && c != '\t' && c != '\n' && c != '\r';
                     });
}

// A name in a tar header is filled up with zeros to 100 bytes. Longer names are rare enough.
bool MayBeTar(std::string_view start) {
  const std::size_t zero = start.substr(0, kForeignStartBytes).find('\0');
  const std::string_view name = start.substr(0, zero);
  return zero != std::string_view::npos && !name.empty() && name.front() != '{' &&
         std::none_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

Foreign ForeignStart(std::string_view start) {
  if (const std::string encoding(WideEncoding(start)); !encoding.empty())
    return {.what = "text in " + encoding, .remedy = "convert it with iconv -f " + encoding + " -t UTF-8"};
  for (const Signature& one : kBytes)
    if (start.size() > one.at && start.substr(one.at).starts_with(one.bytes)) return ForeignOf(one);
  if (LooksDelimited(start)) return {};
  const std::string_view text = WithoutMarkAndBlanks(start);
  if (boinc::IsClientMessage(text))
    return {.what = "output with a message of a database client",
            .remedy = std::string(boinc::kClientMessageRemedy)};
  for (const Signature& one : kTexts)
    if (StartsWithText(text, one.bytes)) return ForeignOf(one);
  return {};
}

// Unless one of the first two records is an Envelope. One bad record among good ones is a refused record.
Foreign ForeignRecords(std::string_view start, bool whole) {
  const Foreign foreign{.what = "binary data, but not length-delimited Envelopes",
                        .remedy = "check that it is the right file (schemas/events.proto)"};
  for (int records = 0; records < 2; ++records) {
    std::uint64_t length = 0;
    std::size_t head = 0;
    bool complete = false;
    for (; head < std::min<std::size_t>(start.size(), 10) && !complete; ++head) {
      const auto byte = static_cast<unsigned char>(start[head]);
      length |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * head);
      complete = byte < 0x80;
    }
    const bool impossible = complete ? length > kMaxEventBytes : head == 10;
    if (impossible) return foreign;
    // The reader reports truncated records and zeros with their places.
    if (!complete || length == 0 || length > start.size() - head)
      return whole && records > 0 ? foreign : Foreign{};
    if (wire::PeekRouting(start.substr(head, length))) return {};
    start.remove_prefix(head + length);
  }
  return foreign;
}

bool NeedsSecondLine(std::string_view first) {
  first = WithoutMarkAndBlanks(first);
  return !first.empty() && (first.front() != '{' || IsOpenJson(first));
}

Foreign ForeignLines(std::string_view first, std::string_view second) {
  first = WithoutMarkAndBlanks(first);
  second = WithoutMarkAndBlanks(second);
  if (first.empty() || second.empty()) return {};
  if (IsOpenJson(first)) {
    const bool continues = "\"]}"sv.find(second.front()) != std::string_view::npos ||
                           (first.back() == '[' && second.front() == '{');
    if (!continues) return {};
    return {.what = "JSON with one object over several lines",
            .remedy = "write one event per line: jq -c . FILE"};
  }
  if (first.front() == '{' || second.front() == '{') return {};
  for (const char separator : {'\t', ';', ','}) {
    const auto columns = std::count(first.begin(), first.end(), separator);
    if (columns == 0 || columns != std::count(second.begin(), second.end(), separator)) continue;
    return {.what = "a table of rows and columns (CSV or TSV)",
            .remedy =
                "write each row as an event, one per line (schemas/events.proto); for rows of the table "
                "msg_from_host set --format trickle-xml"};
  }
  return {};
}

}  // namespace cobblestone::events
