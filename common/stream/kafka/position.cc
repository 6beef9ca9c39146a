#include "common/stream/kafka/position.h"

#include <sstream>

namespace cobblestone::stream::kafka {

namespace {
constexpr std::string_view kFormat = "slot-1";
}

std::string EncodePosition(const Position& position) {
  std::ostringstream out;
  out << kFormat << " sequence " << position.sequence << " checkpoint " << position.checkpoint_sequence
      << " end " << position.checkpoint_end << (position.released ? " released" : " owner") << " "
      << position.owner;
  if (!position.build.empty()) out << " build " << position.build;
  out << " rules " << position.rules_version;
  if (position.care != Care{}) {
    const Care& care = position.care;
    out << " care " << care.level << " tries " << care.tries << " input " << care.input << " offset "
        << care.offset << " skipped " << care.skipped;
  }
  return out.str();
}

Result<Position> DecodePosition(std::uint64_t offset, std::string_view metadata) {
  std::istringstream in{std::string(metadata)};
  Position position{.journal_next = offset};
  std::string format;
  std::string words[4];
  in >> format >> words[0] >> position.sequence >> words[1] >> position.checkpoint_sequence >> words[2] >>
      position.checkpoint_end >> words[3] >> position.owner;
  if (in.fail() || format != kFormat || words[0] != "sequence" || words[1] != "checkpoint" ||
      words[2] != "end" || (words[3] != "released" && words[3] != "owner"))
    return Status::Corrupted("the committed offset " + std::to_string(offset) +
                             " has metadata of another program: '" + std::string(metadata) +
                             "'. Check for another program with the same group.id");
  position.released = words[3] == "released";
  Care& care = position.care;
  for (std::string word; in >> word;) {
    if (word == "build")
      in >> position.build;
    else if (word == "rules")
      in >> position.rules_version;
    else if (word == "care")
      in >> care.level;
    else if (word == "tries")
      in >> care.tries;
    else if (word == "input")
      in >> care.input;
    else if (word == "offset")
      in >> care.offset;
    else if (word == "skipped")
      in >> care.skipped;
    else
      in >> word;  // a field of a newer program
  }
  return position;
}

}  // namespace cobblestone::stream::kafka
