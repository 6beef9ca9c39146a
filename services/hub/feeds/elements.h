// The elements of a text without attributes, one after the other. No XML parser: real files have raw `&` and `<` in
// texts, and a byte that is no character (tests/golden/export/README.md, "Text").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "services/hub/feeds/byte_scan.h"

namespace cobblestone::hub {

inline bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Usage: while (scan.Next()) use(scan.tag(), scan.value()); if (scan.bad()) ...
class ElementScan {
 public:
  explicit ElementScan(std::string_view text) : rest_(text) {}

  // The next element at this depth; false: no more, or bad().
  bool Next() {
    tag_ = value_ = {};
    std::size_t begin = 0;
    while (begin < rest_.size() && IsBlank(rest_[begin])) ++begin;
    rest_.remove_prefix(begin);
    if (rest_.empty()) return false;
    const std::size_t end = rest_[0] == '<' ? rest_.find('>') : std::string_view::npos;
    if (end == std::string_view::npos || end < 2) return Bad();
    tag_ = rest_.substr(1, end - 1);
    if (tag_.back() == '/') {
      tag_.remove_suffix(1);
      rest_.remove_prefix(end + 1);
      return true;
    }
    return ReadValue(end + 1);
  }

  [[nodiscard]] std::string_view tag() const { return tag_; }
  [[nodiscard]] std::string_view value() const { return value_; }
  // The text does not continue with an element, or the element `tag` has no end.
  [[nodiscard]] bool bad() const { return bad_; }
  // Where reading stopped, for a message.
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  static constexpr std::string_view kCdata = "<![CDATA[";
  static constexpr int kMostCdata = 8;

  bool Bad() {
    bad_ = true;
    return false;
  }

  bool ReadValue(std::size_t begin) {
    const std::string_view from = rest_.substr(begin);
    std::size_t length = from.find('<');
    if (length == std::string_view::npos) return Bad();
    if (!IsEnd(from.substr(length))) {
      // The contents of CDATA are not escaped and may contain ]]> and tags: the last end of such an element counts. Each
      // search for one reads the whole rest, so only the first few are made; BOINC writes two.
      length = from.substr(length).starts_with(kCdata) && cdata_++ < kMostCdata ? LastEnd(from)
                                                                                : FirstEnd(from, length);
    }
    if (length == std::string_view::npos) return Bad();
    value_ = from.substr(0, length);
    rest_ = from.substr(length + tag_.size() + 3);
    return true;
  }

  [[nodiscard]] bool IsEnd(std::string_view text) const {
    return text.size() >= tag_.size() + 3 && text[1] == '/' && text[tag_.size() + 2] == '>' &&
           SameShort(text.substr(2, tag_.size()), tag_);
  }
  [[nodiscard]] std::size_t FirstEnd(std::string_view from, std::size_t at) const {
    for (at = from.find("</", at); at != std::string_view::npos; at = from.find("</", at + 2))
      if (IsEnd(from.substr(at))) return at;
    return std::string_view::npos;
  }
  // Looks for `]`, which is rare behind such a value.
  [[nodiscard]] std::size_t LastEnd(std::string_view from) const {
    constexpr std::string_view kEnd = "]]></";
    std::size_t end = from.size();
    while (const void* const found = ::memrchr(from.data(), ']', end)) {
      end = static_cast<std::size_t>(static_cast<const char*>(found) - from.data());
      if (end > 1 && from.substr(end - 1).starts_with(kEnd) && IsEnd(from.substr(end + 2))) return end + 2;
    }
    return std::string_view::npos;
  }

  std::string_view rest_;
  std::string_view tag_{};
  std::string_view value_{};
  int cdata_ = 0;  // values that begin with it, so far
  bool bad_ = false;
};

// Finds the number of a tag in a table; nearly all records have their elements in one order, so the search begins
// behind the element found last.
template <std::size_t kCount>
class TagTable {
 public:
  explicit constexpr TagTable(const std::array<std::string_view, kCount>& tags) : tags_(tags) {}

  // kCount: not in the table.
  std::size_t Find(std::string_view tag) {
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::size_t at = next_ + i < kCount ? next_ + i : next_ + i - kCount;
      if (!SameShort(tags_[at], tag)) continue;
      next_ = at + 1 < kCount ? at + 1 : 0;
      return at;
    }
    return kCount;
  }

 private:
  const std::array<std::string_view, kCount>& tags_;
  std::size_t next_ = 0;
};

}  // namespace cobblestone::hub
