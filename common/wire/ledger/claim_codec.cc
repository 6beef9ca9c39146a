#include "common/wire/ledger/claim_codec.h"

#include "common/wire/events/event_fields.h"
#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {
namespace {

constexpr std::size_t kFields = 41;
static_assert(kFields * kMaxScalarField <= kMaxClaimSize);

constexpr std::uint32_t kPaidField = 40;
constexpr std::uint32_t kLateTrickleField = 42;

bool ReadPaid(std::string_view bytes, credit::PaidPartial* paid) {
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): paid->user = UserId(r.Varint()); break;
      case VarintTag(2): paid->micro = r.Sint(); break;
      case DoubleTag(3): paid->recent = r.Double(); break;
      case DoubleTag(4): paid->recent_time = r.Double(); break;
      case VarintTag(5): paid->reversed = r.Sint(); break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

}  // namespace

void EncodeClaim(const credit::Claim& c, std::string* out) {
  char buffer[kMaxClaimSize];
  ProtoWriter w(buffer);
  w.Uint(1, c.project.value);
  w.Uint(2, c.result.value);
  w.Uint(3, c.workunit.value);
  w.Uint(4, c.host.value);
  w.Uint(5, c.user.value);
  w.Uint(6, c.app.value);
  w.Sint(7, c.version.value);
  w.Double(8, c.time);
  w.Uint(9, c.validation_id);
  w.Uint(10, c.line);
  w.Uint(11, c.flags);
  w.Uint(12, c.pass);
  w.Uint(13, c.awaited);
  w.Uint(14, c.canonical_result.value);
  w.Double(15, c.elapsed_time);
  w.Double(16, c.cpu_time);
  w.Double(17, c.peak_flops);
  w.Double(18, c.fpops_est);
  w.Double(19, c.fpops_bound);
  w.Double(20, c.sent_time);
  w.Double(21, c.received_time);
  w.Double(22, c.reported);
  w.Double(23, c.benchmark);
  w.Uint(24, static_cast<std::uint64_t>(c.policy));
  w.Uint(25, c.policy_version);
  w.Uint(26, c.epoch);
  w.Double(27, c.version_pfc_n);
  w.Double(28, c.version_pfc_mean);
  w.Double(29, c.version_scale);
  w.Double(30, c.min_avg_pfc);
  w.Double(31, c.host_pfc_n);
  w.Double(32, c.host_pfc_mean);
  w.Double(33, c.consecutive_valid);
  w.Double(34, c.host_scale_time);
  w.Uint(35, static_cast<std::uint64_t>(c.mode));
  w.Double(36, c.pfc);
  w.Double(37, c.claimed);
  w.Double(38, c.delay_bound);
  out->append(w.written());
  for (const credit::PaidPartial& paid : c.paid) {
    ProtoWriter p(buffer);
    p.Uint(1, paid.user.value);
    p.Sint(2, paid.micro);
    p.Double(3, paid.recent);
    p.Double(4, paid.recent_time);
    p.Sint(5, paid.reversed);
    AppendMessage(kPaidField, p.written(), out);
  }
  ProtoWriter last(buffer);
  last.Uint(41, static_cast<std::uint64_t>(c.settlement));
  last.Double(43, c.failure_rate);
  last.Double(44, c.budget);
  last.Double(45, c.reliability);
  out->append(last.written());
}

bool DecodeClaim(std::string_view bytes, credit::Claim* c) {
  *c = {};
  c->mode = credit::Mode::kNormal;  // the meaning of 0, and so of an absent field
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): c->project = ProjectId(r.Uint32()); break;
      case VarintTag(2): c->result = ResultId(r.Varint()); break;
      case VarintTag(3): c->workunit = WorkunitId(r.Varint()); break;
      case VarintTag(4): c->host = HostId(r.Varint()); break;
      case VarintTag(5): c->user = UserId(r.Varint()); break;
      case VarintTag(6): c->app = AppId(r.Varint()); break;
      case VarintTag(7): c->version = AppVersionId(r.Sint()); break;
      case DoubleTag(8): c->time = r.Double(); break;
      case VarintTag(9): c->validation_id = r.Varint(); break;
      case VarintTag(10): c->line = r.Varint(); break;
      case VarintTag(11): c->flags = r.Uint32(); break;
      case VarintTag(12): c->pass = r.Uint32(); break;
      case VarintTag(13): c->awaited = r.Uint32(); break;
      case VarintTag(14): c->canonical_result = ResultId(r.Varint()); break;
      case DoubleTag(15): c->elapsed_time = r.Double(); break;
      case DoubleTag(16): c->cpu_time = r.Double(); break;
      case DoubleTag(17): c->peak_flops = r.Double(); break;
      case DoubleTag(18): c->fpops_est = r.Double(); break;
      case DoubleTag(19): c->fpops_bound = r.Double(); break;
      case DoubleTag(20): c->sent_time = r.Double(); break;
      case DoubleTag(21): c->received_time = r.Double(); break;
      case DoubleTag(22): c->reported = r.Double(); break;
      case DoubleTag(23): c->benchmark = r.Double(); break;
      case VarintTag(24): c->policy = NarrowEnum<credit::PolicyKind>(r.Varint()); break;
      case VarintTag(25): c->policy_version = r.Uint32(); break;
      case VarintTag(26): c->epoch = r.Varint(); break;
      case DoubleTag(27): c->version_pfc_n = r.Double(); break;
      case DoubleTag(28): c->version_pfc_mean = r.Double(); break;
      case DoubleTag(29): c->version_scale = r.Double(); break;
      case DoubleTag(30): c->min_avg_pfc = r.Double(); break;
      case DoubleTag(31): c->host_pfc_n = r.Double(); break;
      case DoubleTag(32): c->host_pfc_mean = r.Double(); break;
      case DoubleTag(33): c->consecutive_valid = r.Double(); break;
      case DoubleTag(34): c->host_scale_time = r.Double(); break;
      case VarintTag(35): c->mode = NarrowEnum<credit::Mode>(r.Varint()); break;
      case DoubleTag(36): c->pfc = r.Double(); break;
      case DoubleTag(37): c->claimed = r.Double(); break;
      case DoubleTag(38): c->delay_bound = r.Double(); break;
      case BytesTag(kPaidField):
        if (!ReadPaid(r.Bytes(), &c->paid.emplace_back())) return false;
        break;
      case DoubleTag(43): c->failure_rate = r.Double(); break;
      case DoubleTag(44): c->budget = r.Double(); break;
      case DoubleTag(45): c->reliability = r.Double(); break;
      case VarintTag(41): c->settlement = NarrowEnum<credit::TrickleSettlement>(r.Varint()); break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

void EncodeLateTrickle(std::string_view grant, std::string* out) {
  AppendMessage(kLateTrickleField, grant, out);
}

std::string_view LateTrickleOf(std::string_view bytes) {
  ProtoReader r(bytes);
  if (r.NextTag() != BytesTag(kLateTrickleField)) return {};
  const std::string_view grant = r.Bytes();
  return r.ok() ? grant : std::string_view{};
}

}  // namespace cobblestone::wire
