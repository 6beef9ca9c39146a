// Hosts that become another one of the same owner (docs/rules.md, section 34): the part of ClaimsStage that ends them. What is
// still out of an ended host is priced with its own statistics, which stay with its number, as its quotas do; what comes of it
// ACCOUNTS gives to the other one (services/accounts/host_merges.h), and it alone knows whether both are of one owner. Whose the
// other one is its own partition of CLAIMS knows, from its first event on: it is asked (HostAsked, on `hosts`), and answers in the
// ledger, in the partition of whoever asks (HOST_NAMED, HOST_OTHERS); where it does not know yet it tells the owner's later. A job
// of such a result goes on under the ended number, whichever of both its events name (handed.h).
#include "common/wire/events/facts.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/claims/claims_stage.h"
#include "services/stage/refuse.h"

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
    return refuse(RefusalReason::kUnknownHost,
                  "unknown " + name + "; send the host's event first, then resubmit this event");
  const wire::Word word = wire::WordOfFacts(head, record.value);
  if (known->merge.said()) {
    if (wire::IsRepeat(word, known->merge)) {
      ++duplicates_;
      return;
    }
    return refuse(word.id == known->merge.id ? RefusalReason::kDuplicateWithOtherContents
                                             : RefusalReason::kAlreadyDecided,
                  name + " was merged into host " + std::to_string(known->into.value));
  }
  if (known->record.deleted)
    return refuse(RefusalReason::kUnknownHost, "the row of " + name + " was deleted");
  if (!known->record.user)
    return refuse(RefusalReason::kUnknownUser,
                  name + " has no owner; only hosts of the same owner can be merged");
  HostState& state = hosts_.Mutable(key);
  state.merge = word;
  state.into = merge.into;
  wire::TakeProfile(word, true, wire::HostProfile{}, false, key, profiles_);
  bytes_.clear();
  const UserId owner = state.record.user;
  wire::EncodeGrant({.project = head.project,
                     .user = owner,
                     .host = merge.host,
                     .time = head.time,
                     .kind = wire::GrantKind::kHostMerged},
                    {.line = record.line}, {}, {}, &bytes_, {.into = merge.into});
  out.Emit(wire::kGrants, wire::OwnerPartition(head.project, owner, merge.host, options_.partitions), bytes_);
  Ask(record, head, {.host = merge.into, .user = owner}, out);
  TellHeirOfAll(head.project, merge.host, record.line, out);
}

// In lockstep it has the merge's line, as all that is read there has one, and is read in the merge's own period, whichever
// partition asks: before the period ends a mark passes everywhere behind the merge, and what was made of the merge lies in front
// of the next mark.
void ClaimsStage::Ask(const RecordView& record, const wire::EventHead& head, const wire::HostAsked& asked,
                      Emitter& out) {
  SendOwn(head.project, asked.host, {.head = head, .body = asked}, record.line, out);
}

// There is always an answer: until it has come ACCOUNTS gives no merge up. Whoever asks hears of this host and user what every
// event about the host says anyway.
void ClaimsStage::OnAsked(const wire::EventHead& head, const wire::HostAsked& asked, Emitter& out) {
  const Key key{.project = head.project.value, .id = asked.host.value, .sub = 0};
  const HostState* known = hosts_.Find(key);
  const bool is_known = known != nullptr && known->record.known;
  const bool is_his = is_known && known->record.user == asked.user;
  if (!is_known && !(known != nullptr && known->asked)) hosts_.Mutable(key).asked = true;
  Tell(head, is_his ? wire::GrantKind::kHostNamed : wire::GrantKind::kHostOthers, asked.host, asked.user,
       out);
}

void ClaimsStage::Tell(const wire::EventHead& head, wire::GrantKind kind, HostId host, UserId user,
                       Emitter& out) {
  bytes_.clear();
  wire::EncodeGrant({.project = head.project, .user = user, .host = host, .time = head.time, .kind = kind},
                    {}, {}, {}, &bytes_);
  out.Emit(wire::kGrants, wire::OwnerPartition(head.project, user, host, options_.partitions), bytes_);
}

}  // namespace cobblestone::claims
