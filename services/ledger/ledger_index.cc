#include "services/ledger/ledger_index.h"

#include <utility>

#include "common/wire/control/control_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/head_peek.h"
#include "common/wire/ledger/grant_codec.h"

namespace cobblestone::ledger {
namespace {

using stream::AddKey;
using stream::KeyIndex;

// Big-endian, so that keys of one project, or of one account, are adjacent and in order.
void AppendNumber(std::uint64_t number, std::size_t bytes, std::string& key) {
  for (std::size_t i = bytes; i-- > 0;) key.push_back(static_cast<char>(number >> (8 * i)));
}

std::string ProjectKey(ProjectId project) {
  std::string key;
  AppendNumber(project.value, 4, key);
  return key;
}

std::string ResultKey(ProjectId project, ResultId result) {
  std::string key = ProjectKey(project);
  AppendNumber(result.value, 8, key);
  return key;
}

// Separate keys, because the number of trickles without payment is unlimited.
std::string TricklesKey(ProjectId project, ResultId result) { return ResultKey(project, result) + 't'; }

std::string AccountKey(ProjectId project, wire::AccountKind kind, std::uint64_t id) {
  std::string key(1, static_cast<char>(kind));
  AppendNumber(project.value, 4, key);
  AppendNumber(id, 8, key);
  return key;
}

// Of all grants with alarms. No other key has its length.
constexpr std::string_view kAlarmsKey = "alarms";

Result<std::vector<LedgerPlace>> Places(Result<std::vector<stream::RecordPlace>> found) {
  if (!found.ok()) return found.status();
  std::vector<LedgerPlace> places;
  for (const auto& place : *found) places.push_back({.partition = place.partition, .offset = place.offset});
  return places;
}

}  // namespace

Result<std::unique_ptr<LedgerIndex>> LedgerIndex::Open(const std::string& path, IndexedLogOf log_of,
                                                       std::uint32_t partitions) {
  std::unique_ptr<LedgerIndex> made(new LedgerIndex(path, std::move(log_of), partitions));
  auto grants =
      KeyIndex::Open(made->log_of_(wire::kGrants),
                     {.path = path + "/grants",
                      .name = "grants by project and result, 1",
                      .topic = wire::kGrants,
                      .partitions = partitions,
                      .keys = [](std::string_view record, const AddKey& add) {
                        wire::GrantHead head;
                        if (!wire::DecodeGrantHead(record, &head) || wire::IsHostMove(head.kind)) return;
                        if (!head.result) return;
                        add(head.kind == wire::GrantKind::kTrickle ? TricklesKey(head.project, head.result)
                                                                   : ResultKey(head.project, head.result));
                      }});
  if (!grants.ok()) return grants.status();
  made->grants_ = std::move(*grants);
  auto postings =
      KeyIndex::Open(made->log_of_(wire::kPostings),
                     {.path = path + "/postings",
                      .name = "postings by project and result, 1",
                      .topic = wire::kPostings,
                      .partitions = partitions,
                      .keys = [](std::string_view record, const AddKey& add) {
                        wire::Posting posting;
                        if (wire::IsPassedPosting(record) || !wire::DecodePosting(record, &posting)) return;
                        if (posting.result) add(ResultKey(posting.project, posting.result));
                      }});
  if (!postings.ok()) return postings.status();
  made->postings_ = std::move(*postings);
  return made;
}

Status LedgerIndex::Flush() {
  Status s = grants_->Flush();
  return s.ok() ? postings_->Flush() : s;
}

Status LedgerIndex::IndexForPeople() {
  auto grants = KeyIndex::Open(log_of_(wire::kGrants),
                               {.path = path_ + "/grants-by-account",
                                .name = "grants by user and by host, and alarms, 2",
                                .topic = wire::kGrants,
                                .partitions = partitions_,
                                .keys = [](std::string_view record, const AddKey& add) {
                                  wire::GrantHead head;
                                  if (!wire::DecodeGrantHead(record, &head) || wire::IsHostMove(head.kind) ||
                                      head.kind == wire::GrantKind::kEstimate || wire::IsNote(head.kind))
                                    return;
                                  if (head.user)
                                    add(AccountKey(head.project, wire::AccountKind::kUser, head.user.value));
                                  if (head.host)
                                    add(AccountKey(head.project, wire::AccountKind::kHost, head.host.value));
                                  if (wire::IsFinalOfClaim(record, credit::kClaimRising)) add(kAlarmsKey);
                                }});
  if (!grants.ok()) return grants.status();
  auto postings =
      KeyIndex::Open(log_of_(wire::kPostings),
                     {.path = path_ + "/postings-by-team",
                      .name = "postings by team, 1",
                      .topic = wire::kPostings,
                      .partitions = partitions_,
                      .keys = [](std::string_view record, const AddKey& add) {
                        wire::Posting posting;
                        if (wire::IsPassedPosting(record) || !wire::DecodePosting(record, &posting)) return;
                        if (posting.team)
                          add(AccountKey(posting.project, wire::AccountKind::kTeam, posting.team.value));
                      }});
  if (!postings.ok()) return postings.status();
  auto epochs =
      KeyIndex::Open(log_of_(wire::kControl), {.path = path_ + "/epochs",
                                               .name = "epochs by project, 1",
                                               .topic = wire::kControl,
                                               .partitions = 1,
                                               .keys = [](std::string_view record, const AddKey& add) {
                                                 wire::ControlView control;
                                                 if (!wire::DecodeControl(record, &control)) return;
                                                 if (control.kind == wire::ControlKind::kEpoch)
                                                   add(ProjectKey(control.head.project));
                                               }});
  if (!epochs.ok()) return epochs.status();
  epochs_ = std::move(*epochs);
  grants_to_ = std::move(*grants);
  postings_to_ = std::move(*postings);
  return Status::Ok();
}

Result<std::vector<LedgerPlace>> LedgerIndex::Grants(ProjectId project, ResultId result) {
  return Places(grants_->Find(ResultKey(project, result)));
}

Result<std::vector<LedgerPlace>> LedgerIndex::Trickles(ProjectId project, ResultId result,
                                                       std::size_t limit) {
  return Places(grants_->FindLast(TricklesKey(project, result), limit));
}

Result<std::vector<LedgerPlace>> LedgerIndex::Postings(ProjectId project, ResultId result) {
  return Places(postings_->Find(ResultKey(project, result)));
}

Result<std::vector<LedgerPlace>> LedgerIndex::NewestTo(ProjectId project, wire::AccountKind kind,
                                                       std::uint64_t id, std::size_t limit) {
  KeyIndex* index = kind == wire::AccountKind::kTeam ? postings_to_.get() : grants_to_.get();
  if (index == nullptr)
    return Status::Retry("the ledger is not indexed by account, because this process serves no gateway");
  return Places(index->FindLast(AccountKey(project, kind, id), limit));
}

Result<std::vector<LedgerPlace>> LedgerIndex::Alarms(std::size_t limit) {
  if (grants_to_ == nullptr)
    return Status::Retry("alarms are not indexed, because this process serves no gateway");
  return Places(grants_to_->FindLast(kAlarmsKey, limit));
}

Result<std::vector<LedgerPlace>> LedgerIndex::Epochs(ProjectId project) {
  if (epochs_ == nullptr)
    return Status::Retry("epochs are not indexed, because this process serves no gateway");
  return Places(epochs_->Find(ProjectKey(project)));
}

}  // namespace cobblestone::ledger
