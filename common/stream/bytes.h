// Fixed-width numbers in stored bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace cobblestone::stream {

static_assert(std::endian::native == std::endian::little, "stored numbers are copied as they lie in memory");

template <class T>
void StoreNumber(char* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

template <class T>
T LoadNumber(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Big-endian: byte order is numeric order.
template <class T>
void AppendOrdered(std::string& out, T value) {
  for (int shift = static_cast<int>(sizeof value) * 8 - 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift));
  }
}

template <class T>
T LoadOrdered(const char* at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) {
    value = static_cast<T>(value << 8 | static_cast<unsigned char>(at[i]));
  }
  return value;
}

}  // namespace cobblestone::stream
