#include "common/stream/kafka/group_watch.h"

#include <set>

namespace cobblestone::stream::kafka {

namespace {

constexpr int kLooks = 3;

}  // namespace

bool GroupWatch::Unowned(Group& group, Time now) {
  if (!asked_ && now < next_) return false;
  asked_ = true;
  const auto view = group.View();
  if (!view) return false;
  asked_ = false;
  next_ = now + every_;
  unowned_ = WeMustAct(*view) ? unowned_ + 1 : 0;
  if (unowned_ < kLooks) return false;
  unowned_ = 0;
  return true;
}

// Only one member acts: the member with the smallest id.
bool GroupWatch::WeMustAct(const GroupView& view) const {
  std::set<std::uint32_t> owned;
  for (const GroupMember& member : view.members) {
    if (member.id < view.self) return false;
    owned.insert(member.slots.begin(), member.slots.end());
  }
  return !view.members.empty() && owned.size() < slots_;
}

}  // namespace cobblestone::stream::kafka
