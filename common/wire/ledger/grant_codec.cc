#include "common/wire/ledger/grant_codec.h"

#include <utility>

#include "common/wire/events/event_fields.h"
#include "common/wire/ledger/claim_codec.h"
#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {
namespace {

constexpr std::uint32_t kLastHeadField = 11;
constexpr std::uint32_t kOthersField = 17;
constexpr std::uint32_t kClaimField = 18;
constexpr std::uint32_t kTransferField = 19;
constexpr std::uint32_t kPartialField = 23;
constexpr std::uint32_t kReasonField = 24;
constexpr std::uint32_t kUndoneField = 25;
constexpr std::uint32_t kIntoField = 26;
constexpr std::uint32_t kEstimateField = 27;

// Reads the value of a field of the head; false if the tag is not a field of the head.
bool ReadHeadField(std::uint32_t tag, ProtoReader& r, GrantHead* h) {
  switch (tag) {
    case VarintTag(1): h->project = ProjectId(r.Uint32()); return true;
    case VarintTag(2): h->user = UserId(r.Varint()); return true;
    case VarintTag(3): h->host = HostId(r.Varint()); return true;
    case VarintTag(4): h->team = TeamId(r.Varint()); return true;
    case VarintTag(5): h->app = AppId(r.Varint()); return true;
    case VarintTag(6): h->result = ResultId(r.Varint()); return true;
    case VarintTag(7): h->credit_micro = r.Sint(); return true;
    case DoubleTag(8): h->time = r.Double(); return true;
    case VarintTag(9): h->kind = NarrowEnum<GrantKind>(r.Varint()); return true;
    case DoubleTag(10): h->work_start = r.Double(); return true;
    case VarintTag(11): h->flags = r.Uint32(); return true;
    case VarintTag(21): h->settles_micro = r.Sint(); return true;
    case DoubleTag(22): h->recent_off = r.Double(); return true;
    case DoubleTag(28): h->paid_time = r.Double(); return true;
    default: return false;
  }
}

bool ReadOther(std::string_view bytes, OtherClaim* other) {
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): other->result = ResultId(r.Varint()); break;
      case VarintTag(2): other->host = HostId(r.Varint()); break;
      case VarintTag(3): other->mode = NarrowEnum<credit::Mode>(r.Varint()); break;
      case VarintTag(4): other->flags = r.Uint32(); break;
      case DoubleTag(5): other->pfc = r.Double(); break;
      case DoubleTag(6): other->claimed = r.Double(); break;
      case DoubleTag(7): other->min_avg_pfc = r.Double(); break;
      case VarintTag(8): other->epoch = r.Varint(); break;
      case DoubleTag(9): other->fpops_est = r.Double(); break;
      case DoubleTag(10): other->fpops_bound = r.Double(); break;
      case DoubleTag(11): other->reliability = r.Double(); break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

}  // namespace

credit::Claim ClaimOf(const OtherClaim& other, credit::Claim granted) {
  credit::Claim claim = std::move(granted);
  claim.result = other.result;
  claim.host = other.host;
  claim.mode = other.mode;
  claim.flags = other.flags;
  claim.pfc = other.pfc;
  claim.claimed = other.claimed;
  claim.min_avg_pfc = other.min_avg_pfc.value_or(claim.min_avg_pfc);
  claim.epoch = other.epoch.value_or(claim.epoch);
  claim.fpops_est = other.fpops_est.value_or(claim.fpops_est);
  claim.fpops_bound = other.fpops_bound.value_or(claim.fpops_bound);
  claim.reliability = other.reliability.value_or(claim.reliability);
  return claim;
}

void EncodeGrant(const GrantHead& head, const GrantDetail& detail, std::span<const OtherClaim> others,
                 std::string_view claim, std::string* out, const GrantMore& more) {
  char buffer[16 * kMaxScalarField];
  ProtoWriter w(buffer);
  w.Uint(1, head.project.value);
  w.Uint(2, head.user.value);
  w.Uint(3, head.host.value);
  w.Uint(4, head.team.value);
  w.Uint(5, head.app.value);
  w.Uint(6, head.result.value);
  w.Sint(7, head.credit_micro);
  w.Double(8, head.time);
  w.Uint(9, static_cast<std::uint64_t>(head.kind));
  w.Double(10, head.work_start);
  w.Uint(11, head.flags);
  w.Double(12, detail.credit);
  w.Uint(13, static_cast<std::uint64_t>(detail.mode));
  w.Uint(14, detail.line);
  w.Double(15, detail.max_granted_credit);
  w.Uint(16, detail.canonical_result.value);
  out->append(w.written());

  for (const OtherClaim& other : others) {
    char one[11 * kMaxScalarField];
    ProtoWriter o(one);
    o.Uint(1, other.result.value);
    o.Uint(2, other.host.value);
    o.Uint(3, static_cast<std::uint64_t>(other.mode));
    o.Uint(4, other.flags);
    o.Double(5, other.pfc);
    o.Double(6, other.claimed);
    if (other.min_avg_pfc) o.PresentDouble(7, *other.min_avg_pfc);
    if (other.epoch) o.PresentUint(8, *other.epoch);
    if (other.fpops_est) o.PresentDouble(9, *other.fpops_est);
    if (other.fpops_bound) o.PresentDouble(10, *other.fpops_bound);
    if (other.reliability) o.PresentDouble(11, *other.reliability);
    AppendMessage(kOthersField, o.written(), out);
  }
  if (!claim.empty()) AppendMessage(kClaimField, claim, out);
  if (more.transfer != nullptr) {
    std::string bytes;
    EncodeHostTransfer(*more.transfer, &bytes);
    AppendMessage(kTransferField, bytes, out);
  }
  ProtoWriter settles(buffer);
  settles.Sint(21, head.settles_micro);
  settles.Double(22, head.recent_off);
  out->append(settles.written());
  if (more.partial != nullptr) {
    std::string bytes;
    EncodePartialGrant(*more.partial, &bytes);
    AppendMessage(kPartialField, bytes, out);
  }
  AppendString(kReasonField, more.reason, out);
  if (more.undone != nullptr) {
    std::string bytes;
    EncodeUndone(*more.undone, &bytes);
    AppendMessage(kUndoneField, bytes, out);
  }
  ProtoWriter into(buffer);
  into.Uint(kIntoField, more.into.value);
  out->append(into.written());
  if (more.estimate != nullptr) {
    std::string bytes;
    EncodeEstimate(*more.estimate, &bytes);
    AppendMessage(kEstimateField, bytes, out);
  }
  ProtoWriter paid(buffer);
  paid.Double(28, head.paid_time);
  out->append(paid.written());
}

bool DecodeGrantHead(std::string_view bytes, GrantHead* head) {
  *head = {};
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    if (tag >> 3 > kLastHeadField && (head->flags & credit::kGrantSettles) == 0) return true;
    if (!ReadHeadField(tag, r, head)) r.Skip(tag);
  }
  return r.ok();
}

bool DecodeGrant(std::string_view bytes, Grant* grant) {
  *grant = {};
  std::string claim;  // several are merged as in generated code: their fields are concatenated
  bool has_claim = false;
  std::string transfer;
  bool has_transfer = false;
  std::string partial;
  bool has_partial = false;
  std::string undone;
  bool has_undone = false;
  std::string estimate;
  bool has_estimate = false;
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    if (ReadHeadField(tag, r, &grant->head)) continue;
    switch (tag) {
      case DoubleTag(12): grant->detail.credit = r.Double(); break;
      case VarintTag(13): grant->detail.mode = NarrowEnum<credit::Mode>(r.Varint()); break;
      case VarintTag(14): grant->detail.line = r.Varint(); break;
      case DoubleTag(15): grant->detail.max_granted_credit = r.Double(); break;
      case VarintTag(16): grant->detail.canonical_result = ResultId(r.Varint()); break;
      case BytesTag(kOthersField):
        if (!ReadOther(r.Bytes(), &grant->others.emplace_back())) return false;
        break;
      case BytesTag(kClaimField):
        claim.append(r.Bytes());
        has_claim = true;
        break;
      case BytesTag(kTransferField):
        transfer.append(r.Bytes());
        has_transfer = true;
        break;
      case BytesTag(kPartialField):
        partial.append(r.Bytes());
        has_partial = true;
        break;
      case BytesTag(kReasonField): grant->reason = r.Bytes(); break;
      case BytesTag(kUndoneField):
        undone.append(r.Bytes());
        has_undone = true;
        break;
      case VarintTag(kIntoField): grant->into = HostId(r.Varint()); break;
      case BytesTag(kEstimateField):
        estimate.append(r.Bytes());
        has_estimate = true;
        break;
      default: r.Skip(tag); break;
    }
  }
  if (!r.ok()) return false;
  if (has_partial && !DecodePartialGrant(partial, &grant->partial.emplace())) return false;
  if (has_undone && !DecodeUndone(undone, &grant->undone.emplace())) return false;
  if (has_estimate && !DecodeEstimate(estimate, &grant->estimate.emplace())) return false;
  if (has_transfer && !DecodeHostTransfer(transfer, &grant->transfer.emplace())) return false;
  return !has_claim || DecodeClaim(claim, &grant->claim.emplace());
}

}  // namespace cobblestone::wire
