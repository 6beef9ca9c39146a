#include "common/wire/ledger/estimate_codec.h"

#include "common/wire/events/event_fields.h"
#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {
namespace {

constexpr std::uint32_t kUsesField = 8;

bool DecodeUse(std::string_view bytes, EstimatedUse* use) {
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): use->resource = NarrowEnum<credit::Resource>(r.Varint()); break;
      case VarintTag(2): use->credit_micro = r.Sint(); break;
      case DoubleTag(3): use->run_time = r.Double(); break;
      case VarintTag(4): use->jobs = r.Varint(); break;
      case VarintTag(5): use->failed_jobs = r.Varint(); break;
      case DoubleTag(6): use->failed_run_time = r.Double(); break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

}  // namespace

void EncodeEstimate(const Estimate& e, std::string* out) {
  char buffer[7 * kMaxScalarField];
  ProtoWriter w(buffer);
  w.Uint(1, e.event);
  w.Uint(2, e.machine);
  w.Sint(3, e.asked_micro);
  w.Sint(4, e.allowed_micro);
  w.Uint(5, e.bounds);
  w.Double(6, e.since);
  w.Double(7, e.flops);
  out->append(w.written());
  for (const EstimatedUse& use : e.uses) {
    ProtoWriter u(buffer);
    u.Uint(1, static_cast<std::uint64_t>(use.resource));
    u.Sint(2, use.credit_micro);
    u.Double(3, use.run_time);
    u.Uint(4, use.jobs);
    u.Uint(5, use.failed_jobs);
    u.Double(6, use.failed_run_time);
    AppendMessage(kUsesField, u.written(), out);
  }
}

bool DecodeEstimate(std::string_view bytes, Estimate* e) {
  *e = {};
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): e->event = r.Varint(); break;
      case VarintTag(2): e->machine = r.Varint(); break;
      case VarintTag(3): e->asked_micro = r.Sint(); break;
      case VarintTag(4): e->allowed_micro = r.Sint(); break;
      case VarintTag(5): e->bounds = r.Uint32(); break;
      case DoubleTag(6): e->since = r.Double(); break;
      case DoubleTag(7): e->flops = r.Double(); break;
      case BytesTag(kUsesField):
        if (!DecodeUse(r.Bytes(), &e->uses.emplace_back())) return false;
        break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

}  // namespace cobblestone::wire
