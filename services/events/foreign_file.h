// Recognizes, by its beginning, a file or HTTP body that is not a stream of events, such as a zip archive, an HTML page
// or an indented JSON text. One message then names the cause; otherwise each line would become a refused record.
// Only the beginning is examined: a bad line behind the beginning is a refused record. Pure functions, for any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cobblestone::events {

// Enough bytes of a beginning for ForeignStart(), except for tar archives (MayBeTar).
inline constexpr std::size_t kForeignStartBytes = 64;
inline constexpr std::size_t kTarStartBytes = 262;

// What a file is, and what to do; both empty for a file that may contain events.
struct Foreign {
  std::string what;    // "a zip archive"
  std::string remedy;  // "extract it and ingest the files in it"

  explicit operator bool() const { return !what.empty(); }
  // "the file is a zip archive; extract it and ...". `subject`: "the file".
  [[nodiscard]] std::string Text(const std::string& subject) const {
    return subject + " is " + what + "; " + remedy;
  }
};

// A byte-order mark of UTF-8 is not part of the first line: it is skipped, and the line hash excludes it.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Delimited records, not text: the first sixteen bytes contain a control byte other than tab, CR and LF.
bool LooksDelimited(std::string_view start);
// `start` could be the name at the beginning of a tar header: ForeignStart() then needs kTarStartBytes.
bool MayBeTar(std::string_view start);

// By the first bytes, uncompressed: encodings, archives, XML, HTML, JSON arrays, SQL, messages of database clients.
Foreign ForeignStart(std::string_view start);
// For bytes that LooksDelimited(): binary data that is not delimited Envelopes. `whole`: `start` is the whole file.
Foreign ForeignRecords(std::string_view start, bool whole);

// Whether only the second line shows what a file with this first line is. False for an ordinary line of an event, so
// that the reader of a pipe does not wait for a second event.
bool NeedsSecondLine(std::string_view first);
// By the first two lines that are not blank: an indented JSON text or a table. `second` empty: there is none.
Foreign ForeignLines(std::string_view first, std::string_view second);

}  // namespace cobblestone::events
