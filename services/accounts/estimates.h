// What estimates have come to (docs/rules.md, sections 42 and 43): a part of ACCOUNTS with rows of its own.
//
// Estimates stay with the owner under whom they were made, as grants do: a host's row lies in the partition of each of its
// owners and holds those that it has had there. So nothing has to move with a host's account, and whatever the order of its
// events, what was estimated under one owner is settled by what was granted under the same. Of a host that becomes another one
// the estimates under the owner of both go to that one, as what is reported or granted under its number later does.
//
// Invariant: a project's row is the sum of all its hosts' in this partition.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/credit/accounts/day_history.h"
#include "common/credit/estimates/estimate_account.h"
#include "common/stream/table.h"

namespace cobblestone::accounts {

// By host.
struct HostEstimates {
  std::vector<credit::OwnerEstimates> owners;  // in the order of their first estimate

  [[nodiscard]] std::uint32_t NumberOf(const credit::OwnerEstimates& owner) const {
    return static_cast<std::uint32_t>(&owner - owners.data());
  }
  // Null: nothing was estimated of it under this owner.
  [[nodiscard]] credit::OwnerEstimates* Of(UserId user) {
    const auto at =
        std::find_if(owners.begin(), owners.end(), [user](const auto& one) { return one.user == user; });
    return at == owners.end() ? nullptr : &*at;
  }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.owners);
  }
};

// By project; `id` 0.
struct ProjectEstimates {
  credit::EstimateSums sums;
  credit::MicroTotal open = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.sums, s.open);
  }
};

// From version 3 on days tell of failed jobs, those in rows of their own too.
inline constexpr stream::TableSpec<HostEstimates> kHostEstimatesTable{.id = 44, .version = 3};
// By user.
inline constexpr stream::TableSpec<credit::UserEstimates> kUserEstimatesTable{.id = 45, .version = 3};
// Older days of both (wire/day_rows.h): from version 2 of their tables on.
inline constexpr stream::TableSpec<credit::DayBlock<credit::EstimateDay>> kHostEstimateDaysTable{
    .id = 72, .version = 3};
inline constexpr stream::TableSpec<credit::DayBlock<credit::EstimateDay>> kUserEstimateDaysTable{
    .id = 73, .version = 3};
inline constexpr stream::TableSpec<ProjectEstimates> kProjectEstimatesTable{.id = 75, .version = 3};
inline constexpr stream::TableSpec<credit::DayBlock<credit::EstimateDay>> kProjectEstimateDaysTable{
    .id = 76, .version = 3};

}  // namespace cobblestone::accounts
