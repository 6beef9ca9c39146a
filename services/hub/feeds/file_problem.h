// Why a file or an answer of another project cannot be used. A problem refuses the whole file: what the hub
// imported from the file before stays in force.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cobblestone::hub {

// The numbers never change, and a number is never used again: they are stored with held files.
enum class FileProblem : std::uint8_t {
  kNone = 0,
  // The file.
  kEmpty = 1,               // no byte at all
  kHtml = 2,                // a web page: an error page, a login form, a notice of maintenance
  kNotStatistics = 3,       // the beginning is no statistics file of the expected kind
  kDamagedCompression = 4,  // a checksum or a code of gzip or zstd is wrong
  kTruncated = 5,       // the end is missing: of the compressed stream, or the closing tag of the document
  kForeignArchive = 6,  // zip, bzip2, xz
  kTooLarge = 7,        // more bytes than the limits allow, also a decompression bomb
  kUnreadable = 8,      // the disk reports an error
  // The records.
  kRecordCut = 20,       // a record begins before the end of the one before it
  kRecordTooLong = 21,   // a record or the bytes between two records exceed the limit
  kBytesBetween = 22,    // bytes between two records
  kMissingElement = 23,  // id or total_credit
  kUnclosedElement = 24,
  kTwoContents = 25,  // one id with two different contents
  // The figures.
  kTooManyDigits = 40,  // more than 20
  kNotANumber = 41,     // nan
  kInfinite = 42,
  kNegative = 43,
  kExponent = 44,     // 1.5E+15
  kThousands = 45,    // 1,234,567.5 or 1 234 567
  kChunkHeader = 46,  // 17 CR LF 1000 CR LF 446.35: a header of chunked transfer coding inside the body
  kMalformed = 47,    // anything else that is not a decimal number
  kOutOfRange = 48,   // a number, but not one of those that its field can have
  kNoFigure = 49,     // nothing between the tags
  // Hosts of server builds that write each number into the field of another one (ShiftedHost).
  kShiftedNumbers = 60,
};

// A stable name for records and metrics: "chunk_header".
std::string_view FileProblemName(FileProblem problem);
// For people: "a header of the chunked transfer coding is inside the file".
std::string_view FileProblemText(FileProblem problem);

struct FileRefusal {
  FileProblem problem = FileProblem::kNone;
  std::string file{};      // the name that the caller gave
  std::uint64_t line = 0;  // of the uncompressed text, from 1; 0: the file as a whole
  std::string detail{};    // field and the beginning of its text; printable ASCII

  // "user.gz:4711: a header of the chunked transfer coding is inside the file (total_credit: 17\r\n1000\r\n446.35)"
  [[nodiscard]] std::string Text() const;
};

// At most `most` bytes as printable ASCII: control bytes, quotes and bytes above 126 as \r, \n or \xHH. For messages
// that quote bytes of others.
std::string Printable(std::string_view bytes, std::size_t most = 60);

}  // namespace cobblestone::hub
