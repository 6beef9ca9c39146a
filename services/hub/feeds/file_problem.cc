#include "services/hub/feeds/file_problem.h"

#include <algorithm>
#include <array>

namespace cobblestone::hub {
namespace {

struct ProblemWords {
  FileProblem problem;
  std::string_view name;
  std::string_view text;
};

constexpr std::array kProblemWords = {
    ProblemWords{FileProblem::kNone, "none", "no problem"},
    ProblemWords{FileProblem::kEmpty, "empty", "the file is empty"},
    ProblemWords{FileProblem::kHtml, "html", "the file is a web page"},
    ProblemWords{FileProblem::kNotStatistics, "not_statistics",
                 "the file is no statistics file of this kind"},
    ProblemWords{FileProblem::kDamagedCompression, "damaged_compression", "the compressed bytes are damaged"},
    ProblemWords{FileProblem::kTruncated, "truncated", "the end of the file is missing"},
    ProblemWords{FileProblem::kForeignArchive, "foreign_archive",
                 "the file has an archive format that statistics files do not use"},
    ProblemWords{FileProblem::kTooLarge, "too_large", "the file has more bytes than the limits allow"},
    ProblemWords{FileProblem::kUnreadable, "unreadable", "the disk reports an error"},
    ProblemWords{FileProblem::kRecordCut, "record_cut", "a record ends before its closing tag"},
    ProblemWords{FileProblem::kRecordTooLong, "record_too_long", "a record is too long"},
    ProblemWords{FileProblem::kBytesBetween, "bytes_between", "there are bytes between two records"},
    ProblemWords{FileProblem::kMissingElement, "missing_element", "a record has no such element"},
    ProblemWords{FileProblem::kUnclosedElement, "unclosed_element", "an element is not closed"},
    ProblemWords{FileProblem::kTwoContents, "two_contents", "one id has two records with different contents"},
    ProblemWords{FileProblem::kTooManyDigits, "too_many_digits", "a figure has more than 20 digits"},
    ProblemWords{FileProblem::kNotANumber, "not_a_number", "a figure is nan"},
    ProblemWords{FileProblem::kInfinite, "infinite", "a figure is infinite"},
    ProblemWords{FileProblem::kNegative, "negative", "a figure is negative"},
    ProblemWords{FileProblem::kExponent, "exponent", "a figure has an exponent"},
    ProblemWords{FileProblem::kThousands, "thousands", "a figure has separators of thousands"},
    ProblemWords{FileProblem::kChunkHeader, "chunk_header",
                 "a header of the chunked transfer coding is inside the file"},
    ProblemWords{FileProblem::kMalformed, "malformed", "a figure is no decimal number"},
    ProblemWords{FileProblem::kOutOfRange, "out_of_range", "a figure is outside the range of its field"},
    ProblemWords{FileProblem::kNoFigure, "no_figure", "a figure is missing between its tags"},
    ProblemWords{
        FileProblem::kShiftedNumbers, "shifted_numbers",
        "the values of the hosts are in the wrong fields, as server builds from November 2025 to February "
        "2026 wrote them"},
};

const ProblemWords& WordsOf(FileProblem problem) {
  const auto* const found =
      std::find_if(kProblemWords.begin(), kProblemWords.end(),
                   [problem](const ProblemWords& words) { return words.problem == problem; });
  return found == kProblemWords.end() ? kProblemWords.front() : *found;
}

}  // namespace

std::string_view FileProblemName(FileProblem problem) { return WordsOf(problem).name; }
std::string_view FileProblemText(FileProblem problem) { return WordsOf(problem).text; }

std::string FileRefusal::Text() const {
  std::string text = file;
  if (line != 0) text += ":" + std::to_string(line);
  text += ": ";
  text += FileProblemText(problem);
  if (!detail.empty()) text += " (" + detail + ")";
  return text;
}

std::string Printable(std::string_view bytes, std::size_t most) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const char c : bytes.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\r') {
      text += "\\r";
    } else if (c == '\n') {
      text += "\\n";
    } else if (byte >= 32 && byte < 127 && c != '"' && c != '\\') {
      text += c;
    } else {
      text += "\\x";
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    }
  }
  if (bytes.size() > most) text += "...";
  return text;
}

}  // namespace cobblestone::hub
