#include "common/wire/ledger/partial_codec.h"

#include "common/wire/events/event_fields.h"
#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {
namespace {

constexpr std::uint32_t kVarietyField = 3;
constexpr std::uint32_t kPriceField = 12;
constexpr std::uint32_t kModelVersionField = 16;
constexpr std::uint32_t kSentPriceField = 19;
constexpr std::uint32_t kPartialOthersField = 21;
constexpr std::uint32_t kPhasesField = 21;

void EncodePriceFields(const credit::TricklePrice& p, std::string* out) {
  char buffer[20 * kMaxScalarField];
  ProtoWriter w(buffer);
  w.Uint(1, static_cast<std::uint64_t>(p.kind));
  w.Uint(2, static_cast<std::uint64_t>(p.measure));
  w.Bool(3, p.incremental);
  w.Uint(4, p.rule_version);
  w.Uint(5, p.bounds);
  w.Uint(6, p.epoch);
  w.Double(7, p.sent_time);
  w.Double(8, p.cpus);
  w.Double(9, p.rate);
  w.Double(10, p.version_scale);
  w.Double(11, p.host_scale);
  w.Double(12, p.default_pfc);
  w.Double(13, p.cobblestones_per_gflops_day);
  w.Double(14, p.max_increment);
  w.Double(15, p.min_step_seconds);
  w.Double(16, p.factor);
  w.Double(17, p.credit_per_day);
  w.Double(18, p.bound_credit);
  w.Double(19, p.estimate_credit);
  w.Double(20, p.max_credit);
  out->append(w.written());
  for (const credit::TricklePhase& phase : p.phases) {
    char one[2 * kMaxScalarField];
    ProtoWriter o(one);
    o.Double(1, phase.last_step);
    o.Double(2, phase.credit_per_step);
    AppendMessage(kPhasesField, o.written(), out);
  }
}

void EncodePrice(std::uint32_t field, const std::optional<credit::TricklePrice>& price, std::string* out) {
  if (!price) return;
  std::string bytes;
  EncodePriceFields(*price, &bytes);
  AppendMessage(field, bytes, out);
}

bool DecodePhase(std::string_view bytes, credit::TricklePhase* phase) {
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case DoubleTag(1): phase->last_step = r.Double(); break;
      case DoubleTag(2): phase->credit_per_step = r.Double(); break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

bool DecodePrice(std::string_view bytes, credit::TricklePrice* p) {
  p->cpus = p->factor = p->bound_credit = p->estimate_credit = p->max_credit =
      0;  // the meaning of an absent field
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): p->kind = NarrowEnum<credit::TrickleKind>(r.Varint()); break;
      case VarintTag(2): p->measure = NarrowEnum<credit::TrickleMeasure>(r.Varint()); break;
      case VarintTag(3): p->incremental = r.Varint() != 0; break;
      case VarintTag(4): p->rule_version = r.Uint32(); break;
      case VarintTag(5): p->bounds = r.Uint32(); break;
      case VarintTag(6): p->epoch = r.Varint(); break;
      case DoubleTag(7): p->sent_time = r.Double(); break;
      case DoubleTag(8): p->cpus = r.Double(); break;
      case DoubleTag(9): p->rate = r.Double(); break;
      case DoubleTag(10): p->version_scale = r.Double(); break;
      case DoubleTag(11): p->host_scale = r.Double(); break;
      case DoubleTag(12): p->default_pfc = r.Double(); break;
      case DoubleTag(13): p->cobblestones_per_gflops_day = r.Double(); break;
      case DoubleTag(14): p->max_increment = r.Double(); break;
      case DoubleTag(15): p->min_step_seconds = r.Double(); break;
      case DoubleTag(16): p->factor = r.Double(); break;
      case DoubleTag(17): p->credit_per_day = r.Double(); break;
      case DoubleTag(18): p->bound_credit = r.Double(); break;
      case DoubleTag(19): p->estimate_credit = r.Double(); break;
      case DoubleTag(20): p->max_credit = r.Double(); break;
      case BytesTag(kPhasesField):
        if (!DecodePhase(r.Bytes(), &p->phases.emplace_back())) return false;
        break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

bool DecodeElement(std::string_view bytes, TrickleElement* element) {
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case BytesTag(1): element->name = r.Bytes(); break;
      case BytesTag(2): element->text = r.Bytes(); break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

}  // namespace

void TakeOthers(const std::vector<TrickleElement>& others, PartialGrant* partial) {
  std::size_t kept = 0;
  for (const TrickleElement& other : others) {
    if (other.name == "vr" && other.text.size() <= kLongestModelVersion) {
      partial->model_version = other.text;
      continue;
    }
    const std::size_t bytes = other.name.size() + other.text.size();
    if (partial->others_left_out == 0 && kept + bytes <= kMaxOthersKept) {
      kept += bytes;
      partial->others.push_back(other);
    } else {
      ++partial->others_left_out;
      partial->bytes_left_out += bytes;
    }
  }
}

void EncodePartialGrant(const PartialGrant& p, std::string* out) {
  char buffer[9 * kMaxScalarField];
  ProtoWriter w(buffer);
  w.Uint(1, p.trickle);
  w.Double(2, p.sent_time);
  out->append(w.written());
  AppendString(kVarietyField, p.variety, out);
  ProtoWriter rest(buffer);
  rest.Uint(4, p.sequence);
  rest.Double(5, p.asked);
  rest.Double(6, p.allowed);
  rest.Double(7, p.mark_before);
  rest.Double(8, p.mark_after);
  rest.Uint(9, p.bounds);
  rest.Double(10, p.credit);
  rest.Sint(11, p.paid_before);
  out->append(rest.written());
  EncodePrice(kPriceField, p.price, out);
  ProtoWriter last(buffer);
  last.Uint(13, p.workunit.value);
  last.Sint(14, p.version.value);
  if (p.phase) last.PresentUint(15, *p.phase);
  out->append(last.written());
  AppendString(kModelVersionField, p.model_version, out);
  ProtoWriter unpaid(buffer);
  unpaid.Uint(17, static_cast<std::uint64_t>(p.outcome));
  unpaid.Uint(18, static_cast<std::uint64_t>(p.refusal));
  out->append(unpaid.written());
  EncodePrice(kSentPriceField, p.sent_price, out);
  ProtoWriter repriced(buffer);
  repriced.Uint(20, p.repriced);
  out->append(repriced.written());
  for (const TrickleElement& other : p.others) {
    std::string element;
    AppendString(1, other.name, &element);
    AppendString(2, other.text, &element);
    AppendMessage(kPartialOthersField, element, out);
  }
  ProtoWriter left(buffer);
  left.Uint(22, p.others_left_out);
  left.Uint(23, p.bytes_left_out);
  out->append(left.written());
}

bool DecodePartialGrant(std::string_view bytes, PartialGrant* p) {
  *p = {};
  std::optional<std::string> price;  // several are merged, as in generated code
  std::optional<std::string> sent_price;
  const auto add = [](std::string_view more, std::optional<std::string>& to) {
    if (!to) to.emplace();
    to->append(more);
  };
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): p->trickle = r.Varint(); break;
      case DoubleTag(2): p->sent_time = r.Double(); break;
      case BytesTag(kVarietyField): p->variety = r.Bytes(); break;
      case VarintTag(4): p->sequence = r.Varint(); break;
      case DoubleTag(5): p->asked = r.Double(); break;
      case DoubleTag(6): p->allowed = r.Double(); break;
      case DoubleTag(7): p->mark_before = r.Double(); break;
      case DoubleTag(8): p->mark_after = r.Double(); break;
      case VarintTag(9): p->bounds = r.Uint32(); break;
      case DoubleTag(10): p->credit = r.Double(); break;
      case VarintTag(11): p->paid_before = r.Sint(); break;
      case BytesTag(kPriceField): add(r.Bytes(), price); break;
      case VarintTag(13): p->workunit = WorkunitId(r.Varint()); break;
      case VarintTag(14): p->version = AppVersionId(r.Sint()); break;
      case VarintTag(15): p->phase = r.Varint(); break;
      case BytesTag(kModelVersionField): p->model_version = r.Bytes(); break;
      case VarintTag(17): p->outcome = NarrowEnum<credit::TrickleOutcome>(r.Varint()); break;
      case VarintTag(18): p->refusal = static_cast<RefusalReason>(r.Uint32()); break;
      case BytesTag(kSentPriceField): add(r.Bytes(), sent_price); break;
      case VarintTag(20): p->repriced = r.Uint32(); break;
      case BytesTag(kPartialOthersField):
        if (!DecodeElement(r.Bytes(), &p->others.emplace_back())) return false;
        break;
      case VarintTag(22): p->others_left_out = r.Uint32(); break;
      case VarintTag(23): p->bytes_left_out = r.Varint(); break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok() && (!price || DecodePrice(*price, &p->price.emplace())) &&
         (!sent_price || DecodePrice(*sent_price, &p->sent_price.emplace()));
}

}  // namespace cobblestone::wire
