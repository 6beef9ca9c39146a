#include "common/wire/control/identity_fact.h"

#include "common/wire/events/event_fields.h"
#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {

void EncodeIdentityFact(const IdentityFact& f, std::string* out) {
  char buffer[13 * kMaxScalarField];
  ProtoWriter w(buffer);
  w.Uint(1, static_cast<std::uint64_t>(f.kind));
  w.Uint(2, f.project.value);
  w.Uint(3, f.user);
  w.Uint(4, f.create_time);
  w.Uint(5, f.cpid_high);
  w.Uint(6, f.cpid_low);
  w.Uint(7, f.day);
  w.Uint(8, static_cast<std::uint64_t>(f.decision));
  w.Uint(9, f.other_project.value);
  w.Uint(10, f.other_user);
  w.Uint(11, f.other_create_time);
  w.Uint(12, f.number);
  w.Bool(13, f.withdrawn);
  out->append(w.written());
}

bool DecodeIdentityFact(std::string_view bytes, IdentityFact* f) {
  *f = {};
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): f->kind = NarrowEnum<IdentityFactKind>(r.Varint()); break;
      case VarintTag(2): f->project = ProjectId(r.Uint32()); break;
      case VarintTag(3): f->user = r.Varint(); break;
      case VarintTag(4): f->create_time = r.Varint(); break;
      case VarintTag(5): f->cpid_high = r.Varint(); break;
      case VarintTag(6): f->cpid_low = r.Varint(); break;
      case VarintTag(7): f->day = r.Uint32(); break;
      case VarintTag(8): f->decision = NarrowEnum<IdentityDecisionKind>(r.Varint()); break;
      case VarintTag(9): f->other_project = ProjectId(r.Uint32()); break;
      case VarintTag(10): f->other_user = r.Varint(); break;
      case VarintTag(11): f->other_create_time = r.Varint(); break;
      case VarintTag(12): f->number = r.Varint(); break;
      case VarintTag(13): f->withdrawn = r.Varint() != 0; break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok() && f->kind != IdentityFactKind::kUnknown;
}

}  // namespace cobblestone::wire
