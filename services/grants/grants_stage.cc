#include "services/grants/grants_stage.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "common/credit/accounts/account.h"
#include "common/credit/policies/policy.h"
#include "common/credit/trickles/partial_settlement.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/claim_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/stage/inbox.h"
#include "services/stage/refuse.h"
#include "services/stage/settled_partials.h"

namespace cobblestone::grants {

using stream::DayOf;
using stream::Emitter;
using stream::Key;
using stream::RecordView;

namespace {

// Tables of the calendar and of watermarks.
enum TableId : std::uint8_t { kDaysTable = 19, kChunksTable = 20, kWatermarkTable = 21 };

// Blocks examined with each tick, and with each commit while blocks of an ended day are left. The limits bound
// a stall to a few milliseconds, and still examine more blocks per second than can be decided.
constexpr std::size_t kForgetAtTick = 1000;
constexpr std::size_t kForgetAtCommit = 50;

constexpr std::uint64_t kPlaceMask = (1u << wire::kWorkunitBlockBits) - 1;

Key WorkunitKey(ProjectId project, WorkunitId workunit) {
  return {.project = project.value, .id = workunit.value, .sub = 0};
}
Key BlockKey(ProjectId project, WorkunitId workunit) {
  return {.project = project.value, .id = workunit.value >> wire::kWorkunitBlockBits, .sub = 0};
}
constexpr const char* kBadClaim = "a claim in the row cannot be decoded";
constexpr const char* kBadTrickle = "a late trickle in the row cannot be decoded";
Key ProjectKey(ProjectId project) { return {.project = project.value, .id = 0, .sub = 0}; }

bool IsOver(const Decided& one, const stage::ProjectView& view) {
  return one.day < DayOf(view.HorizonOf(AppId(one.app)).workunits);
}

// The last day on which the decision is remembered, if no window grows.
std::int32_t LastDay(const Decided& one, const stage::ProjectView& view) {
  return DayOf((one.day + 1) * credit::kSecondsPerDay + 2 * view.HorizonOf(AppId(one.app)).longest_window);
}

bool Counts(const credit::Claim& claim) { return (claim.flags & credit::kClaimExpired) == 0; }

// How ACCOUNTS posts a grant of this policy. BOINC's two policies follow BOINC's rules for both flags.
std::uint32_t AccountFlags(credit::PolicyKind kind) {
  return credit::PolicyFor(kind).TeamAtGrant() ? credit::kGrantTeamAtGrant | credit::kGrantBoincAverage : 0u;
}

void AddResult(ResultId result, ResultId* last, std::string* granted) {
  std::uint64_t difference = result.value - last->value;  // modulo 2^64, in case a late result is smaller
  for (; difference >= 0x80; difference >>= 7) granted->push_back(static_cast<char>(difference | 0x80));
  granted->push_back(static_cast<char>(difference));
  *last = result;
}

// Calls `visit` with each result; returns the last one.
template <class Visit>
ResultId ForEachResult(const std::string& granted, Visit visit) {
  std::uint64_t result = 0;
  for (std::size_t at = 0; at < granted.size();) {
    std::uint64_t difference = 0;
    for (int shift = 0; at < granted.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(granted[at++]);
      difference |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    result += difference;
    visit(ResultId(result));
  }
  return ResultId(result);
}

std::uint32_t LastLook(const OpenWorkunit& open) {
  std::uint32_t last = 0;
  for (const WaitingClaim& claim : open.claims) last = std::max(last, claim.pass);
  return last;
}

RecordView RecordOf(const LateClaim& late, std::uint32_t partition) {
  return {.where = {wire::kClaims, partition},
          .offset = late.offset,
          .append_time = late.append_time,
          .line = 0,
          .value = late.bytes};
}

stage::PaidJob PaidJobOf(const credit::Claim& claim, double time, std::uint64_t line) {
  return {.project = claim.project,
          .host = claim.host,
          .app = claim.app,
          .result = claim.result,
          .time = time,
          .line = line,
          .settlement = claim.settlement};
}

// 0: the result has no grant.
credit::MicroCredit GrantedTo(ResultId result, const Decided& decided) {
  bool granted = false;
  ForEachResult(decided.granted, [&](ResultId one) { granted = granted || one == result; });
  return granted ? decided.credit_micro : 0;
}

bool GetsCredit(const credit::Claim& claim) {
  return (claim.flags & credit::kClaimValid) != 0 && (claim.flags & credit::kClaimHostDeleted) == 0;
}

}  // namespace

std::vector<stream::TopicPartition> GrantsStage::Inputs(std::uint32_t partition) {
  return {{wire::kControl, partition}, {wire::kClaims, partition}};
}

GrantsStage::GrantsStage(const GrantsOptions& options, stream::TableHost& tables)
    : options_(options),
      open_(tables, kOpenTable, false),
      decided_(tables, kDecidedTable, false),
      projects_(tables, kProjectsTable, true),
      buffered_(tables, kBufferedTable, true),
      moved_(tables, kMovedTable, true),
      changed_windows_(tables, kChangedWindowsTable, true),
      calendar_(tables, kDaysTable, kChunksTable),
      watermarks_(tables, kWatermarkTable, options.partitions, 0),
      budget_(options.rows_per_commit) {
  open_.MarkWaiting("workunits");
}

std::vector<stream::TableBase*> GrantsStage::tables() {
  std::vector<stream::TableBase*> all = {&open_,  &decided_,         &projects_,         &buffered_,
                                         &moved_, &changed_windows_, watermarks_.table()};
  for (stream::TableBase* table : calendar_.tables()) all.push_back(table);
  return all;
}

Status GrantsStage::Opened() {
  projects_.ForEach([this](const Key& key, const stage::ProjectView& view) {
    calendar_.SetToday(key.project, DayOf(view.time));
  });
  watermarks_.Opened();
  buffered_count_ = 0;
  buffered_.ForEach([this](const Key&, const BufferedClaim&) { ++buffered_count_; });
  return Status::Ok();
}

void GrantsStage::Finish(Emitter& out) {
  std::vector<Key> changed;
  changed_windows_.ForEach([&changed](const Key& key, const ChangedWindow&) { changed.push_back(key); });
  std::sort(changed.begin(), changed.end());
  for (const Key& key : changed)
    if (!budget_.spent() && Expire(ProjectId(key.project), projects_.Need(key).time, out))
      changed_windows_.Erase(key);
  if (watermarks_.begun() && !budget_.spent()) PassWatermarks(out);
  budget_.Renew();
  if (calendar_.behind()) Forget(kForgetAtCommit);
}

void GrantsStage::Process(std::size_t input, const RecordView& record, Emitter& out) {
  if (input == kControl) return OnControl(record, out);
  if (wire::IsPassedClaim(record.value)) [[unlikely]]
    return OnPassed(record, out);
  if (options_.lockstep) return Buffer(record, out);
  ProcessClaim(record, out);
}

void GrantsStage::ProcessClaim(const RecordView& record, Emitter& out) {
  if (wire::IsLateTrickle(record.value)) [[unlikely]]
    return OnLateTrickle(record, out);
  OnClaim(record, out);
}

void GrantsStage::Buffer(const RecordView& record, Emitter& out) {
  BufferedClaim row{
      .offset = record.offset, .append_time = record.append_time, .bytes = std::string(record.value)};
  if (wire::IsLateTrickle(record.value)) {
    wire::Grant grant;
    if (!wire::DecodeGrant(wire::LateTrickleOf(record.value), &grant))
      return out.Fail(Status::Corrupted("a late trickle cannot be decoded"));
    row.line = grant.detail.line;
    row.result = grant.head.result.value;
    row.host = grant.head.host.value;
  } else if (wire::DecodeClaim(record.value, &claim_)) {
    row.line = claim_.line;
    row.result = claim_.result.value;
    row.host = claim_.host.value;
  } else {
    return out.Fail(Status::Corrupted("a claim cannot be decoded"));
  }
  buffered_.Mutable({.project = 0, .id = buffered_count_++, .sub = 0}) = std::move(row);
}

// Processes exactly the claims that arrived before a watermark: no record follows a watermark before the
// watermark has passed.
void GrantsStage::ProcessBuffered(Emitter& out) {
  if (buffered_count_ == 0) return;
  std::vector<std::pair<std::uint64_t, const BufferedClaim*>> all;
  buffered_.ForEach([&](const Key& key, const BufferedClaim& one) { all.emplace_back(key.id, &one); });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second->line, a.second->result, a.second->host, a.second->bytes) <
           std::tie(b.second->line, b.second->result, b.second->host, b.second->bytes);
  });
  for (const auto& [number, one] : all)
    ProcessClaim({.where = {wire::kClaims, options_.partition},
                  .offset = one->offset,
                  .append_time = one->append_time,
                  .line = 0,
                  .value = one->bytes},
                 out);
  for (const auto& [number, one] : all) buffered_.Erase({.project = 0, .id = number, .sub = 0});
  buffered_count_ = 0;
}

void GrantsStage::OnControl(const RecordView& record, Emitter& out) {
  const auto control = stage::ReadControl(record, watermarks_, out);
  if (!control) return;
  if (control->kind == wire::ControlKind::kWatermark) return PassWatermarks(out);
  const ProjectId project = control->head.project;
  stage::ProjectView& view = projects_.Mutable(ProjectKey(project));
  if (Status s = stage::ApplyControl(*control, view); !s.ok()) return out.Fail(std::move(s));
  if (control->kind != wire::ControlKind::kEvent) return;
  const auto event = wire::ParseEvent(control->body);
  if (!event.ok() || !std::holds_alternative<wire::AppChange>(event->body)) return;
  first_due_.erase(project.value);  // a window may have changed
  if (!Expire(project, view.time, out)) changed_windows_.Mutable(ProjectKey(project));
}

void GrantsStage::OnPassed(const RecordView& record, Emitter& out) {
  wire::Passed passed;
  if (!wire::DecodePassed(wire::PassedIn::kClaim, record.value, &passed))
    return out.Fail(Status::Corrupted("a non-claim record of claims cannot be decoded"));
  if (Status s = watermarks_.OnSource(passed); !s.ok()) return out.Fail(std::move(s));
  if (passed.moved > 0) moved_.Mutable({}).records += passed.moved;
  PassWatermarks(out);
}

// The claims before the watermark have arrived from every partition: its time has now passed.
void GrantsStage::PassWatermarks(Emitter& out) {
  while (const auto watermark = watermarks_.Begin()) {
    ProcessBuffered(out);
    const auto projects = stage::MovedBy(*watermark, projects_);
    for (const std::uint32_t project : projects) {
      stage::MoveTime(watermark->time, projects_.Mutable(ProjectKey(ProjectId(project))));
      if (!Expire(ProjectId(project), watermark->time, out)) return;
    }
    for (const std::uint32_t project : projects) {
      calendar_.SetToday(project, DayOf(watermark->time));
      Forget(kForgetAtTick);
    }
    stream::Passed passed{.source = options_.partition, .watermark = watermark->number};
    if (options_.lockstep && watermark->barrier != 0) std::swap(passed.moved, moved_.Mutable({}).records);
    bytes_.clear();
    wire::EncodePassed(wire::PassedIn::kGrant, passed, &bytes_);
    for (std::uint32_t p = 0; p < options_.partitions; ++p) out.Emit(wire::kGrants, p, bytes_);
    out.Cut(wire::kGrants);  // ACCOUNTS may have to wait here
    watermarks_.End();
  }
}

void GrantsStage::Forget(std::size_t blocks) {
  calendar_.Take(
      blocks,
      [this](std::uint32_t project, std::uint64_t number, std::int32_t) -> std::optional<std::int32_t> {
        const Key key{.project = project, .id = number, .sub = 0};
        const DecidedBlock* block = decided_.Find(key);
        if (block == nullptr) return std::nullopt;  // only if the store cannot be read: the slot stops
        const stage::ProjectView& view = projects_.Need(ProjectKey(ProjectId(project)));
        const auto over = [&view](const Decided& one) { return IsOver(one, view); };
        const auto all = block->workunits.size();
        const auto ended =
            static_cast<std::size_t>(std::count_if(block->workunits.begin(), block->workunits.end(), over));
        if (ended == all) {
          decided_.Erase(key);
          return std::nullopt;
        }
        std::int32_t latest = 0;
        for (const Decided& one : block->workunits) latest = std::max(latest, LastDay(one, view));
        if (ended > 0) std::erase_if(decided_.Mutable(key).workunits, over);
        return latest;
      });
}

const Decided* GrantsStage::FindDecided(ProjectId project, WorkunitId workunit) {
  const DecidedBlock* block = decided_.Find(BlockKey(project, workunit));
  if (block == nullptr) return nullptr;
  for (const Decided& one : block->workunits) {
    if (one.place != (workunit.value & kPlaceMask)) continue;
    // A decision whose window has ended counts as forgotten even if its row still exists: the time of the row's
    // deletion depends on how commits are cut.
    const stage::ProjectView* view = projects_.Find(ProjectKey(project));
    return view != nullptr && IsOver(one, *view) ? nullptr : &one;
  }
  return nullptr;
}

void GrantsStage::RememberDecided(ProjectId project, WorkunitId workunit, const Decided& decided) {
  const Key key = BlockKey(project, workunit);
  bool created = false;
  auto& block = decided_.Mutable(key, &created).workunits;
  if (created) {
    const stage::ProjectView* view = projects_.Find(ProjectKey(project));
    calendar_.File(project.value, view == nullptr ? decided.day : LastDay(decided, *view), key.id);
  }
  const auto at = std::lower_bound(block.begin(), block.end(), decided.place,
                                   [](const Decided& one, std::uint8_t place) { return one.place < place; });
  if (at != block.end() && at->place == decided.place) {
    *at = decided;  // replaces an earlier decision, which is forgotten
  } else {
    block.insert(at, decided);
  }
}

void GrantsStage::OnClaim(const RecordView& record, Emitter& out) {
  credit::Claim& claim = claim_;
  if (!wire::DecodeClaim(record.value, &claim))
    return out.Fail(Status::Corrupted("a claim cannot be decoded"));
  if ((claim.flags & credit::kClaimPaidBefore) != 0) [[unlikely]]
    return OnPaidBefore(record, out);
  const Key key = WorkunitKey(claim.project, claim.workunit);
  const OpenWorkunit* known = open_.Find(key);
  const Decided* decided = known == nullptr ? FindDecided(claim.project, claim.workunit) : nullptr;
  if (decided != nullptr) {
    // A late claim, or another validation pass over a decided workunit: the result gets the same credit as the other
    // results, and the decision stays.
    if (!Counts(claim) || !GetsCredit(claim)) return;
    for (Decided& one : decided_.Mutable(BlockKey(claim.project, claim.workunit)).workunits)
      if (one.place == (claim.workunit.value & kPlaceMask)) GrantLate(one, claim, record, out);
    return;
  }
  bool created = false;
  OpenWorkunit& open = open_.Mutable(key, &created);
  // The earliest time, because which claim arrives first depends on the partitions.
  const double since = created ? claim.time : std::min(open.since, claim.time);
  if (const auto due = first_due_.find(claim.project.value); due != first_due_.end())
    due->second.time = std::min(due->second.time, since + due->second.shortest_window);
  if ((claim.flags & credit::kClaimLate) != 0) {
    open.since = since;
    open.late.push_back(
        {.bytes = std::string(record.value), .offset = record.offset, .append_time = record.append_time});
    return;
  }
  if (!AddTo(open, claim, record, out)) return;
  open.since = since;
  const auto arrived = std::count_if(open.claims.begin(), open.claims.end(),
                                     [&](const WaitingClaim& one) { return one.pass == claim.pass; });
  if (arrived >= static_cast<std::ptrdiff_t>(claim.awaited))
    Settle(key, claim.project, claim.workunit, claim.pass, out);
}

void GrantsStage::OnLateTrickle(const RecordView& record, Emitter& out) {
  const std::string_view bytes = wire::LateTrickleOf(record.value);
  wire::Grant grant;
  if (!wire::DecodeGrant(bytes, &grant) || !grant.partial)
    return out.Fail(Status::Corrupted("a late trickle cannot be decoded"));
  const Key key = WorkunitKey(grant.head.project, grant.partial->workunit);
  const OpenWorkunit* open = open_.Find(key);
  if (open != nullptr && AwaitsDecision(key, *open, grant.head.result)) {
    open_.Mutable(key).late_trickles.emplace_back(bytes);
    return;
  }
  const Decided* decided = FindDecided(grant.head.project, grant.partial->workunit);
  PayLateTrickle(key, bytes, decided == nullptr ? 0 : GrantedTo(grant.head.result, *decided), out);
}

bool GrantsStage::AwaitsDecision(const Key& key, const OpenWorkunit& open, ResultId result) const {
  const auto is_its = [&](const WaitingClaim& one) { return one.counts && one.result == result; };
  if (std::any_of(open.claims.begin(), open.claims.end(), is_its)) return true;
  credit::Claim claim;
  return std::any_of(open.late.begin(), open.late.end(), [&](const LateClaim& late) {
    if (!wire::DecodeClaim(late.bytes, &claim)) open_.Damaged(key, kBadClaim);
    return claim.result == result;
  });
}

void GrantsStage::OnPaidBefore(const RecordView& record, Emitter& out) {
  const Key key = WorkunitKey(claim_.project, claim_.workunit);
  const OpenWorkunit* open = open_.Find(key);
  if (open != nullptr && AwaitsDecision(key, *open, claim_.result)) {
    open_.Mutable(key).paid_before.emplace_back(record.value);
    return;
  }
  const Decided* decided = FindDecided(claim_.project, claim_.workunit);
  SettleBefore(claim_, decided == nullptr ? 0 : GrantedTo(claim_.result, *decided), out);
}

// The grant is the whole worth and was paid in full, so earlier payments are reversed up to the grant; the rest
// follows the app's setting. Under `keep` no shown total falls.
void GrantsStage::SettleBefore(const credit::Claim& paid, credit::MicroCredit granted, Emitter& out) {
  const credit::MicroCredit sum = credit::PaidSum(paid.paid);
  const bool keeps = paid.settlement == credit::TrickleSettlement::kKeep;
  stage::PaidJob job = PaidJobOf(paid, paid.time, paid.line);
  if (keeps) job.settlement = credit::TrickleSettlement::kCap;
  const credit::MicroCredit worth = keeps ? sum - std::min(sum, granted) : 0;
  for (const credit::SettledPartial& part :
       credit::SettlePartials(paid.paid, worth, job.settlement, paid.time).parts)
    stage::EmitSettled(job, part, "the result was granted under another number of its host",
                       options_.partitions, out);
}

void GrantsStage::SettlePaidBefore(const Key& key, const std::vector<std::string>& all,
                                   const Decided* decided, OpenWorkunit* left, Emitter& out) {
  credit::Claim paid;
  for (const std::string& one : all) {
    if (!wire::DecodeClaim(one, &paid)) open_.Damaged(key, kBadClaim);
    if (left != nullptr && AwaitsDecision(key, *left, paid.result))
      left->paid_before.push_back(one);
    else
      SettleBefore(paid, decided == nullptr ? 0 : GrantedTo(paid.result, *decided), out);
  }
}

// Before this trickle the result was worth the sum of its trickle payments, or its grant if the grant is higher. The
// amount is the increase of this worth, so the order of late trickles does not change their sum.
void GrantsStage::PayLateTrickle(const Key& key, std::string_view bytes, credit::MicroCredit granted,
                                 Emitter& out) {
  wire::Grant grant;
  if (!wire::DecodeGrant(bytes, &grant) || !grant.partial) open_.Damaged(key, kBadTrickle);
  const credit::MicroCredit worth = std::max(granted, grant.partial->paid_before + grant.head.credit_micro);
  grant.partial->paid_before = std::max(granted, grant.partial->paid_before);
  grant.head.credit_micro = worth - grant.partial->paid_before;
  std::string_view reason;
  if (grant.head.credit_micro == 0) {  // still recorded in the ledger
    grant.head.kind = wire::GrantKind::kTrickle;
    grant.detail = {.line = grant.detail.line};
    grant.partial->outcome = credit::TrickleOutcome::kNothingDue;
    grant.partial->credit = 0;
    reason = "the job's own grant was worth at least as much";
  }
  bytes_.clear();
  wire::EncodeGrant(grant.head, grant.detail, {}, {}, &bytes_,
                    {.partial = &*grant.partial, .reason = reason});
  out.Emit(wire::kGrants,
           wire::OwnerPartition(grant.head.project, grant.head.user, grant.head.host, options_.partitions),
           bytes_);
}

// A result counts once per validation pass, however many records about it arrive, and a claim replaces a notice that
// there will be no claim. False: nothing has changed.
bool GrantsStage::AddTo(OpenWorkunit& open, const credit::Claim& claim, const RecordView& record,
                        Emitter& out) {
  const WaitingClaim waiting{.result = claim.result,
                             .host = claim.host,
                             .pass = claim.pass,
                             .counts = Counts(claim),
                             .offset = record.offset,
                             .append_time = record.append_time};
  for (std::size_t i = 0; i < open.claims.size(); ++i) {
    const WaitingClaim& other = open.claims[i];
    if (other.result != claim.result) continue;
    if (waiting.counts && other.counts) {
      stage::Refuse(record, claim.project, wire::RefusalReason::kAlreadyDecided,
                    "host " + std::to_string(other.host.value) + " already has the claim of this result",
                    out);
      SettleUnpaid(claim, out);
      return false;
    }
    if (other.pass != claim.pass) continue;
    if (!waiting.counts) return false;
    open.Remove(i);
    break;
  }
  open.Add(waiting, record.value);
  return true;
}

void GrantsStage::Settle(Key key, ProjectId project, WorkunitId workunit, std::uint32_t pass, Emitter& out) {
  const OpenWorkunit& open = open_.Need(key);
  const stage::ProjectView* view = projects_.Find(ProjectKey(project));
  claims_.clear();
  records_.clear();
  Decided decided{.place = static_cast<std::uint8_t>(workunit.value & kPlaceMask)};
  double time = 0;
  double sent = 0;
  std::uint32_t policy_version = 0;
  AppId app;
  credit::PolicyKind kind = credit::PolicyKind::kNone;
  bool any_valid = false;
  for (std::size_t i = 0; i < open.claims.size(); ++i) {
    if (open.claims[i].pass != pass) continue;
    const credit::Claim& claim = claims_.emplace_back();
    if (!wire::DecodeClaim(open.BytesOf(i), &claims_.back())) open_.Damaged(key, kBadClaim);
    decided.line = std::max(decided.line, claim.line);
    time = std::max(time, claim.time);
    sent = std::max(sent, claim.sent_time);
    if (claim.canonical_result) decided.canonical_result = claim.canonical_result.value;
    if (claim.policy_version >= policy_version) {
      policy_version = claim.policy_version;
      kind = claim.policy;
      app = claim.app;
    }
    any_valid = any_valid || (claim.flags & credit::kClaimValid) != 0;
    if (Counts(claim)) {
      records_.push_back({.where = {wire::kClaims, options_.partition},
                          .offset = open.claims[i].offset,
                          .append_time = open.claims[i].append_time,
                          .line = 0,
                          .value = open.BytesOf(i)});
    } else {
      claims_.pop_back();
    }
  }
  if (!any_valid) {
    // A pass without a valid result decides nothing: the project sends the workunit out again.
    OpenWorkunit& left = open_.Mutable(key);
    for (std::size_t i = left.claims.size(); i-- > 0;)
      if (left.claims[i].pass == pass) left.Remove(i);
    std::erase_if(left.late_trickles, [&](const std::string& late) {
      wire::Grant grant;
      if (!wire::DecodeGrant(late, &grant)) open_.Damaged(key, kBadTrickle);
      if (AwaitsDecision(key, left, grant.head.result)) return false;
      PayLateTrickle(key, late, 0, out);
      return true;
    });
    SettlePaidBefore(key, std::exchange(left.paid_before, {}), nullptr, &left, out);
    if (left.claims.empty() && left.late.empty()) open_.Erase(key);
    return;
  }
  // Sorts the claims and their records by result. An insertion sort, because a workunit has few results.
  for (std::size_t i = 1; i < claims_.size(); ++i)
    for (std::size_t j = i; j > 0 && claims_[j].result < claims_[j - 1].result; --j) {
      std::swap(claims_[j], claims_[j - 1]);
      std::swap(records_[j], records_[j - 1]);
    }

  const credit::PolicyVersion* policy = view == nullptr ? nullptr : view->FindPolicy(app, policy_version);
  const credit::Constants constants = policy != nullptr ? policy->constants : credit::DefaultConstants(kind);
  const double cap = view == nullptr ? 0 : view->catalogue.settings.max_granted_credit;
  credit::Settlement settlement;
  if (!claims_.empty()) settlement = credit::PolicyFor(kind).Settle(claims_, cap, constants);
  bool ok = true;
  decided.credit = settlement.credit;
  decided.credit_micro = credit::RoundToMicro(settlement.credit, &ok);
  decided.day = DayOf(std::max(time, sent));
  decided.app = app.value;

  std::uint32_t flags = AccountFlags(kind);
  if (kind == credit::PolicyKind::kRobust && claims_.size() > 1) flags |= credit::kGrantCompared;
  if (!ok) {
    // Amounts that cannot be expressed as credit are not granted; the claims are recorded.
    for (std::size_t i = 0; i < records_.size(); ++i) {
      stage::Refuse(records_[i], project, wire::RefusalReason::kNotFinite,
                    "the workunit's credit is out of range", out);
      SettleUnpaid(claims_[i], out);
    }
  } else {
    ResultId last;
    for (std::size_t i = 0; i < claims_.size(); ++i) {
      if (!GetsCredit(claims_[i])) continue;
      AddResult(claims_[i].result, &last, &decided.granted);
      const credit::Mode mode = i < settlement.modes.size() ? settlement.modes[i] : claims_[i].mode;
      EmitGrant(claims_[i], records_[i].value, decided.credit, decided.credit_micro, mode, decided.line, time,
                flags, cap, decided.canonical_result, out);
    }
  }
  claims_.clear();
  for (const LateClaim& late : open.late) {
    credit::Claim claim;
    if (!wire::DecodeClaim(late.bytes, &claim)) open_.Damaged(key, kBadClaim);
    GrantLate(decided, claim, RecordOf(late, options_.partition), out);
  }
  // Claims of other passes: the workunit is decided without them.
  for (std::size_t i = 0; i < open.claims.size(); ++i) {
    if (open.claims[i].pass == pass || !open.claims[i].counts) continue;
    credit::Claim claim;
    if (!wire::DecodeClaim(open.BytesOf(i), &claim)) open_.Damaged(key, kBadClaim);
    SettleUnpaid(claim, out);
  }
  const std::vector<std::string> late_trickles = open.late_trickles;
  const std::vector<std::string> paid_before = open.paid_before;
  open_.Erase(key);
  RememberDecided(project, workunit, decided);
  for (const std::string& late : late_trickles) {
    wire::Grant grant;
    if (!wire::DecodeGrant(late, &grant)) open_.Damaged(key, kBadTrickle);
    PayLateTrickle(key, late, GrantedTo(grant.head.result, decided), out);
  }
  SettlePaidBefore(key, paid_before, &decided, nullptr, out);
}

void GrantsStage::GrantLate(Decided& decided, const credit::Claim& claim, const RecordView& record,
                            Emitter& out) {
  if (!GetsCredit(claim)) return;
  bool granted = false;
  ResultId last =
      ForEachResult(decided.granted, [&](ResultId result) { granted = granted || result == claim.result; });
  if (granted) {
    stage::Refuse(record, claim.project, wire::RefusalReason::kAlreadyDecided,
                  "this result is already granted by the claim of another host", out);
    return SettleUnpaid(claim, out);
  }
  AddResult(claim.result, &last, &decided.granted);
  claims_.clear();
  const std::uint32_t flags = credit::kGrantLate | AccountFlags(claim.policy);
  EmitGrant(claim, record.value, decided.credit, decided.credit_micro, claim.mode,
            std::max(claim.line, decided.line), claim.time, flags, 0, decided.canonical_result, out);
}

void GrantsStage::EmitGrant(const credit::Claim& claim, std::string_view claim_bytes, double credit,
                            std::int64_t micro, credit::Mode mode, std::uint64_t line, double time,
                            std::uint32_t flags, double cap, std::uint64_t canonical, Emitter& out) {
  static thread_local std::vector<wire::OtherClaim> others;
  others.clear();
  const auto unless_same = [](auto of_claim, auto of_other) {
    return std::bit_cast<std::uint64_t>(of_claim) == std::bit_cast<std::uint64_t>(of_other)
               ? std::optional<decltype(of_claim)>()
               : std::optional(of_other);
  };
  for (const credit::Claim& other : claims_) {
    if (other.result == claim.result) continue;
    others.push_back({.result = other.result,
                      .host = other.host,
                      .mode = other.mode,
                      .flags = other.flags,
                      .pfc = other.pfc,
                      .claimed = other.claimed,
                      .min_avg_pfc = unless_same(claim.min_avg_pfc, other.min_avg_pfc),
                      .epoch = unless_same(claim.epoch, other.epoch),
                      .fpops_est = unless_same(claim.fpops_est, other.fpops_est),
                      .fpops_bound = unless_same(claim.fpops_bound, other.fpops_bound),
                      .reliability = unless_same(claim.reliability, other.reliability)});
  }
  const credit::PartialSettlement settled = credit::SettlePartials(claim.paid, micro, claim.settlement, time);
  // If nothing is reversed, a user gets a single record: the grant itself.
  const auto of_user = std::find_if(settled.parts.begin(), settled.parts.end(),
                                    [&](const credit::SettledPartial& p) { return p.user == claim.user; });
  const bool settles = of_user != settled.parts.end() && of_user->taken == 0;
  if (settles) flags |= credit::kGrantSettles;
  bytes_.clear();
  wire::EncodeGrant({.project = claim.project,
                     .user = claim.user,
                     .host = claim.host,
                     .team = {},
                     .app = claim.app,
                     .result = claim.result,
                     .credit_micro = settled.final_micro,
                     .time = time,
                     .kind = wire::GrantKind::kFinal,
                     .work_start = claim.sent_time,
                     .flags = flags,
                     .settles_micro = settles ? of_user->settles : 0},
                    {.credit = credit,
                     .mode = mode,
                     .line = line,
                     .max_granted_credit = cap,
                     .canonical_result = ResultId(canonical)},
                    others, claim_bytes, &bytes_);
  out.Emit(wire::kGrants, wire::OwnerPartition(claim.project, claim.user, claim.host, options_.partitions),
           bytes_);
  for (const credit::SettledPartial& part : settled.parts)
    if (!settles || &part != &*of_user)
      stage::EmitSettled(
          PaidJobOf(claim, time, line), part,
          part.taken > 0 ? "the result is worth less than its trickle payments" : "the host changed owners",
          options_.partitions, out);
}

void GrantsStage::SettleUnpaid(const credit::Claim& claim, Emitter& out) {
  for (const credit::SettledPartial& part :
       credit::SettlePartials(claim.paid, 0, claim.settlement, claim.time).parts)
    stage::EmitSettled(PaidJobOf(claim, claim.time, claim.line), part, "the claim was not granted",
                       options_.partitions, out);
}

// A workunit that has waited longer than its app's window is settled with the claims that have arrived; late
// results of a workunit that was never decided are refused.
bool GrantsStage::Expire(ProjectId project, double now, Emitter& out) {
  const auto known = first_due_.find(project.value);
  if (known != first_due_.end() && known->second.time >= now) return true;
  const stage::ProjectView& view = projects_.Need(ProjectKey(project));
  double shortest = credit::kDefaultResultWindow;
  for (const auto& [id, app] : view.catalogue.apps) shortest = std::min(shortest, app.Window());
  expiry_.Begin(project.value, now);
  const auto due_at = [&](const Key& key, const OpenWorkunit& open) {
    if (open.since + shortest >= now) return open.since + shortest;  // or later
    credit::Claim claim;
    if (open.claims.empty() && open.late.empty()) open_.Damaged(key, "the row has no claim");
    const std::string_view bytes =
        open.claims.empty() ? std::string_view(open.late.front().bytes) : open.BytesOf(0);
    if (!wire::DecodeClaim(bytes, &claim)) open_.Damaged(key, kBadClaim);
    const credit::AppRow* app = view.catalogue.FindApp(claim.app);
    return open.since + (app != nullptr ? app->Window() : credit::kDefaultResultWindow);
  };
  const bool all = expiry_.Rows(0, open_, budget_, due_at, [&](const Key& key, const OpenWorkunit&) {
    return ExpireWorkunit(project, key, out);
  });
  if (all) first_due_[project.value] = {.time = expiry_.End(), .shortest_window = shortest};
  return all;
}

// Returns the size of the expired claims in bytes.
std::uint64_t GrantsStage::ExpireWorkunit(ProjectId project, const Key& key, Emitter& out) {
  std::uint64_t bytes = 0;
  // A pass without a valid result decides nothing; the pass before it is then the last one.
  for (const OpenWorkunit* open = open_.Find(key); open != nullptr && !open->claims.empty();
       open = open_.Find(key)) {
    bytes += open->bytes.size();
    Settle(key, project, WorkunitId(key.id), LastLook(*open), out);
  }
  const OpenWorkunit* left = open_.Find(key);
  if (left == nullptr) return bytes;
  for (const LateClaim& late : left->late) {
    stage::Refuse(RecordOf(late, options_.partition), project, wire::RefusalReason::kUnknownResult,
                  "the result is late and its workunit was never decided", out);
    credit::Claim claim;
    if (!wire::DecodeClaim(late.bytes, &claim)) open_.Damaged(key, kBadClaim);
    SettleUnpaid(claim, out);
    bytes += late.bytes.size();
  }
  for (const std::string& late : left->late_trickles) PayLateTrickle(key, late, 0, out);
  SettlePaidBefore(key, left->paid_before, nullptr, nullptr, out);
  return bytes;
}

}  // namespace cobblestone::grants
