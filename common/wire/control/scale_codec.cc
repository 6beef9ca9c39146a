#include "common/wire/control/scale_codec.h"

#include <cstdint>

#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {
namespace {

void AppendSample(const credit::Sample& s, std::string* out) {
  char buffer[12 * kMaxScalarField];
  ProtoWriter w(buffer);
  w.Double(1, s.time);
  w.Uint(2, s.validation_id);
  w.Uint(3, s.result.value);
  w.Uint(4, s.app.value);
  w.Sint(5, s.version.value);
  w.Uint(6, s.flags);
  w.Double(7, s.pfc);
  w.Double(8, s.credit);
  w.Double(9, s.credit_start);
  w.Double(10, s.weight);
  w.Uint(11, s.line);
  w.Uint(12, s.host.value);
  AppendMessage(2, w.written(), out);
}

bool ReadSample(std::string_view bytes, credit::Sample* s) {
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case DoubleTag(1): s->time = r.Double(); break;
      case VarintTag(2): s->validation_id = r.Varint(); break;
      case VarintTag(3): s->result = ResultId(r.Varint()); break;
      case VarintTag(4): s->app = AppId(r.Varint()); break;
      case VarintTag(5): s->version = AppVersionId(r.Sint()); break;
      case VarintTag(6): s->flags = r.Uint32(); break;
      case DoubleTag(7): s->pfc = r.Double(); break;
      case DoubleTag(8): s->credit = r.Double(); break;
      case DoubleTag(9): s->credit_start = r.Double(); break;
      case DoubleTag(10): s->weight = r.Double(); break;
      case VarintTag(11): s->line = r.Varint(); break;
      case VarintTag(12): s->host = HostId(r.Varint()); break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

void AppendProject(ProjectId project, std::string* out) {
  char buffer[kMaxScalarField];
  ProtoWriter w(buffer);
  w.Uint(1, project.value);
  out->append(w.written());
}

bool ReadVersionScale(std::string_view bytes, credit::ScaleTable* table) {
  std::uint64_t id = 0;
  credit::VersionScale v;
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): id = r.Varint(); break;
      case DoubleTag(2): v.pfc.n = r.Double(); break;
      case DoubleTag(3): v.pfc.mean = r.Double(); break;
      case DoubleTag(4): v.scale = r.Double(); break;
      case VarintTag(5): v.cached = r.Bool(); break;
      case DoubleTag(6): v.cached_pfc.n = r.Double(); break;
      case DoubleTag(7): v.cached_pfc.mean = r.Double(); break;
      case DoubleTag(8): v.cached_scale = r.Double(); break;
      case DoubleTag(9): v.expavg_credit = r.Double(); break;
      case DoubleTag(10): v.expavg_time = r.Double(); break;
      default: r.Skip(tag); break;
    }
  }
  table->versions.insert_or_assign(table->versions.end(), id, v);
  return r.ok();
}

bool ReadAppScale(std::string_view bytes, credit::ScaleTable* table) {
  std::uint64_t id = 0;
  credit::AppScale a;
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): id = r.Varint(); break;
      case DoubleTag(2): a.min_avg_pfc = r.Double(); break;
      case VarintTag(3): a.defined = r.Bool(); break;
      case DoubleTag(4): a.cpu_mean = r.Double(); break;
      case DoubleTag(5): a.gpu_mean = r.Double(); break;
      case DoubleTag(6): a.npfc_mean = r.Double(); break;
      case DoubleTag(7): a.npfc_weight = r.Double(); break;
      case DoubleTag(8): a.claim_n = r.Double(); break;
      case DoubleTag(9): a.claim_mean = r.Double(); break;
      case DoubleTag(10): a.claim_var = r.Double(); break;
      default: r.Skip(tag); break;
    }
  }
  table->apps.insert_or_assign(table->apps.end(), id, a);
  return r.ok();
}

}  // namespace

SampleBatchWriter::SampleBatchWriter(ProjectId project) {
  AppendProject(project, &bytes_);
  head_size_ = bytes_.size();
}

void SampleBatchWriter::Add(const credit::Sample& sample) {
  AppendSample(sample, &bytes_);
  ++count_;
}

void SampleBatchWriter::Clear() {
  bytes_.resize(head_size_);
  count_ = 0;
}

void EncodeSampleBatch(ProjectId project, std::span<const credit::Sample> samples, std::string* out) {
  AppendProject(project, out);
  for (const credit::Sample& sample : samples) AppendSample(sample, out);
}

bool DecodeSampleBatch(std::string_view bytes, ProjectId* project, std::vector<credit::Sample>* samples) {
  *project = {};
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): *project = ProjectId(r.Uint32()); break;
      case BytesTag(2):
        if (!ReadSample(r.Bytes(), &samples->emplace_back())) return false;
        break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

void EncodeEpoch(ProjectId project, const credit::ScaleTable& table, std::string* out) {
  char head[3 * kMaxScalarField];
  ProtoWriter h(head);
  h.Uint(1, project.value);
  h.Uint(2, table.epoch);
  h.Double(3, table.time);
  out->append(h.written());

  for (const auto& [id, v] : table.versions) {
    char one[10 * kMaxScalarField];
    ProtoWriter w(one);
    w.Uint(1, id);
    w.Double(2, v.pfc.n);
    w.Double(3, v.pfc.mean);
    w.Double(4, v.scale);
    w.Bool(5, v.cached);
    w.Double(6, v.cached_pfc.n);
    w.Double(7, v.cached_pfc.mean);
    w.Double(8, v.cached_scale);
    w.Double(9, v.expavg_credit);
    w.Double(10, v.expavg_time);
    AppendMessage(4, w.written(), out);
  }
  for (const auto& [id, a] : table.apps) {
    char one[10 * kMaxScalarField];
    ProtoWriter w(one);
    w.Uint(1, id);
    w.Double(2, a.min_avg_pfc);
    w.Bool(3, a.defined);
    w.Double(4, a.cpu_mean);
    w.Double(5, a.gpu_mean);
    w.Double(6, a.npfc_mean);
    w.Double(7, a.npfc_weight);
    w.Double(8, a.claim_n);
    w.Double(9, a.claim_mean);
    w.Double(10, a.claim_var);
    AppendMessage(5, w.written(), out);
  }
}

bool DecodeEpoch(std::string_view bytes, ProjectId* project, credit::ScaleTable* table) {
  *project = {};
  *table = {};
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): *project = ProjectId(r.Uint32()); break;
      case VarintTag(2): table->epoch = r.Varint(); break;
      case DoubleTag(3): table->time = r.Double(); break;
      case BytesTag(4):
        if (!ReadVersionScale(r.Bytes(), table)) return false;
        break;
      case BytesTag(5):
        if (!ReadAppScale(r.Bytes(), table)) return false;
        break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

}  // namespace cobblestone::wire
