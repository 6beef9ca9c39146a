// Hosts that become another host of the same owner (docs/rules.md, section 34): the part of ClaimsStage that
// ends them. Outstanding results of an ended host are priced with its own statistics, which stay with its
// number, as do its quotas. ACCOUNTS adds their grants to the other host (services/accounts/host_merges.h), and
// only ACCOUNTS knows whether both hosts have one owner. The owner of the other host is known to its own
// partition of CLAIMS, from its first event on. That partition receives a question (HostAsked, on `hosts`) and
// answers in the ledger, in the partition of the asking user (HOST_NAMED, HOST_OTHERS). If it does not know the
// owner yet, it answers later. A running job of an ended host continues under the ended number, whichever of
// the two numbers its events name (forwarding.h).
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
    stage::Refuse(record, head.project, reason, std::move(detail), out);
  };
  if (known == nullptr || !known->record.known)
    return refuse(RefusalReason::kUnknownHost,
                  "unknown " + name + "; send the host's event first, then resubmit this event");
  const wire::EventStamp stamp = wire::StampOfFacts(head, record.value);
  if (known->merge.is_set()) {
    if (wire::IsRepeat(stamp, known->merge)) {
      ++duplicates_;
      return;
    }
    return refuse(stamp.id == known->merge.id ? RefusalReason::kDuplicateWithOtherContents
                                              : RefusalReason::kAlreadyDecided,
                  name + " was merged into host " + std::to_string(known->into.value));
  }
  if (known->record.deleted)
    return refuse(RefusalReason::kUnknownHost, "the row of " + name + " was deleted");
  if (!known->record.user)
    return refuse(RefusalReason::kUnknownUser,
                  name + " has no owner; only hosts of the same owner can be merged");
  HostState& state = hosts_.Mutable(key);
  state.merge = stamp;
  state.into = merge.into;
  stage::TakeProfile(stamp, true, wire::HostProfile{}, false, key, profiles_);
  bytes_.clear();
  const UserId owner = state.record.user;
  wire::EncodeGrant({.project = head.project,
                     .user = owner,
                     .host = merge.host,
                     .time = head.time,
                     .kind = wire::GrantKind::kHostMerged},
                    {.line = record.line}, {}, {}, &bytes_, {.into = merge.into});
  out.Emit(wire::kGrants, wire::OwnerPartition(head.project, owner, merge.host, options_.partitions), bytes_);
  AskOwner(record, head, {.host = merge.into, .user = owner}, out);
  SendHoldersToMergeTarget(head.project, merge.host, record.line, out);
}

// In lockstep the question has the line of the merge, because every record has a line. The question is read in
// the period of the merge, whichever partition asks: between the merge and the end of its period a watermark
// passes in all partitions, and all consequences of the merge are before the next watermark.
void ClaimsStage::AskOwner(const RecordView& record, const wire::EventHead& head,
                           const wire::HostAsked& asked, Emitter& out) {
  SendToPeer(head.project, asked.host, {.head = head, .body = asked}, record.line, out);
}

// Every question is answered: until the answer arrives, ACCOUNTS does not drop the merge. The answer about this
// host and user reveals only what every event about the host contains.
void ClaimsStage::OnOwnerQuestion(const wire::EventHead& head, const wire::HostAsked& asked, Emitter& out) {
  const Key key{.project = head.project.value, .id = asked.host.value, .sub = 0};
  const HostState* known = hosts_.Find(key);
  const bool is_known = known != nullptr && known->record.known;
  const bool is_owner = is_known && known->record.user == asked.user;
  if (!is_known && !(known != nullptr && known->asked)) hosts_.Mutable(key).asked = true;
  EmitOwnerAnswer(head, is_owner ? wire::GrantKind::kHostNamed : wire::GrantKind::kHostOthers, asked.host,
                  asked.user, out);
}

void ClaimsStage::EmitOwnerAnswer(const wire::EventHead& head, wire::GrantKind kind, HostId host, UserId user,
                                  Emitter& out) {
  bytes_.clear();
  wire::EncodeGrant({.project = head.project, .user = user, .host = host, .time = head.time, .kind = kind},
                    {}, {}, {}, &bytes_);
  out.Emit(wire::kGrants, wire::OwnerPartition(head.project, user, host, options_.partitions), bytes_);
}

}  // namespace cobblestone::claims
