// Marks a field in a Fields() list that rows have from some schema version on (stream::TableSpec). When an
// older row is read, the field keeps its initial value.
//
//   f(s.kind, s.constants, AddedIn<2>(s.trickles));
#pragma once

#include <cstdint>

namespace cobblestone {

template <std::uint8_t kVersion, class T>
struct AddedField {
  static constexpr std::uint8_t kAddedIn = kVersion;
  T& value;
};

template <std::uint8_t kVersion, class T>
AddedField<kVersion, T> AddedIn(T& value) {
  return {value};
}

}  // namespace cobblestone
