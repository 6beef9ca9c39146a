#include "common/wire/events/event_codec.h"

#include <cstddef>
#include <vector>

#include "common/wire/events/event_fields.h"
#include "common/wire/events/event_proto.h"
#include "common/wire/events/feed_account_codec.h"
#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {
namespace {

// Fields of Envelope.
constexpr std::uint32_t kIdTag = VarintTag(1);
constexpr std::uint32_t kProjectTag = VarintTag(2);
constexpr std::uint32_t kTimeTag = DoubleTag(3);
constexpr std::uint32_t kCompletionField = 4;
constexpr std::uint32_t kValidationField = 5;

// The kind for a field of Envelope; kNone if the field is not an event.
EventKind KindOfField(std::uint32_t field) {
  const auto kind = NarrowEnum<EventKind>(field);
  switch (kind) {
    case EventKind::kCompletion:
    case EventKind::kValidation:
    case EventKind::kDispatch:
    case EventKind::kTrickle:
    case EventKind::kHost:
    case EventKind::kUser:
    case EventKind::kTeam:
    case EventKind::kHostMerge:
    case EventKind::kAccountFacts:
    case EventKind::kHostAsked:
    case EventKind::kHeldResult:
    case EventKind::kHandedEvent:
    case EventKind::kDecidedResult:
    case EventKind::kApp:
    case EventKind::kAppVersion:
    case EventKind::kSettings:
    case EventKind::kValidatorRestart:
    case EventKind::kTick:
    case EventKind::kPlanClassFactor:
    case EventKind::kBarrier:
    case EventKind::kWatermark:
    case EventKind::kProjectProfile:
    case EventKind::kProjectName:
    case EventKind::kOpeningTotal:
    case EventKind::kOpeningHostVersion:
    case EventKind::kOpeningAppVersion:
    case EventKind::kOpeningApp:
    case EventKind::kReversal:
    case EventKind::kRepricing:
    case EventKind::kEstimatedCredit:
    case EventKind::kMachineHost:
    case EventKind::kJobReversal:
    case EventKind::kJobRepricing:
    case EventKind::kFeedProject:
    case EventKind::kFeedEdition:
    case EventKind::kFeedVersions:
    case EventKind::kFeedHealth:
    case EventKind::kFeedAccount:
    case EventKind::kOwnershipProof:
    case EventKind::kIdentityDecision: return kind;
    case EventKind::kNone: break;
  }
  return EventKind::kNone;
}

// Kind of the event that a tag of Envelope starts; kNone for another field or a wire type other than that of
// a message.
EventKind KindOfTag(std::uint32_t tag) {
  return (tag & 7) == static_cast<std::uint32_t>(WireType::kBytes) ? KindOfField(tag >> 3) : EventKind::kNone;
}

bool ReadUsage(std::string_view bytes, credit::CompletionFacts* facts, std::vector<DeviceUsage>* usage) {
  DeviceUsage device;
  ProtoReader reader(bytes);
  while (const std::uint32_t tag = reader.NextTag()) {
    switch (tag) {
      case VarintTag(1): device.resource = NarrowEnum<credit::Resource>(reader.Varint()); break;
      case DoubleTag(2): device.count = reader.Double(); break;
      case DoubleTag(3): device.peak_flops = reader.Double(); break;
      default: reader.Skip(tag); break;
    }
  }
  AddUsage(device, facts);
  if (usage != nullptr) usage->push_back(device);
  return reader.ok();
}

bool ReadCompletion(std::string_view bytes, credit::CompletionFacts* f, std::vector<DeviceUsage>* usage) {
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): f->result = ResultId(r.Varint()); break;
      case VarintTag(2): f->host = HostId(r.Varint()); break;
      case VarintTag(3): f->workunit = WorkunitId(r.Varint()); break;
      case VarintTag(4): f->app = AppId(r.Varint()); break;
      case VarintTag(5): f->version = AppVersionId(r.Sint()); break;
      case VarintTag(6): f->outcome = NarrowEnum<credit::Outcome>(r.Varint()); break;
      case DoubleTag(7): f->elapsed_time = r.Double(); break;
      case DoubleTag(8): f->cpu_time = r.Double(); break;
      case DoubleTag(9): f->peak_flops = r.Double(); break;
      case DoubleTag(10): f->sent_time = r.Double(); break;
      case DoubleTag(11): f->received_time = r.Double(); break;
      case DoubleTag(12): f->delay_bound = r.Double(); break;
      case DoubleTag(13): f->reported_flops = r.Double(); break;
      case DoubleTag(14): f->reported_credit = r.Double(); break;
      case BytesTag(15):
        if (!ReadUsage(r.Bytes(), f, usage)) return false;
        break;
      case VarintTag(16): f->cancelled = r.Varint() != 0; break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

bool ReadValidation(std::string_view bytes, credit::ValidationFacts* f) {
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): f->result = ResultId(r.Varint()); break;
      case VarintTag(2): f->host = HostId(r.Varint()); break;
      case VarintTag(3): f->workunit = WorkunitId(r.Varint()); break;
      case VarintTag(4): f->app = AppId(r.Varint()); break;
      case DoubleTag(5): f->fpops_est = r.Double(); break;
      case DoubleTag(6): f->fpops_bound = r.Double(); break;
      case VarintTag(7): f->state = NarrowEnum<credit::ValidateState>(r.Varint()); break;
      case VarintTag(8): f->pass = r.Uint32(); break;
      case VarintTag(9): f->claims = r.Uint32(); break;
      case VarintTag(10): f->late = r.Bool(); break;
      case VarintTag(11): f->runtime_outlier = r.Bool(); break;
      case VarintTag(12): f->unreplicated = r.Bool(); break;
      case VarintTag(13): f->canonical_result = ResultId(r.Varint()); break;
      case DoubleTag(14): f->assigned_credit = r.Double(); break;
      case VarintTag(15): f->check_failed = r.Bool(); break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

// `usage`: receives the single devices; null: only their sums are decoded.
HotDecode Decode(std::string_view bytes, HotEvent* event, std::vector<DeviceUsage>* usage) {
  event->kind = EventKind::kNone;
  event->head = {};
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case kIdTag: event->head.id = r.Varint(); break;
      case kProjectTag: event->head.project = ProjectId(r.Uint32()); break;
      case kTimeTag: event->head.time = r.Double(); break;
      case BytesTag(kCompletionField):
        // A repeated member of the oneof is merged with the previous one; another member replaces it.
        if (event->kind != EventKind::kCompletion) {
          event->kind = EventKind::kCompletion;
          event->completion = {};
          if (usage != nullptr) usage->clear();
        }
        if (!ReadCompletion(r.Bytes(), &event->completion, usage)) return HotDecode::kMalformed;
        break;
      case BytesTag(kValidationField):
        if (event->kind != EventKind::kValidation) {
          event->kind = EventKind::kValidation;
          event->validation = {};
        }
        if (!ReadValidation(r.Bytes(), &event->validation)) return HotDecode::kMalformed;
        break;
      default:
        if (const EventKind kind = KindOfTag(tag); kind != EventKind::kNone) event->kind = kind;
        r.Skip(tag);
        break;
    }
  }
  if (!r.ok()) return HotDecode::kMalformed;
  if (event->kind == EventKind::kCompletion) {
    event->completion.event_time = event->head.time;
    return HotDecode::kHot;
  }
  if (event->kind == EventKind::kValidation) {
    event->validation.id = event->head.id;
    event->validation.now = event->head.time;
    return HotDecode::kHot;
  }
  return HotDecode::kOther;
}

constexpr std::uint32_t kEntryField = 7;  // of Reversal and Repricing

// The field of an event that holds its key, and the kind of key; 0: the event has no key.
struct KeyField {
  std::uint32_t field = 0;
  KeyKind key = KeyKind::kNone;
};

KeyField KeyFieldOf(EventKind kind) {
  switch (kind) {
    case EventKind::kCompletion:
    case EventKind::kValidation:
    case EventKind::kDispatch:
    case EventKind::kTrickle: return {2, KeyKind::kHost};
    case EventKind::kHost:
    case EventKind::kHostMerge:
    case EventKind::kHostAsked:
    case EventKind::kHeldResult:
    case EventKind::kHandedEvent:
    case EventKind::kDecidedResult:
    case EventKind::kJobReversal:
    case EventKind::kJobRepricing:
    case EventKind::kOpeningHostVersion: return {1, KeyKind::kHost};
    case EventKind::kMachineHost: return {1, KeyKind::kMachine};
    case EventKind::kEstimatedCredit: return {3, KeyKind::kMachine};
    case EventKind::kUser: return {1, KeyKind::kUser};
    case EventKind::kTeam: return {1, KeyKind::kTeam};
    case EventKind::kReversal:
    case EventKind::kRepricing: return {kEntryField, KeyKind::kOwner};
    case EventKind::kAccountFacts:
    case EventKind::kFeedAccount:
    case EventKind::kOpeningTotal: return {2, KeyKind::kNone};  // another field's value determines the kind
    case EventKind::kApp:
    case EventKind::kAppVersion:
    case EventKind::kSettings:
    case EventKind::kValidatorRestart:
    case EventKind::kTick:
    case EventKind::kPlanClassFactor:
    case EventKind::kBarrier:
    case EventKind::kWatermark:
    case EventKind::kProjectProfile:
    case EventKind::kProjectName:
    case EventKind::kOpeningAppVersion:
    case EventKind::kOpeningApp:
    case EventKind::kFeedProject:
    case EventKind::kFeedEdition:
    case EventKind::kFeedVersions:
    case EventKind::kFeedHealth:
    case EventKind::kOwnershipProof:
    case EventKind::kIdentityDecision: return {0, KeyKind::kBroadcast};
    case EventKind::kNone: break;
  }
  return {0, KeyKind::kNone};
}

KeyKind KeyOfAccount(AccountKind kind) {
  switch (kind) {
    case AccountKind::kHost: return KeyKind::kHost;
    case AccountKind::kUser: return KeyKind::kUser;
    case AccountKind::kTeam: return KeyKind::kTeam;
    case AccountKind::kUnknown: break;
  }
  return KeyKind::kNone;
}

// The user and host of a LedgerEntry.
bool ReadOwner(std::string_view entry, std::uint64_t* user, std::uint64_t* host) {
  ProtoReader r(entry);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): *user = r.Varint(); break;
      case VarintTag(2): *host = r.Varint(); break;
      default: r.Skip(tag); break;
    }
  }
  return r.ok();
}

bool ReadEntry(std::string_view body, Routing* routing) {
  std::uint64_t user = 0;
  std::uint64_t host = 0;
  ProtoReader r(body);
  while (const std::uint32_t tag = r.NextTag()) {
    if (tag == BytesTag(kEntryField)) {
      if (!ReadOwner(r.Bytes(), &user, &host)) return false;
    } else {
      r.Skip(tag);
    }
  }
  if (user != 0 || host != 0) {
    routing->key = KeyKind::kOwner;
    routing->id = user != 0 ? user : ~host;
  }
  return r.ok();
}

bool ReadKey(EventKind kind, std::string_view body, Routing* routing) {
  const KeyField its = KeyFieldOf(kind);
  if (its.field == 0) {
    routing->key = its.key;
    return true;
  }
  if (its.key == KeyKind::kOwner) return ReadEntry(body, routing);
  const bool of_account =
      kind == EventKind::kOpeningTotal || kind == EventKind::kAccountFacts || kind == EventKind::kFeedAccount;
  ProtoReader r(body);
  while (const std::uint32_t tag = r.NextTag()) {
    const std::uint32_t field = tag >> 3;
    const bool varint = (tag & 7) == static_cast<std::uint32_t>(WireType::kVarint);
    if (varint && of_account && field == 1) {
      routing->key = KeyOfAccount(NarrowEnum<AccountKind>(r.Varint()));
    } else if (varint && field == its.field) {
      routing->id = r.Varint();
      if (!of_account) routing->key = its.key;
    } else {
      r.Skip(tag);
    }
  }
  return r.ok();
}

// Space for the fields of Envelope before its event.
constexpr std::size_t kMaxHead = 3 * kMaxScalarField;
// Space for the fields of Completion before its devices, and for the fields of Validation.
constexpr std::size_t kMaxCompletion = 14 * kMaxScalarField;
constexpr std::size_t kMaxValidation = 15 * kMaxScalarField;
constexpr std::size_t kMaxUsage = 3 * kMaxScalarField;

void WriteHead(const EventHead& head, std::uint32_t field, std::size_t body_size, std::string* out) {
  char buffer[kMaxHead + kMaxScalarField];
  ProtoWriter w(buffer);
  w.Uint(1, head.id);
  w.Uint(2, head.project.value);
  w.Double(3, head.time);
  w.MessageHead(field, body_size);
  out->append(w.written());
}

}  // namespace

HotDecode DecodeHot(std::string_view bytes, HotEvent* event) { return Decode(bytes, event, nullptr); }

Result<Event> ParseEvent(std::string_view bytes) {
  HotEvent hot;
  std::vector<DeviceUsage> usage;
  switch (Decode(bytes, &hot, &usage)) {
    case HotDecode::kHot:
      if (hot.kind == EventKind::kCompletion) {
        return Event{hot.head, Completion{hot.completion, std::move(usage)}};
      }
      return Event{hot.head, hot.validation};
    case HotDecode::kOther:
      if (hot.kind == EventKind::kFeedAccount) {
        Result<Event> event = Event{{}, FeedAccount{}};
        if (DecodeFeedAccount(bytes, &event->head, &std::get<FeedAccount>(event->body))) return event;
      }
      if (std::optional<Event> event = ParseWithGeneratedCode(bytes)) return *std::move(event);
      break;
    case HotDecode::kMalformed: break;
  }
  return Status::InvalidArgument("not an Envelope: " + std::to_string(bytes.size()) +
                                 " bytes of invalid protobuf");
}

std::optional<EventKind> PeekKind(std::string_view bytes) {
  EventKind kind = EventKind::kNone;
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    if (const EventKind here = KindOfTag(tag); here != EventKind::kNone) kind = here;
    r.Skip(tag);
  }
  if (!r.ok()) return std::nullopt;
  return kind;
}

std::optional<double> PeekEventTime(std::string_view bytes) {
  double time = 0;
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    if (tag == kTimeTag) {
      time = r.Double();
    } else {
      r.Skip(tag);
    }
  }
  if (!r.ok()) return std::nullopt;
  return time;
}

std::optional<Routing> PeekRouting(std::string_view bytes) {
  Routing routing;
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    if (tag == kProjectTag) {
      routing.project = ProjectId(r.Uint32());
      continue;
    }
    const EventKind kind = KindOfTag(tag);
    if (kind == EventKind::kNone) {
      r.Skip(tag);
      continue;
    }
    if (kind != routing.kind) routing = {.kind = kind, .project = routing.project};
    if (!ReadKey(kind, r.Bytes(), &routing)) return std::nullopt;
  }
  if (!r.ok()) return std::nullopt;
  return routing;
}

void EncodeCompletion(const EventHead& head, const credit::CompletionFacts& f,
                      std::span<const DeviceUsage> usage, std::string* out) {
  char body[kMaxCompletion];
  ProtoWriter w(body);
  w.Uint(1, f.result.value);
  w.Uint(2, f.host.value);
  w.Uint(3, f.workunit.value);
  w.Uint(4, f.app.value);
  w.Sint(5, f.version.value);
  w.Uint(6, static_cast<std::uint64_t>(f.outcome));
  w.Double(7, f.elapsed_time);
  w.Double(8, f.cpu_time);
  w.Double(9, f.peak_flops);
  w.Double(10, f.sent_time);
  w.Double(11, f.received_time);
  w.Double(12, f.delay_bound);
  if (f.reported_flops) w.PresentDouble(13, *f.reported_flops);
  if (f.reported_credit) w.PresentDouble(14, *f.reported_credit);

  std::string devices;
  for (const DeviceUsage& device : usage) {
    char one[kMaxUsage];
    ProtoWriter d(one);
    d.Uint(1, static_cast<std::uint64_t>(device.resource));
    d.Double(2, device.count);
    d.Double(3, device.peak_flops);
    AppendMessage(15, d.written(), &devices);
  }
  char end[kMaxScalarField];
  ProtoWriter last(end);
  last.Bool(16, f.cancelled);
  devices += last.written();
  WriteHead(head, kCompletionField, w.size() + devices.size(), out);
  out->append(w.written());
  out->append(devices);
}

void EncodeValidation(const EventHead& head, const credit::ValidationFacts& f, std::string* out) {
  char body[kMaxValidation];
  ProtoWriter w(body);
  w.Uint(1, f.result.value);
  w.Uint(2, f.host.value);
  w.Uint(3, f.workunit.value);
  w.Uint(4, f.app.value);
  w.Double(5, f.fpops_est);
  w.Double(6, f.fpops_bound);
  w.Uint(7, static_cast<std::uint64_t>(f.state));
  w.Uint(8, f.pass);
  w.Uint(9, f.claims);
  w.Bool(10, f.late);
  w.Bool(11, f.runtime_outlier);
  w.Bool(12, f.unreplicated);
  w.Uint(13, f.canonical_result.value);
  if (f.assigned_credit) w.PresentDouble(14, *f.assigned_credit);
  w.Bool(15, f.check_failed);
  WriteHead(head, kValidationField, w.size(), out);
  out->append(w.written());
}

std::string EncodeEvent(const Event& event) {
  std::string out;
  if (const auto* completion = std::get_if<Completion>(&event.body)) {
    EncodeCompletion(event.head, completion->facts, completion->usage, &out);
  } else if (const auto* validation = std::get_if<credit::ValidationFacts>(&event.body)) {
    EncodeValidation(event.head, *validation, &out);
  } else if (const auto* account = std::get_if<FeedAccount>(&event.body)) {
    EncodeFeedAccount(event.head, *account, &out);
  } else {
    out = EncodeWithGeneratedCode(event);
  }
  return out;
}

}  // namespace cobblestone::wire
