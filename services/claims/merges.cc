// Hosts that become another one of the same owner (semantics.md, section 7): the part of ClaimsStage that ends them. What is
// still out of an ended host is priced with its own statistics, which stay with its number, as its quotas do; what comes of it
// ACCOUNTS gives to the other one (services/accounts/host_merges.h), and it alone knows whether both are of one owner. Events of
// such a result go on under the ended number.
#include "common/wire/grant_codec.h"
#include "common/wire/refuse.h"
#include "services/claims/claims_stage.h"

namespace cobblestone::claims {

using stream::Emitter;
using stream::Key;
using stream::RecordView;
using wire::RefusalReason;

void ClaimsStage::OnMerge(const RecordView& record, const wire::EventHead& head, const wire::HostMerge& merge,
                          Emitter& out) {
  const Key key{.project = head.project.value, .id = merge.host.value, .sub = 0};
  const HostState* known = hosts_.Find(key);
  const std::string name = "host " + std::to_string(merge.host.value);
  const auto refuse = [&](RefusalReason reason, std::string detail) {
    wire::Refuse(record, head.project, reason, std::move(detail), out);
  };
  if (known == nullptr || !known->record.known)
    return refuse(RefusalReason::kUnknownHost, "no event has named " + name + "; name it and say this again");
  const wire::Word word = wire::WordOf(head, record.value);
  if (known->merge.said()) {
    if (wire::StandingOf(word, known->merge) == wire::Standing::kRepeat) {
      ++duplicates_;
      return;
    }
    return refuse(word.id == known->merge.id ? RefusalReason::kDuplicateWithOtherContents
                                             : RefusalReason::kAlreadyDecided,
                  name + " has become host " + std::to_string(known->into.value));
  }
  if (known->record.deleted) return refuse(RefusalReason::kUnknownHost, "the row of " + name + " is gone");
  if (!known->record.user)
    return refuse(RefusalReason::kUnknownUser,
                  name + " is nobody's; hosts of one owner can become one, and no others");
  HostState& state = hosts_.Mutable(key);
  state.merge = word;
  state.into = merge.into;
  wire::TakeProfile<wire::HostProfile>(word, true, std::nullopt, false, key, profiles_);
  bytes_.clear();
  const UserId owner = state.record.user;
  wire::EncodeGrant({.project = head.project,
                     .user = owner,
                     .host = merge.host,
                     .time = head.time,
                     .kind = wire::GrantKind::kHostMerged},
                    {.line = record.line}, {}, {}, &bytes_, {.into = merge.into});
  out.Emit(wire::kGrants, wire::OwnerPartition(head.project, owner, merge.host, options_.partitions), bytes_);
}

}  // namespace cobblestone::claims
