// Records which event set each field of a row that partial events write. The newest event that contains a
// field, by (time, id), determines its value, whatever the order of arrival. If every event contains all
// fields, the newest event determines the whole row.
#pragma once

#include <cstdint>
#include <vector>

#include "common/wire/events/event_stamp.h"

namespace cobblestone::wire {

// Fields that the row's newest event does not contain. Id 0: no event has set them.
struct EarlierFields {
  FieldMask fields = 0;
  double time = 0;       // of the event that set them, UNIX s
  std::uint64_t id = 0;  // and its id

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.fields, s.time, s.id);
  }
};

// State, kept with the stamp of the newest event, ordered by (time, id). Each field is in at most one element;
// no element is empty.
using FieldStamps = std::vector<EarlierFields>;

// The fields in `present`, which the event `stamp` contains, that no newer event has set. `newest`: the row's
// newest event before it.
[[nodiscard]] FieldMask NewerFields(const EventStamp& stamp, FieldMask present, const EventStamp& newest,
                                    const FieldStamps& earlier);

// Records that the event `stamp` set the fields in `present`. `all`: the fields of the row.
void StampFields(const EventStamp& stamp, FieldMask present, FieldMask all, EventStamp* newest,
                 FieldStamps* earlier);

}  // namespace cobblestone::wire
