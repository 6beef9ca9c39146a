// In a Fields() list: a field that rows of a table have from some version on (stream::TableSpec). In a row of an older one it
// keeps what it is initialised with.
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
