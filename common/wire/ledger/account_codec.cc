#include "common/wire/ledger/account_codec.h"

#include "common/wire/events/event_fields.h"
#include "common/wire/int128_fields.h"
#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {
namespace {

bool ReadAppTotal(std::string_view bytes, AppTotal* total) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): total->app = AppId(r.Varint()); break;
      case VarintTag(2): low = r.Sint(); break;
      case VarintTag(3): total->grants = r.Varint(); break;
      case VarintTag(4): high = r.Sint(); break;
      default: r.Skip(tag); break;
    }
  }
  total->total_micro = JoinHalves(low, high);
  return r.ok();
}

}  // namespace

Total TotalOf(ProjectId project, AccountKind kind, std::uint64_t account, const credit::Account& state) {
  Total total;
  total.project = project;
  total.kind = kind;
  total.account = account;
  total.total_micro = state.total_micro;
  total.provisional_micro = state.provisional_micro;
  total.owed_micro = state.owed_micro;
  total.rac = state.recent.value;
  total.rac_time = state.recent.time;
  total.grants = state.grants;
  total.apps.reserve(state.apps.size());
  for (const credit::AppSum& app : state.apps) {
    total.apps.push_back({.app = app.app, .total_micro = app.micro, .grants = app.grants});
  }
  return total;
}

void EncodePosting(const Posting& p, std::string* out) {
  char buffer[13 * kMaxScalarField];
  ProtoWriter w(buffer);
  w.Uint(1, p.project.value);
  w.Uint(2, p.team.value);
  w.Uint(3, p.user.value);
  w.Uint(4, p.host.value);
  w.Uint(5, p.app.value);
  w.Uint(6, p.result.value);
  w.Sint(7, p.credit_micro);
  w.Double(8, p.time);
  w.Double(9, p.work_start);
  w.Uint(10, p.line);
  w.Uint(11, p.flags);
  w.Bool(13, p.uncounted);
  w.Double(14, p.recent_off);
  out->append(w.written());
}

bool DecodePosting(std::string_view bytes, Posting* p) {
  *p = {};
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): p->project = ProjectId(r.Uint32()); break;
      case VarintTag(2): p->team = TeamId(r.Varint()); break;
      case VarintTag(3): p->user = UserId(r.Varint()); break;
      case VarintTag(4): p->host = HostId(r.Varint()); break;
      case VarintTag(5): p->app = AppId(r.Varint()); break;
      case VarintTag(6): p->result = ResultId(r.Varint()); break;
      case VarintTag(7): p->credit_micro = r.Sint(); break;
      case DoubleTag(8): p->time = r.Double(); break;
      case DoubleTag(9): p->work_start = r.Double(); break;
      case VarintTag(10): p->line = r.Varint(); break;
      case VarintTag(11): p->flags = r.Uint32(); break;
      case VarintTag(13): p->uncounted = r.Varint() != 0; break;
      case DoubleTag(14): p->recent_off = r.Double(); break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

void EncodeTotal(const Total& total, std::string* out) {
  char buffer[9 * kMaxScalarField];
  ProtoWriter w(buffer);
  w.Uint(1, total.project.value);
  w.Uint(2, static_cast<std::uint64_t>(total.kind));
  w.Uint(3, total.account);
  w.Sint(4, LowHalf(total.total_micro));
  w.Sint(5, HighHalf(total.total_micro));
  w.Double(6, total.rac);
  w.Double(7, total.rac_time);
  w.Uint(8, total.grants);
  out->append(w.written());
  for (const AppTotal& app : total.apps) {
    char one[4 * kMaxScalarField];
    ProtoWriter a(one);
    a.Uint(1, app.app.value);
    a.Sint(2, LowHalf(app.total_micro));
    a.Uint(3, app.grants);
    a.Sint(4, HighHalf(app.total_micro));
    AppendMessage(9, a.written(), out);
  }
  ProtoWriter last(buffer);
  last.Bool(10, total.elsewhere);
  last.Sint(11, LowHalf(total.provisional_micro));
  last.Sint(12, HighHalf(total.provisional_micro));
  last.Sint(13, LowHalf(total.owed_micro));
  last.Sint(14, HighHalf(total.owed_micro));
  last.Sint(15, LowHalf(total.estimated_micro));
  last.Sint(16, HighHalf(total.estimated_micro));
  last.Sint(17, LowHalf(total.shown_micro));
  last.Sint(18, HighHalf(total.shown_micro));
  out->append(last.written());
}

bool DecodeTotal(std::string_view bytes, Total* total) {
  *total = {};
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t provisional[2] = {0, 0};
  std::int64_t owed[2] = {0, 0};
  std::int64_t estimated[2] = {0, 0};
  std::int64_t shown[2] = {0, 0};
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): total->project = ProjectId(r.Uint32()); break;
      case VarintTag(2): total->kind = NarrowEnum<AccountKind>(r.Varint()); break;
      case VarintTag(3): total->account = r.Varint(); break;
      case VarintTag(4): low = r.Sint(); break;
      case VarintTag(5): high = r.Sint(); break;
      case DoubleTag(6): total->rac = r.Double(); break;
      case DoubleTag(7): total->rac_time = r.Double(); break;
      case VarintTag(8): total->grants = r.Varint(); break;
      case BytesTag(9):
        if (!ReadAppTotal(r.Bytes(), &total->apps.emplace_back())) return false;
        break;
      case VarintTag(10): total->elsewhere = r.Varint() != 0; break;
      case VarintTag(11): provisional[0] = r.Sint(); break;
      case VarintTag(12): provisional[1] = r.Sint(); break;
      case VarintTag(13): owed[0] = r.Sint(); break;
      case VarintTag(14): owed[1] = r.Sint(); break;
      case VarintTag(15): estimated[0] = r.Sint(); break;
      case VarintTag(16): estimated[1] = r.Sint(); break;
      case VarintTag(17): shown[0] = r.Sint(); break;
      case VarintTag(18): shown[1] = r.Sint(); break;
      default: r.Skip(tag); break;
    }
  }
  total->total_micro = JoinHalves(low, high);
  total->provisional_micro = JoinHalves(provisional[0], provisional[1]);
  total->owed_micro = JoinHalves(owed[0], owed[1]);
  total->estimated_micro = JoinHalves(estimated[0], estimated[1]);
  total->shown_micro = JoinHalves(shown[0], shown[1]);
  return r.ok();
}

}  // namespace cobblestone::wire
