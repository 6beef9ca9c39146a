#include "common/wire/ledger/undone_codec.h"

#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {

void EncodeUndone(const Undone& u, std::string* out) {
  char buffer[10 * kMaxScalarField];
  ProtoWriter w(buffer);
  w.Uint(1, u.event);
  w.Uint(2, u.workunit.value);
  w.Sint(3, u.app_version.value);
  w.Sint(4, u.credit_micro);
  w.Uint(5, u.policy_version);
  w.Bool(6, u.counted);
  w.Sint(7, u.paid_micro);
  w.Sint(8, u.taken_micro);
  w.Uint(9, u.repriced);
  w.Uint(10, u.like_result.value);
  out->append(w.written());
}

bool DecodeUndone(std::string_view bytes, Undone* u) {
  *u = {};
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): u->event = r.Varint(); break;
      case VarintTag(2): u->workunit = WorkunitId(r.Varint()); break;
      case VarintTag(3): u->app_version = AppVersionId(r.Sint()); break;
      case VarintTag(4): u->credit_micro = r.Sint(); break;
      case VarintTag(5): u->policy_version = r.Uint32(); break;
      case VarintTag(6): u->counted = r.Varint() != 0; break;
      case VarintTag(7): u->paid_micro = r.Sint(); break;
      case VarintTag(8): u->taken_micro = r.Sint(); break;
      case VarintTag(9): u->repriced = r.Uint32(); break;
      case VarintTag(10): u->like_result = ResultId(r.Varint()); break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

}  // namespace cobblestone::wire
