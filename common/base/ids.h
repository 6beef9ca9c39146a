// Strong identifiers: a HostId is not a UserId. Each wraps the project's own number; 0 means "none" unless
// stated otherwise.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace cobblestone {

template <class Tag, class Rep = std::uint64_t>
struct Id {
  Rep value{};

  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  constexpr explicit operator bool() const { return value != 0; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using ProjectId = Id<struct ProjectTag, std::uint32_t>;
using ResultId = Id<struct ResultTag>;
using WorkunitId = Id<struct WorkunitTag>;
using HostId = Id<struct HostTag>;
using UserId = Id<struct UserTag>;
using TeamId = Id<struct TeamTag>;
using AppId = Id<struct AppTag>;

// > 0: a version of the project. Anonymous platform: -2 CPU, -3 NVIDIA, -4 AMD, -5 Intel, -6 Apple
// (docs/rules.md, section 14).
struct AppVersionId {
  std::int64_t value = 0;

  constexpr AppVersionId() = default;
  constexpr explicit AppVersionId(std::int64_t v) : value(v) {}
  [[nodiscard]] constexpr bool anonymous() const { return value < 0; }
  friend constexpr auto operator<=>(AppVersionId, AppVersionId) = default;
};

}  // namespace cobblestone

template <class Tag, class Rep>
struct std::hash<cobblestone::Id<Tag, Rep>> {
  std::size_t operator()(cobblestone::Id<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value); }
};
