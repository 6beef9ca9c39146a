#include "common/wire/events/head_peek.h"

#include <bit>
#include <cstring>

#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_fields.h"
#include "common/wire/ledger/claim_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "common/wire/proto_reader.h"

namespace cobblestone::wire {
namespace {

constexpr std::uint32_t kLastClaimField = 11;
constexpr std::uint32_t kLastAwardField = 9;
constexpr std::uint32_t kClaimOfGrant = 18;

// Skips scalar fields with numbers below 16 while at least sixteen bytes are left, so that no step needs to
// check the end. After stuck() the caller uses the slow decoder.
class Walk {
 public:
  explicit Walk(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // 0: this walk has ended.
  std::uint32_t NextTag() {
    if (end_ - at_ < 16 || static_cast<unsigned char>(*at_) >= 0x80) {
      stuck_ = true;
      return 0;
    }
    return static_cast<unsigned char>(*at_++);
  }
  // Skips a value; its bytes stay in word_.
  void Pass(std::uint32_t tag) {
    if (static_cast<WireType>(tag & 7) == WireType::kFixed64) {
      at_ += 8;
      return;
    }
    if (static_cast<WireType>(tag & 7) != WireType::kVarint) return Stop();
    std::memcpy(&word_, at_, 8);
    const std::uint64_t last = ~word_ & 0x8080808080808080u;  // bytes that end a varint
    if (last == 0) return Stop();                             // nine bytes or more
    bits_ = std::countr_zero(last) + 1;
    at_ += bits_ / 8;
  }
  // The varint that was skipped last.
  [[nodiscard]] std::uint64_t Value() const {
    std::uint64_t value = 0;
    for (int byte = 0; byte < bits_ / 8; ++byte) value |= (word_ >> (8 * byte) & 0x7f) << (7 * byte);
    return value;
  }
  [[nodiscard]] bool stuck() const { return stuck_; }

 private:
  void Stop() {
    stuck_ = true;
    at_ = end_;
  }

  const char* at_;
  const char* end_;
  std::uint64_t word_ = 0;
  int bits_ = 0;
  bool stuck_ = false;
};

std::int64_t Signed(std::uint64_t v) {
  return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
}

}  // namespace

bool PeekClaim(std::string_view bytes, ClaimHead* head) {
  if (IsPassedClaim(bytes) || IsLateTrickle(bytes)) return false;
  *head = {};
  Walk walk(bytes);
  while (const std::uint32_t tag = walk.NextTag()) {
    if (tag >> 3 > kLastClaimField) return true;
    walk.Pass(tag);
    if (walk.stuck()) break;
    if (tag == VarintTag(1)) head->project = ProjectId(static_cast<std::uint32_t>(walk.Value()));
    if (tag == VarintTag(6)) head->app = AppId(walk.Value());
    if (tag == VarintTag(11)) head->flags = static_cast<std::uint32_t>(walk.Value());
    if (tag >> 3 == kLastClaimField) return true;
  }
  credit::Claim claim;
  if (!DecodeClaim(bytes, &claim)) return false;
  *head = {.project = claim.project, .app = claim.app, .flags = claim.flags};
  return true;
}

bool PeekAward(std::string_view bytes, AwardHead* head) {
  *head = {};
  Walk walk(bytes);
  while (const std::uint32_t tag = walk.NextTag()) {
    if (tag >> 3 > kLastAwardField) return true;
    walk.Pass(tag);
    if (walk.stuck()) break;
    if (tag == VarintTag(1)) head->project = ProjectId(static_cast<std::uint32_t>(walk.Value()));
    if (tag == VarintTag(5)) head->app = AppId(walk.Value());
    if (tag == VarintTag(7)) head->credit_micro = Signed(walk.Value());
    if (tag == VarintTag(9)) head->kind = NarrowEnum<GrantKind>(walk.Value());
    if (tag >> 3 == kLastAwardField) return true;
  }
  GrantHead grant;
  if (!DecodeGrantHead(bytes, &grant)) return false;
  *head = {
      .project = grant.project, .app = grant.app, .credit_micro = grant.credit_micro, .kind = grant.kind};
  return true;
}

bool IsFinalOfClaim(std::string_view grant, std::uint32_t flags) {
  AwardHead award;
  if (!PeekAward(grant, &award) || award.kind != GrantKind::kFinal) return false;
  ProtoReader r(grant);
  while (const std::uint32_t tag = r.NextTag()) {
    ClaimHead claim;
    if (tag == BytesTag(kClaimOfGrant)) return PeekClaim(r.Bytes(), &claim) && (claim.flags & flags) == flags;
    r.Skip(tag);
  }
  return false;
}

}  // namespace cobblestone::wire
