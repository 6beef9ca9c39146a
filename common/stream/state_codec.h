// Canonical encoding of state values: the same value gives the same bytes on every machine and build. The
// codec walks a struct's Fields() list. Integers, including 128-bit, are varints (signed: zigzag); doubles
// are their 8 bytes; containers are a count and their elements, maps in key order.
//
// The first byte of a stored value is its schema version (see Table); this codec does not see it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cobblestone::stream {

template <class T>
concept HasFields = requires(T& t) {
  T::Fields(t, [](auto&&...) {});
};

// common/base/added_in.h
template <class T>
concept IsAddedField = requires(const T& t) {
  T::kAddedIn;
  t.value;
};

static_assert(std::endian::native == std::endian::little, "fingerprints take scalars as they lie in memory");

template <class T>
concept IsWrappedId = requires(T t) {
  t.value;
}
&&!HasFields<T> && std::is_trivially_copyable_v<T> && sizeof(T) <= 8;

// Used by EncodeState(). Appends to `out` through an internal buffer; the output is complete when the writer
// is destroyed.
class StateWriter {
 public:
  explicit StateWriter(std::string& out) : out_(out) {}
  ~StateWriter() { Spill(); }
  StateWriter(const StateWriter&) = delete;
  StateWriter& operator=(const StateWriter&) = delete;

  template <class... T>
  void operator()(const T&... values) {
    (Put(values), ...);
  }

  template <class T>
  void Put(const T& v) {
    if constexpr (HasFields<T>) {
      T::Fields(v, *this);
    } else if constexpr (IsAddedField<T>) {
      Put(v.value);
    } else if constexpr (std::is_same_v<T, bool>) {
      Byte(v ? 1 : 0);
    } else if constexpr (std::is_enum_v<T>) {
      Varint(static_cast<std::uint64_t>(v));
    } else if constexpr (std::is_floating_point_v<T>) {
      Fixed(std::bit_cast<std::uint64_t>(v));
    } else if constexpr (sizeof(T) == 16 && !IsWrappedId<T> && IsInt128<T>) {
      const auto u = static_cast<unsigned __int128>(v);
      Wide((u << 1) ^ static_cast<unsigned __int128>(v >> 127));
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      const auto w = static_cast<std::int64_t>(v);
      Varint((static_cast<std::uint64_t>(w) << 1) ^ static_cast<std::uint64_t>(w >> 63));
    } else if constexpr (std::is_integral_v<T>) {
      Varint(v);
    } else if constexpr (IsWrappedId<T>) {
      Put(v.value);
    } else {
      PutContainer(v);
    }
  }

 private:
  template <class T>
  static constexpr bool IsInt128 = std::is_same_v<T, __int128>;

  static constexpr std::size_t kLongest = 10;  // bytes of one varint of 64 bits

  void Spill() {
    out_.append(buffer_, used_);
    used_ = 0;
  }
  void Room() {
    if (used_ > sizeof buffer_ - kLongest) Spill();
  }
  void Byte(int v) {
    Room();
    buffer_[used_++] = static_cast<char>(v);
  }
  void Varint(std::uint64_t v) {
    Room();
    std::size_t n = used_;
    while (v >= 0x80) {
      buffer_[n++] = static_cast<char>(v | 0x80);
      v >>= 7;
    }
    buffer_[n++] = static_cast<char>(v);
    used_ = n;
  }
  // Nearly all values fit into 64 bits.
  void Wide(unsigned __int128 v) {
    while (v >> 64 != 0) {
      Byte(static_cast<int>(v & 0x7f) | 0x80);
      v >>= 7;
    }
    Varint(static_cast<std::uint64_t>(v));
  }
  void Fixed(std::uint64_t v) {
    Room();
    std::memcpy(buffer_ + used_, &v, 8);
    used_ += 8;
  }
  void PutContainer(const std::string& v) {
    Varint(v.size());
    if (v.size() <= sizeof buffer_ - used_) {
      std::memcpy(buffer_ + used_, v.data(), v.size());
      used_ += v.size();
      return;
    }
    Spill();
    out_.append(v);
  }
  template <class T>
  void PutContainer(const std::vector<T>& v) {
    Varint(v.size());
    for (const auto& x : v) Put(x);
  }
  template <class K, class V>
  void PutContainer(const std::map<K, V>& v) {
    Varint(v.size());
    for (const auto& [key, value] : v) {
      Put(key);
      Put(value);
    }
  }
  template <class T>
  void PutContainer(const std::optional<T>& v) {
    Byte(v ? 1 : 0);
    if (v) Put(*v);
  }

  std::string& out_;
  std::size_t used_ = 0;
  char buffer_[512];
};

template <class T>
void EncodeState(const T& value, std::string& out) {
  StateWriter writer(out);
  writer(value);
}

// Writes the same values for a fingerprint that is never decoded: scalars in their memory layout. This is
// faster than varints and equally canonical (fixed-size integers and floating point, little endian
// everywhere).
template <class Sink>
class FingerprintWriter {
 public:
  explicit FingerprintWriter(Sink& sink) : sink_(sink) {}

  template <class... T>
  void operator()(const T&... values) {
    (Put(values), ...);
  }

  template <class T>
  void Put(const T& v) {
    if constexpr (HasFields<T>) {
      T::Fields(v, *this);
    } else if constexpr (IsAddedField<T>) {
      Put(v.value);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, __int128> ||
                         IsWrappedId<T>) {
      static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);
      sink_.Scalar(v);
    } else {
      PutContainer(v);
    }
  }

 private:
  void PutContainer(const std::string& v) {
    sink_.Scalar(static_cast<std::uint64_t>(v.size()));
    sink_.Bytes(v);
  }
  template <class T>
  void PutContainer(const std::vector<T>& v) {
    sink_.Scalar(static_cast<std::uint64_t>(v.size()));
    if constexpr (std::has_unique_object_representations_v<T>) {
      // No padding.
      sink_.Bytes({reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T)});
    } else {
      for (const auto& x : v) Put(x);
    }
  }
  template <class K, class V>
  void PutContainer(const std::map<K, V>& v) {
    sink_.Scalar(static_cast<std::uint64_t>(v.size()));
    for (const auto& [key, value] : v) {
      Put(key);
      Put(value);
    }
  }
  template <class T>
  void PutContainer(const std::optional<T>& v) {
    Put(v.has_value());
    if (v) Put(*v);
  }

  Sink& sink_;
};

// Decodes the output of StateWriter. After invalid input ok() is false and the values read are meaningless.
class StateReader {
 public:
  // `version`: schema version of the row (see AddedIn).
  explicit StateReader(std::string_view in, std::uint8_t version = 255)
      : at_(in.data()), end_(in.data() + in.size()), version_(version) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool done() const { return ok_ && at_ == end_; }

  template <class... T>
  void operator()(T&&... values) {
    (Get(values), ...);
  }

  template <class T>
  void Get(T& v) {
    if constexpr (HasFields<T>) {
      T::Fields(v, *this);
    } else if constexpr (IsAddedField<T>) {
      if (version_ >= T::kAddedIn) Get(v.value);
    } else if constexpr (std::is_same_v<T, bool>) {
      v = Byte() != 0;
    } else if constexpr (std::is_enum_v<T>) {
      v = static_cast<T>(Varint());
    } else if constexpr (std::is_floating_point_v<T>) {
      v = std::bit_cast<T>(Fixed());
    } else if constexpr (std::is_same_v<T, __int128>) {
      v = Wide();
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      const std::uint64_t u = Varint();
      v = static_cast<T>(static_cast<std::int64_t>((u >> 1) ^ (~(u & 1) + 1)));
    } else if constexpr (std::is_integral_v<T>) {
      v = static_cast<T>(Varint());
    } else if constexpr (IsWrappedId<T>) {
      Get(v.value);
    } else {
      GetContainer(v);
    }
  }

 private:
  std::uint8_t Byte() {
    if (at_ == end_) {
      ok_ = false;
      return 0;
    }
    return static_cast<std::uint8_t>(*at_++);
  }
  std::uint64_t Varint() {
    std::uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t b = Byte();
      v |= static_cast<std::uint64_t>(b & 0x7f) << shift;
      if (b < 0x80) return v;
    }
    ok_ = false;
    return 0;
  }
  __int128 Wide() {
    unsigned __int128 v = 0;
    for (int shift = 0; shift < 128; shift += 7) {
      const std::uint8_t b = Byte();
      v |= static_cast<unsigned __int128>(b & 0x7f) << shift;
      if (b < 0x80) return static_cast<__int128>((v >> 1) ^ (~(v & 1) + 1));
    }
    ok_ = false;
    return 0;
  }
  std::uint64_t Fixed() {
    if (end_ - at_ < 8) {
      ok_ = false;
      at_ = end_;
      return 0;
    }
    std::uint64_t v = 0;
    std::memcpy(&v, at_, 8);
    at_ += 8;
    return v;
  }
  // A count larger than the number of bytes left is invalid; checked before any allocation.
  std::size_t Count() {
    const std::uint64_t n = Varint();
    if (n > static_cast<std::uint64_t>(end_ - at_)) {
      ok_ = false;
      return 0;
    }
    return static_cast<std::size_t>(n);
  }
  void GetContainer(std::string& v) {
    const std::size_t n = Count();
    v.assign(at_, n);
    at_ += n;
  }
  template <class T>
  void GetContainer(std::vector<T>& v) {
    const std::size_t n = Count();
    v.clear();
    v.resize(n);
    for (auto& x : v) Get(x);
  }
  template <class K, class V>
  void GetContainer(std::map<K, V>& v) {
    const std::size_t n = Count();
    v.clear();
    for (std::size_t i = 0; i < n && ok_; ++i) {
      K key{};
      Get(key);
      Get(v[key]);
    }
  }
  template <class T>
  void GetContainer(std::optional<T>& v) {
    if (Byte() == 0) {
      v.reset();
      return;
    }
    v.emplace();
    Get(*v);
  }

  const char* at_;
  const char* end_;
  std::uint8_t version_;
  bool ok_ = true;
};

}  // namespace cobblestone::stream
