// Which event told each field of a row that partial events write: of each field the newest event that has it counts, by (time, id),
// in whatever order the events come. Where every event has all fields, the newest event is in force as a whole.
#pragma once

#include <cstdint>
#include <vector>

#include "common/wire/word.h"

namespace cobblestone::wire {

// Fields whose value the newest event did not tell. Id 0: no event has told them.
struct EarlierFields {
  FieldMask fields = 0;
  double time = 0;       // of the event that told them, UNIX s
  std::uint64_t id = 0;  // and its id

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.fields, s.time, s.id);
  }
};

// State: beside the word of the newest event, in order of (time, id). No field is in two of them, none is empty.
using FieldWords = std::vector<EarlierFields>;

// Of the fields that the event `word` tells, those that no newer event has told. `newest`: the row's newest event before it.
[[nodiscard]] FieldMask NewsIn(const Word& word, FieldMask told, const Word& newest,
                               const FieldWords& earlier);

// The event `word` told these fields. `all`: the fields of the row.
void TellFields(const Word& word, FieldMask told, FieldMask all, Word* newest, FieldWords* earlier);

}  // namespace cobblestone::wire
