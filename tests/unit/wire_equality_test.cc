// Compares the hand-written codecs with generated code, on random and on damaged messages, in both directions and
// byte for byte.
#include <gtest/gtest.h>

#include <map>

#include "common/wire/control/control_codec.h"
#include "common/wire/control/sample_source.h"
#include "common/wire/control/scale_codec.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/feed_account_codec.h"
#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/claim_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "schemas/events.pb.h"
#include "schemas/internal.pb.h"
#include "tests/unit/wire_random.h"

namespace cobblestone::wire {
namespace {

constexpr int kMessages = 20000;

// Decodes and encodes bytes with the hand-written codecs; false if the decoder refuses the bytes.
bool RewriteHot(std::string_view bytes, std::string* out) {
  auto event = ParseEvent(bytes);
  if (!event.ok()) return false;
  *out = EncodeEvent(*event);
  return true;
}
bool RewriteClaim(std::string_view bytes, std::string* out) {
  credit::Claim claim;
  if (!DecodeClaim(bytes, &claim)) return false;
  EncodeClaim(claim, out);
  return true;
}
bool RewriteGrant(std::string_view bytes, std::string* out) {
  Grant grant;
  if (!DecodeGrant(bytes, &grant)) return false;
  std::string claim;
  if (grant.claim) EncodeClaim(*grant.claim, &claim);
  EncodeGrant(grant.head, grant.detail, grant.others, claim, out,
              {.transfer = grant.transfer ? &*grant.transfer : nullptr,
               .partial = grant.partial ? &*grant.partial : nullptr,
               .reason = grant.reason,
               .undone = grant.undone ? &*grant.undone : nullptr,
               .into = grant.into,
               .estimate = grant.estimate ? &*grant.estimate : nullptr});
  return true;
}
bool RewritePosting(std::string_view bytes, std::string* out) {
  Posting posting;
  if (!DecodePosting(bytes, &posting)) return false;
  EncodePosting(posting, out);
  return true;
}
bool RewriteTotal(std::string_view bytes, std::string* out) {
  Total total;
  if (!DecodeTotal(bytes, &total)) return false;
  EncodeTotal(total, out);
  return true;
}
bool RewriteSamples(std::string_view bytes, std::string* out) {
  ProjectId project;
  std::vector<credit::Sample> samples;
  SampleSource source;
  if (!DecodeSampleBatch(bytes, &project, &samples) || !DecodeSampleSource(bytes, &source)) return false;
  EXPECT_EQ(source.project, project);
  EncodeSampleBatch(project, samples, out);
  AppendSampleSource(source.partition, source.passed_watermark, out);
  return true;
}
bool RewriteEpoch(std::string_view bytes, std::string* out) {
  ProjectId project;
  credit::ScaleTable table;
  if (!DecodeEpoch(bytes, &project, &table)) return false;
  EncodeEpoch(project, table, out);
  return true;
}
bool RewriteControl(std::string_view bytes, std::string* out) {
  ControlView control;
  if (!DecodeControl(bytes, &control)) return false;
  switch (control.kind) {
    case ControlKind::kNone: return false;
    case ControlKind::kEvent: EncodeControlEvent(control.head, control.body, out); return true;
    case ControlKind::kWatermark: EncodeControlWatermark(control.head, control.watermark, out); return true;
    case ControlKind::kEpoch: break;
  }
  ProjectId project;
  credit::ScaleTable table;
  if (!DecodeEpoch(control.body, &project, &table)) return false;
  // An epoch in a control record belongs to the project of the record.
  EXPECT_EQ(project, control.head.project);
  EncodeControlEpoch(control.head, table, out);
  return true;
}

// Parses the bytes with generated code, discards unknown fields, and serializes the message.
template <class M>
bool RewriteWithGeneratedCode(std::string_view bytes, M* m, std::string* out) {
  if (!m->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  m->DiscardUnknownFields();
  *out = m->SerializeAsString();
  return true;
}

// Epochs of the pipeline have each version and each app once, in ascending order.
void SortAndThin(v1::Epoch* epoch) {
  std::map<std::uint64_t, v1::VersionScale> versions;
  for (const auto& v : epoch->versions()) versions[v.app_version()] = v;
  epoch->clear_versions();
  for (const auto& [id, v] : versions) *epoch->add_versions() = v;
  std::map<std::uint64_t, v1::AppScale> apps;
  for (const auto& a : epoch->apps()) apps[a.app()] = a;
  epoch->clear_apps();
  for (const auto& [id, a] : apps) *epoch->add_apps() = a;
}

// Removes the fields that the callers of the codecs never write from a random message.
void Tidy(v1::Epoch* m) { SortAndThin(m); }
void Tidy(v1::Claim* m) {
  m->clear_passed();
  m->clear_late_trickle();
}
void Tidy(v1::Posting* m) { m->clear_passed(); }
void Tidy(v1::Grant* m) {
  m->clear_passed();
  Tidy(m->mutable_claim());
  if (m->claim().ByteSizeLong() == 0) m->clear_claim();
}
void Tidy(v1::Control* m) {
  if (m->has_epoch()) {
    SortAndThin(m->mutable_epoch());
    m->mutable_epoch()->set_project(m->project());
  }
}
void Tidy(v1::Envelope* m) {
  m->clear_line();
  if (m->settings().estimates().ByteSizeLong() == 0 && m->has_settings())
    m->mutable_settings()->clear_estimates();
  // An opening always contains its averages.
  if (m->has_opening_host_version()) {
    m->mutable_opening_host_version()->mutable_pfc();
    m->mutable_opening_host_version()->mutable_et();
    m->mutable_opening_host_version()->mutable_turnaround();
  }
  if (m->has_opening_app_version()) m->mutable_opening_app_version()->mutable_pfc();
}
void Tidy(google::protobuf::Message*) {}

template <class M>
void ExpectSameBytes(bool (*rewrite)(std::string_view, std::string*)) {
  Random random(20261121);
  for (int i = 0; i < kMessages; ++i) {
    M m = RandomMessage<M>(random);
    Tidy(&m);
    const std::string generated = m.SerializeAsString();
    std::string ours;
    ASSERT_TRUE(rewrite(generated, &ours)) << m.DebugString();
    ASSERT_EQ(ours, generated) << m.DebugString();
  }
}

TEST(WireEquality, EveryKindOfEventIsWrittenAsGeneratedCodeWritesIt) {
  ExpectSameBytes<v1::Envelope>(RewriteHot);
}
TEST(WireEquality, ClaimsAreWrittenAsGeneratedCodeWritesThem) { ExpectSameBytes<v1::Claim>(RewriteClaim); }
TEST(WireEquality, GrantsAreWrittenAsGeneratedCodeWritesThem) { ExpectSameBytes<v1::Grant>(RewriteGrant); }
TEST(WireEquality, PostingsAreWrittenAsGeneratedCodeWritesThem) {
  ExpectSameBytes<v1::Posting>(RewritePosting);
}
TEST(WireEquality, TotalsAreWrittenAsGeneratedCodeWritesThem) { ExpectSameBytes<v1::Total>(RewriteTotal); }
TEST(WireEquality, SamplesAreWrittenAsGeneratedCodeWritesThem) {
  ExpectSameBytes<v1::SampleBatch>(RewriteSamples);
}
TEST(WireEquality, EpochsAreWrittenAsGeneratedCodeWritesThem) { ExpectSameBytes<v1::Epoch>(RewriteEpoch); }
TEST(WireEquality, ControlRecordsAreWrittenAsGeneratedCodeWritesThem) {
  ExpectSameBytes<v1::Control>(RewriteControl);
}

// True if every enum, and every field with the meaning of an enum, fits into a byte. The codecs narrow other
// values to 255 on purpose.
bool EnumsFit(const google::protobuf::Message& m) {
  using Field = google::protobuf::FieldDescriptor;
  const auto* reflection = m.GetReflection();
  std::vector<const Field*> fields;
  reflection->ListFields(m, &fields);
  for (const Field* f : fields) {
    if (f->cpp_type() == Field::CPPTYPE_ENUM && !f->is_repeated()) {
      const int v = reflection->GetEnumValue(m, f);
      if (v < 0 || v > 254) return false;
    } else if (IsEnumInEffect(*f)) {
      if (reflection->GetUInt32(m, f) > 254) return false;
    } else if (f->cpp_type() == Field::CPPTYPE_MESSAGE) {
      if (!f->is_repeated()) {
        if (!EnumsFit(reflection->GetMessage(m, f))) return false;
      } else {
        for (int i = 0; i < reflection->FieldSize(m, f); ++i) {
          if (!EnumsFit(reflection->GetRepeatedMessage(m, f, i))) return false;
        }
      }
    }
  }
  return true;
}

// Damaged messages that both decoders accept must be decoded equally. Each decoder may refuse messages that the
// other accepts: the hand-written decoders refuse groups and varints of more than 64 bits, generated code refuses
// tags of more than five bytes.
template <class M>
void ExpectSameReading(bool (*rewrite)(std::string_view, std::string*)) {
  Random random(4711);
  int both = 0;
  int only_ours = 0;
  for (int i = 0; i < kMessages; ++i) {
    M source = RandomMessage<M>(random);
    Tidy(&source);
    const std::string bytes = Mutated(random, source.SerializeAsString());
    M read;
    std::string generated;
    std::string ours;
    const bool generated_ok = RewriteWithGeneratedCode(bytes, &read, &generated);
    const bool ours_ok = rewrite(bytes, &ours);
    if (ours_ok && !generated_ok) ++only_ours;
    if (!ours_ok || !generated_ok || !EnumsFit(read)) continue;
    Tidy(&read);
    ASSERT_EQ(ours, read.SerializeAsString()) << read.DebugString();
    ++both;
  }
  EXPECT_GT(both, kMessages / 20) << "too few damaged messages are compared";
  EXPECT_LT(only_ours, kMessages / 100);
}

TEST(WireEquality, DamagedEventsAreReadAsGeneratedCodeReadsThem) {
  ExpectSameReading<v1::Envelope>(RewriteHot);
}
TEST(WireEquality, DamagedClaimsAreReadAsGeneratedCodeReadsThem) {
  ExpectSameReading<v1::Claim>(RewriteClaim);
}
TEST(WireEquality, DamagedGrantsAreReadAsGeneratedCodeReadsThem) {
  ExpectSameReading<v1::Grant>(RewriteGrant);
}
TEST(WireEquality, DamagedPostingsAreReadAsGeneratedCodeReadsThem) {
  ExpectSameReading<v1::Posting>(RewritePosting);
}
TEST(WireEquality, DamagedTotalsAreReadAsGeneratedCodeReadsThem) {
  ExpectSameReading<v1::Total>(RewriteTotal);
}
TEST(WireEquality, DamagedSamplesAreReadAsGeneratedCodeReadsThem) {
  ExpectSameReading<v1::SampleBatch>(RewriteSamples);
}
TEST(WireEquality, DamagedEpochsAreReadAsGeneratedCodeReadsThem) {
  ExpectSameReading<v1::Epoch>(RewriteEpoch);
}

// Most accounts have ASCII texts and no corrections; only those do not pass through generated code.
v1::Envelope RandomFeedAccount(Random& random) {
  auto m = RandomMessage<v1::Envelope>(random);
  Tidy(&m);
  v1::FeedAccount& account = *m.mutable_feed_account();
  account.Clear();
  FillRandomly(random, &account);
  if (random() % 4 != 0) account.clear_corrections();
  if (random() % 4 == 0) account.set_name("J\u00fcrgen");
  return m;
}

TEST(WireEquality, AccountsOfAFeedAreWrittenAndReadAsByGeneratedCode) {
  Random random(20261128);
  int fast = 0;
  for (int i = 0; i < kMessages; ++i) {
    const v1::Envelope m = RandomFeedAccount(random);
    const std::string bytes = m.SerializeAsString();
    std::string ours;
    ASSERT_TRUE(RewriteHot(bytes, &ours)) << m.DebugString();
    ASSERT_EQ(ours, bytes) << m.DebugString();
    EventHead head;
    FeedAccount account;
    if (!DecodeFeedAccount(bytes, &head, &account)) continue;
    ++fast;
    ASSERT_EQ(account.name, m.feed_account().name());
    ASSERT_EQ(account.country, m.feed_account().country());
    ASSERT_EQ(account.url, m.feed_account().url());
    ASSERT_EQ(account.cross_project_id, m.feed_account().cross_project_id());
    ASSERT_EQ(account.description, m.feed_account().description());
    ASSERT_EQ(account.account, m.feed_account().account());
    ASSERT_EQ(account.edition, m.feed_account().edition());
    ASSERT_EQ(account.team, m.feed_account().team());
    ASSERT_EQ(account.owner, m.feed_account().owner());
    ASSERT_EQ(account.gone, m.feed_account().gone());
    ASSERT_EQ(account.erased, m.feed_account().erased());
  }
  EXPECT_GT(fast, kMessages / 2);
}

TEST(WireEquality, DamagedAccountsOfAFeedAreReadAsGeneratedCodeReadsThem) {
  Random random(815);
  int both = 0;
  for (int i = 0; i < kMessages; ++i) {
    std::string bytes = RandomFeedAccount(random).SerializeAsString();
    if (random() % 8 == 0) bytes += RandomFeedAccount(random).SerializeAsString();  // merged
    bytes = Mutated(random, bytes);
    v1::Envelope read;
    std::string generated;
    std::string ours;
    const bool generated_ok = RewriteWithGeneratedCode(bytes, &read, &generated);
    if (!RewriteHot(bytes, &ours) || !generated_ok || !EnumsFit(read)) continue;
    Tidy(&read);
    ASSERT_EQ(ours, read.SerializeAsString()) << read.DebugString();
    ++both;
  }
  EXPECT_GT(both, kMessages / 20) << "too few damaged messages are compared";
}

// The reader of proto3 refuses a text that is not UTF-8.
TEST(WireEquality, AnAccountOfAFeedWithATextThatIsNotUtf8IsNoEnvelope) {
  EXPECT_TRUE(ParseEvent(EncodeEvent({.head = {.id = 1}, .body = FeedAccount{.name = "\xc3\xbc"}})).ok());
  EXPECT_FALSE(
      ParseEvent(EncodeEvent({.head = {.id = 1}, .body = FeedAccount{.name = "abcdefgh\xfc"}})).ok());
}

// Equal bytes prove nothing if reader and writer swap the same two fields. Therefore each value is compared by
// name.
TEST(WireEquality, EachFieldOfAClaimIsReadUnderItsName) {
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    const auto m = RandomMessage<v1::Claim>(random);
    credit::Claim c;
    ASSERT_TRUE(DecodeClaim(m.SerializeAsString(), &c));
    const auto same = [](double a, double b) {
      return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
    };
    EXPECT_EQ(c.project.value, m.project());
    EXPECT_EQ(c.result.value, m.result());
    EXPECT_EQ(c.workunit.value, m.workunit());
    EXPECT_EQ(c.host.value, m.host());
    EXPECT_EQ(c.user.value, m.user());
    EXPECT_EQ(c.app.value, m.app());
    EXPECT_EQ(c.version.value, m.app_version());
    EXPECT_TRUE(same(c.time, m.time()));
    EXPECT_EQ(c.validation_id, m.validation_id());
    EXPECT_EQ(c.line, m.line());
    EXPECT_EQ(c.flags, m.flags());
    EXPECT_EQ(c.pass, m.pass());
    EXPECT_EQ(c.awaited, m.awaited());
    EXPECT_EQ(c.canonical_result.value, m.canonical_result());
    EXPECT_TRUE(same(c.elapsed_time, m.elapsed_time()));
    EXPECT_TRUE(same(c.cpu_time, m.cpu_time()));
    EXPECT_TRUE(same(c.peak_flops, m.peak_flops()));
    EXPECT_TRUE(same(c.fpops_est, m.fpops_est()));
    EXPECT_TRUE(same(c.fpops_bound, m.fpops_bound()));
    EXPECT_TRUE(same(c.sent_time, m.sent_time()));
    EXPECT_TRUE(same(c.received_time, m.received_time()));
    EXPECT_TRUE(same(c.reported, m.reported()));
    EXPECT_TRUE(same(c.benchmark, m.benchmark()));
    EXPECT_EQ(static_cast<std::uint32_t>(c.policy), m.policy());
    EXPECT_EQ(c.policy_version, m.policy_version());
    EXPECT_EQ(c.epoch, m.epoch());
    EXPECT_TRUE(same(c.version_pfc_n, m.version_pfc_n()));
    EXPECT_TRUE(same(c.version_pfc_mean, m.version_pfc_mean()));
    EXPECT_TRUE(same(c.version_scale, m.version_scale()));
    EXPECT_TRUE(same(c.min_avg_pfc, m.min_avg_pfc()));
    EXPECT_TRUE(same(c.host_pfc_n, m.host_pfc_n()));
    EXPECT_TRUE(same(c.host_pfc_mean, m.host_pfc_mean()));
    EXPECT_TRUE(same(c.consecutive_valid, m.consecutive_valid()));
    EXPECT_TRUE(same(c.host_scale_time, m.host_scale_time()));
    EXPECT_EQ(static_cast<std::uint32_t>(c.mode), m.mode());
    EXPECT_TRUE(same(c.pfc, m.pfc()));
    EXPECT_TRUE(same(c.claimed, m.claimed()));
    EXPECT_TRUE(same(c.delay_bound, m.delay_bound()));
    EXPECT_TRUE(same(c.failure_rate, m.failure_rate()));
    EXPECT_TRUE(same(c.budget, m.budget()));
    EXPECT_TRUE(same(c.reliability, m.reliability()));
  }
}

TEST(WireEquality, EachFieldOfACompletionAndAValidationIsReadUnderItsName) {
  v1::Envelope e;
  e.set_id(11);
  e.set_project(12);
  e.set_time(13.5);
  auto* c = e.mutable_completion();
  c->set_result(1);
  c->set_host(2);
  c->set_workunit(3);
  c->set_app(4);
  c->set_app_version(-5);
  c->set_outcome(v1::OUTCOME_ABORTED_BY_PROJECT);
  c->set_elapsed_time(7.25);
  c->set_cpu_time(8.25);
  c->set_peak_flops(9.25);
  c->set_sent_time(10.25);
  c->set_received_time(11.25);
  c->set_delay_bound(12.25);
  c->set_reported_flops(13.25);
  c->set_reported_credit(0);
  c->set_cancelled(true);
  HotEvent event;
  ASSERT_EQ(DecodeHot(e.SerializeAsString(), &event), HotDecode::kHot);
  EXPECT_EQ(event.kind, EventKind::kCompletion);
  EXPECT_EQ(event.head, (EventHead{.id = 11, .project = ProjectId(12), .time = 13.5}));
  const credit::CompletionFacts& f = event.completion;
  EXPECT_EQ(f.event_time, 13.5);
  EXPECT_EQ(f.result.value, 1u);
  EXPECT_EQ(f.host.value, 2u);
  EXPECT_EQ(f.workunit.value, 3u);
  EXPECT_EQ(f.app.value, 4u);
  EXPECT_EQ(f.version.value, -5);
  EXPECT_EQ(f.outcome, credit::Outcome::kAbortedByProject);
  EXPECT_EQ(f.elapsed_time, 7.25);
  EXPECT_EQ(f.cpu_time, 8.25);
  EXPECT_EQ(f.peak_flops, 9.25);
  EXPECT_EQ(f.sent_time, 10.25);
  EXPECT_EQ(f.received_time, 11.25);
  EXPECT_EQ(f.delay_bound, 12.25);
  EXPECT_EQ(f.reported_flops, 13.25);
  EXPECT_EQ(f.reported_credit, 0.0);  // present with the value 0, not left out
  EXPECT_TRUE(f.cancelled);

  auto* v = e.mutable_validation();
  v->set_result(1);
  v->set_host(2);
  v->set_workunit(3);
  v->set_app(4);
  v->set_fpops_est(5.25);
  v->set_fpops_bound(6.25);
  v->set_state(v1::VALIDATE_STATE_INCONCLUSIVE);
  v->set_pass(8);
  v->set_claims(9);
  v->set_runtime_outlier(true);
  v->set_canonical_result(13);
  v->set_check_failed(true);
  ASSERT_EQ(DecodeHot(e.SerializeAsString(), &event), HotDecode::kHot);
  EXPECT_EQ(event.kind, EventKind::kValidation);
  const credit::ValidationFacts& g = event.validation;
  EXPECT_EQ(g.id, 11u);
  EXPECT_EQ(g.now, 13.5);
  EXPECT_EQ(g.result.value, 1u);
  EXPECT_EQ(g.host.value, 2u);
  EXPECT_EQ(g.workunit.value, 3u);
  EXPECT_EQ(g.app.value, 4u);
  EXPECT_EQ(g.fpops_est, 5.25);
  EXPECT_EQ(g.fpops_bound, 6.25);
  EXPECT_EQ(g.state, credit::ValidateState::kInconclusive);
  EXPECT_EQ(g.pass, 8u);
  EXPECT_EQ(g.claims, 9u);
  EXPECT_FALSE(g.late);
  EXPECT_TRUE(g.runtime_outlier);
  EXPECT_FALSE(g.unreplicated);
  EXPECT_EQ(g.canonical_result.value, 13u);
  EXPECT_FALSE(g.assigned_credit.has_value());
  EXPECT_TRUE(g.check_failed);
}

// The first bytes distinguish a late trickle from a claim.
TEST(WireEquality, ALateTrickleIsWrittenAsGeneratedCodeWritesItAndIsNoClaim) {
  Random random(9);
  for (int i = 0; i < 500; ++i) {
    v1::Claim claim;
    *claim.mutable_late_trickle() = RandomMessage<v1::Grant>(random);
    const std::string grant = claim.late_trickle().SerializeAsString();
    std::string ours;
    EncodeLateTrickle(grant, &ours);
    ASSERT_EQ(ours, claim.SerializeAsString());
    EXPECT_TRUE(IsLateTrickle(ours));
    EXPECT_EQ(LateTrickleOf(ours), grant);
    EXPECT_EQ(LateTrickleOf(ours.substr(0, ours.size() - 1)).size(), 0u);
    claim.set_project(1);
    EXPECT_FALSE(IsLateTrickle(claim.SerializeAsString()));
  }
}

TEST(WireEquality, PassedIsWrittenAsGeneratedCodeWritesItAndIsNoRecord) {
  Random random(8);
  for (int i = 0; i < 2000; ++i) {
    const auto m = RandomMessage<v1::Passed>(random);
    const Passed passed{
        .source = m.source_partition(), .watermark = m.mark(), .control = m.control(), .moved = m.moved()};
    v1::Claim claim;
    *claim.mutable_passed() = m;
    v1::Grant grant;
    grant.set_kind(v1::GRANT_KIND_MARK);
    *grant.mutable_passed() = m;
    v1::Posting posting;
    *posting.mutable_passed() = m;
    for (const auto& [place, bytes] : {std::pair{PassedIn::kClaim, claim.SerializeAsString()},
                                       std::pair{PassedIn::kGrant, grant.SerializeAsString()},
                                       std::pair{PassedIn::kPosting, posting.SerializeAsString()}}) {
      std::string ours;
      EncodePassed(place, passed, &ours);
      ASSERT_EQ(ours, bytes);
      Passed read;
      ASSERT_TRUE(DecodePassed(place, bytes, &read));
      EXPECT_EQ(read, passed);
    }
    EXPECT_TRUE(IsPassedClaim(claim.SerializeAsString()));
    EXPECT_TRUE(IsPassedPosting(posting.SerializeAsString()));
    GrantHead head;
    ASSERT_TRUE(DecodeGrantHead(grant.SerializeAsString(), &head));
    EXPECT_EQ(head, (GrantHead{.kind = GrantKind::kWatermark}));

    auto other = RandomMessage<v1::Claim>(random);
    other.set_project(1);
    EXPECT_FALSE(IsPassedClaim(other.SerializeAsString()));
    auto posted = RandomMessage<v1::Posting>(random);
    posted.set_project(1);
    EXPECT_FALSE(IsPassedPosting(posted.SerializeAsString()));

    const auto all = RandomMessage<v1::MarkPassed>(random);
    WatermarkPassed message;
    ASSERT_TRUE(DecodeWatermarkPassed(all.SerializeAsString(), &message));
    EXPECT_EQ(message.number, all.number());
    EXPECT_EQ(message.barrier, all.barrier());
    EXPECT_EQ(message.partition, all.partition());
    EXPECT_EQ(message.moved, all.moved());
    std::string ours;
    EncodeWatermarkPassed(message, &ours);
    EXPECT_EQ(ours, all.SerializeAsString());
  }
  Passed read;
  EXPECT_FALSE(DecodePassed(PassedIn::kClaim, "", &read));
  EXPECT_FALSE(DecodePassed(PassedIn::kClaim, "\xba\x02\x01", &read));
}

TEST(WireEquality, EachFieldOfAGrantIsReadUnderItsNameAndItsHeadAlone) {
  v1::Grant m;
  m.set_project(1);
  m.set_user(2);
  m.set_host(3);
  m.set_team(4);
  m.set_app(5);
  m.set_result(6);
  m.set_credit_micro(-10'416'666);  // a reversal
  m.set_time(8.5);
  m.set_kind(v1::GRANT_KIND_REVERSAL);
  m.set_work_start(10.5);
  m.set_flags(3);
  m.set_credit(12.5);
  m.set_mode(3);
  m.set_line(14);
  m.set_max_granted_credit(15.5);
  m.set_canonical_result(16);
  auto* other = m.add_others();
  other->set_result(21);
  other->set_host(22);
  other->set_mode(1);
  other->set_flags(24);
  other->set_pfc(25.5);
  other->set_claimed(26.5);
  other->set_min_avg_pfc(27.5);
  other->set_epoch(0);  // present, not left out
  other->set_fpops_est(29.5);
  other->set_reliability(0);
  m.mutable_claim()->set_result(6);

  const GrantHead expected{.project = ProjectId(1),
                           .user = UserId(2),
                           .host = HostId(3),
                           .team = TeamId(4),
                           .app = AppId(5),
                           .result = ResultId(6),
                           .credit_micro = -10'416'666,
                           .time = 8.5,
                           .kind = GrantKind::kReversal,
                           .work_start = 10.5,
                           .flags = 3};
  const std::string bytes = m.SerializeAsString();
  Grant grant;
  ASSERT_TRUE(DecodeGrant(bytes, &grant));
  EXPECT_EQ(grant.head, expected);
  EXPECT_EQ(grant.detail, (GrantDetail{.credit = 12.5,
                                       .mode = credit::Mode::kCapped,
                                       .line = 14,
                                       .max_granted_credit = 15.5,
                                       .canonical_result = ResultId(16)}));
  ASSERT_EQ(grant.others.size(), 1u);
  EXPECT_EQ(grant.others[0], (OtherClaim{.result = ResultId(21),
                                         .host = HostId(22),
                                         .mode = credit::Mode::kApproximate,
                                         .flags = 24,
                                         .pfc = 25.5,
                                         .claimed = 26.5,
                                         .min_avg_pfc = 27.5,
                                         .epoch = 0,
                                         .fpops_est = 29.5,
                                         .reliability = 0}));
  ASSERT_TRUE(grant.claim.has_value());
  EXPECT_EQ(grant.claim->result.value, 6u);

  GrantHead head;
  ASSERT_TRUE(DecodeGrantHead(bytes, &head));
  EXPECT_EQ(head, expected);
  // The bytes after the fields of the head are not read, so they may be damaged.
  ASSERT_TRUE(DecodeGrantHead(bytes.substr(0, bytes.size() - 3), &head));
  EXPECT_EQ(head, expected);
  EXPECT_FALSE(DecodeGrant(bytes.substr(0, bytes.size() - 3), &grant));
  // If the flags show further fields, the head includes them.
  m.set_flags(credit::kGrantSettles);
  m.set_settles_micro(-21);
  m.set_recent_off(22.5);
  m.set_paid_time(28.5);
  ASSERT_TRUE(DecodeGrantHead(m.SerializeAsString(), &head));
  EXPECT_EQ(head.settles_micro, -21);
  EXPECT_EQ(head.recent_off, 22.5);
  EXPECT_EQ(head.paid_time, 28.5);
  EXPECT_FALSE(DecodeGrantHead(bytes.substr(0, 3), &head));
}

TEST(WireEquality, EachFieldOfAnUnpaidTrickleIsReadUnderItsName) {
  v1::Grant m;
  m.set_kind(v1::GRANT_KIND_TRICKLE);
  m.set_reason("steps: negative");
  auto* p = m.mutable_partial();
  p->set_trickle(1);
  p->set_app_version(14);
  p->set_phase(0);  // present, not left out
  p->set_model_version("6.08");
  p->set_outcome(6);
  p->set_refusal(7);
  for (const char* name : {"data", ""}) {
    auto* other = p->add_others();
    other->set_name(name);
    other->set_text("287");
  }
  p->set_others_left_out(20);
  p->set_bytes_left_out(21);
  Grant grant;
  ASSERT_TRUE(DecodeGrant(m.SerializeAsString(), &grant));
  EXPECT_EQ(grant.head.kind, GrantKind::kTrickle);
  EXPECT_EQ(grant.reason, "steps: negative");
  ASSERT_TRUE(grant.partial.has_value());
  EXPECT_EQ(grant.partial->phase, 0u);
  EXPECT_EQ(grant.partial->model_version, "6.08");
  EXPECT_EQ(grant.partial->outcome, credit::TrickleOutcome::kNegative);
  EXPECT_EQ(grant.partial->refusal, RefusalReason::kNegative);
  EXPECT_EQ(grant.partial->others, (std::vector<TrickleElement>{{"data", "287"}, {"", "287"}}));
  EXPECT_EQ(grant.partial->others_left_out, 20u);
  EXPECT_EQ(grant.partial->bytes_left_out, 21u);
  p->clear_phase();
  ASSERT_TRUE(DecodeGrant(m.SerializeAsString(), &grant));
  EXPECT_EQ(grant.partial->phase, std::nullopt);
}

PartialGrant PartialWith(const std::vector<TrickleElement>& others) {
  PartialGrant message;
  TakeOthers(others, &message);
  return message;
}

std::string BytesOf(const PartialGrant& partial) {
  std::string bytes;
  EncodePartialGrant(partial, &bytes);
  return bytes;
}

TEST(WireEquality, OtherTrickleElementsAreWrittenAsGeneratedCodeReadsThem) {
  const PartialGrant message =
      PartialWith({{"data", "287"}, {"vr", "6.08"}, {"empty", ""}, {"data", std::string(1010, 'x')}});
  v1::PartialGrant m;
  ASSERT_TRUE(m.ParseFromString(BytesOf(message)));
  ASSERT_EQ(m.others_size(), 2);
  EXPECT_EQ(m.others(0).name(), "data");
  EXPECT_EQ(m.others(0).text(), "287");
  EXPECT_EQ(m.others(1).name(), "empty");
  EXPECT_EQ(m.model_version(), "6.08");
  EXPECT_EQ(m.others_left_out(), 1u);
  EXPECT_EQ(m.bytes_left_out(), 1014u);
  PartialGrant read;
  ASSERT_TRUE(DecodePartialGrant(BytesOf(message), &read));
  EXPECT_EQ(read.others, message.others);
  EXPECT_EQ(read.bytes_left_out, 1014u);
  EXPECT_FALSE(DecodePartialGrant(BytesOf(message).substr(0, 12), &read));
}

TEST(WireEquality, OtherTrickleElementsAreKeptUpToALimit) {
  EXPECT_EQ(PartialWith({{"data", std::string(1020, 'x')}}).others.size(), 1u);
  EXPECT_EQ(PartialWith({{"data", std::string(1020, 'x')}}).others_left_out, 0u);
  const PartialGrant beyond = PartialWith({{"data", std::string(1021, 'x')}, {"a", "b"}});
  EXPECT_TRUE(beyond.others.empty()) << "the elements after a dropped element are dropped too";
  EXPECT_EQ(beyond.others_left_out, 2u);
  EXPECT_EQ(beyond.bytes_left_out, 1027u);
  // A longer text is not a version.
  EXPECT_EQ(PartialWith({{"vr", std::string(64, 'x')}}).model_version.size(), 64u);
  EXPECT_TRUE(PartialWith({{"vr", std::string(64, 'x')}}).others.empty());
  EXPECT_EQ(PartialWith({{"vr", std::string(65, 'x')}}).others.size(), 1u);
  EXPECT_EQ(BytesOf(PartialWith({})), "") << "an empty message has no bytes";
}

TEST(WireEquality, EachFieldOfAHostsTransferIsReadUnderItsName) {
  v1::Grant m;
  m.set_kind(v1::GRANT_KIND_HOST_ACCOUNT);
  auto* t = m.mutable_transfer();
  t->set_from_partition(1);
  t->set_number(2);
  t->set_share_of(v1::GRANT_KIND_OPENING);
  t->set_total_micro_low(4);
  t->set_total_micro_high(5);
  t->set_opening_micro_low(6);
  t->set_opening_micro_high(7);
  t->set_rac(8.5);
  t->set_rac_time(9.5);
  t->set_grants(10);
  auto* app = t->add_apps();
  app->set_app(21);
  app->set_total_micro(22);
  app->set_grants(23);
  app->set_total_micro_high(24);
  auto* day = t->add_days();
  day->set_day(-31);
  day->set_total_micro(32);
  day->set_total_micro_high(33);
  day->set_grants(34);
  Grant grant;
  ASSERT_TRUE(DecodeGrant(m.SerializeAsString(), &grant));
  EXPECT_EQ(grant.head.kind, GrantKind::kHostAccount);
  EXPECT_FALSE(grant.claim.has_value());
  ASSERT_TRUE(grant.transfer.has_value());
  const HostTransfer& transfer = *grant.transfer;
  const auto wide = [](std::int64_t low, std::int64_t high) {
    return (static_cast<credit::MicroTotal>(high) << 64) + low;
  };
  EXPECT_EQ(transfer.from_partition, 1u);
  EXPECT_EQ(transfer.number, 2u);
  EXPECT_EQ(transfer.share_of, GrantKind::kOpening);
  EXPECT_TRUE(transfer.account.total_micro == wide(4, 5));
  EXPECT_TRUE(transfer.account.opening_micro == wide(6, 7));
  EXPECT_EQ(transfer.account.recent.value, 8.5);
  EXPECT_EQ(transfer.account.recent.time, 9.5);
  EXPECT_EQ(transfer.account.grants, 10u);
  ASSERT_EQ(transfer.account.apps.size(), 1u);
  EXPECT_EQ(transfer.account.apps[0].app.value, 21u);
  EXPECT_TRUE(transfer.account.apps[0].micro == wide(22, 24));
  EXPECT_EQ(transfer.account.apps[0].grants, 23u);
  ASSERT_EQ(transfer.account.days.size(), 1u);
  EXPECT_EQ(transfer.account.days[0].day, -31);
  EXPECT_TRUE(transfer.account.days[0].micro == wide(32, 33));
  EXPECT_EQ(transfer.account.days[0].grants, 34u);
}

TEST(WireEquality, EachFieldOfPostingTotalSampleAndEpochIsReadUnderItsName) {
  v1::Posting p;
  p.set_project(1);
  p.set_team(2);
  p.set_user(3);
  p.set_host(4);
  p.set_app(5);
  p.set_result(6);
  p.set_credit_micro(7);
  p.set_time(8);
  p.set_work_start(9);
  p.set_line(10);
  p.set_flags(11);
  Posting posting;
  ASSERT_TRUE(DecodePosting(p.SerializeAsString(), &posting));
  EXPECT_EQ(posting, (Posting{.project = ProjectId(1),
                              .team = TeamId(2),
                              .user = UserId(3),
                              .host = HostId(4),
                              .app = AppId(5),
                              .result = ResultId(6),
                              .credit_micro = 7,
                              .time = 8,
                              .work_start = 9,
                              .line = 10,
                              .flags = 11}));

  v1::Total t;
  t.set_project(1);
  t.set_kind(v1::ACCOUNT_KIND_TEAM);
  t.set_account(3);
  t.set_total_micro_low(4);
  t.set_total_micro_high(5);
  t.set_rac(6);
  t.set_rac_time(7);
  t.set_grants(8);
  t.add_apps()->set_app(1);
  t.mutable_apps(0)->set_total_micro(-1);  // all 64 bits of the lower half
  t.mutable_apps(0)->set_grants(3);
  t.mutable_apps(0)->set_total_micro_high(-1);
  t.set_elsewhere(true);
  t.set_estimated_micro_low(15);
  t.set_estimated_micro_high(16);
  t.set_shown_micro_low(17);
  t.set_shown_micro_high(18);
  Total total;
  ASSERT_TRUE(DecodeTotal(t.SerializeAsString(), &total));
  EXPECT_EQ(total, (Total{.project = ProjectId(1),
                          .kind = AccountKind::kTeam,
                          .account = 3,
                          .total_micro = (static_cast<credit::MicroTotal>(5) << 64) + 4,
                          .rac = 6,
                          .rac_time = 7,
                          .grants = 8,
                          .apps = {{.app = AppId(1), .total_micro = -1, .grants = 3}},
                          .elsewhere = true,
                          .estimated_micro = (static_cast<credit::MicroTotal>(16) << 64) + 15,
                          .shown_micro = (static_cast<credit::MicroTotal>(18) << 64) + 17}));

  v1::SampleBatch b;
  b.set_project(9);
  auto* s = b.add_samples();
  s->set_time(1);
  s->set_validation_id(2);
  s->set_result(3);
  s->set_app(4);
  s->set_app_version(-5);
  s->set_flags(6);
  s->set_pfc(7);
  s->set_credit(8);
  s->set_credit_start(9);
  s->set_weight(10);
  s->set_line(11);
  s->set_host(12);
  ProjectId project;
  std::vector<credit::Sample> samples;
  ASSERT_TRUE(DecodeSampleBatch(b.SerializeAsString(), &project, &samples));
  EXPECT_EQ(project.value, 9u);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].time, 1);
  EXPECT_EQ(samples[0].validation_id, 2u);
  EXPECT_EQ(samples[0].result.value, 3u);
  EXPECT_EQ(samples[0].app.value, 4u);
  EXPECT_EQ(samples[0].version.value, -5);
  EXPECT_EQ(samples[0].flags, 6u);
  EXPECT_EQ(samples[0].pfc, 7);
  EXPECT_EQ(samples[0].credit, 8);
  EXPECT_EQ(samples[0].credit_start, 9);
  EXPECT_EQ(samples[0].weight, 10);
  EXPECT_EQ(samples[0].line, 11u);
  EXPECT_EQ(samples[0].host.value, 12u);

  v1::Epoch e;
  e.set_project(1);
  e.set_epoch(2);
  e.set_time(3);
  auto* v = e.add_versions();
  v->set_app_version(17);
  v->set_pfc_n(2);
  v->set_pfc_mean(3);
  v->set_scale(4);
  v->set_cached(true);
  v->set_cached_n(6);
  v->set_cached_mean(7);
  v->set_cached_scale(8);
  v->set_expavg_credit(9);
  v->set_expavg_time(10);
  auto* a = e.add_apps();
  a->set_app(18);
  a->set_min_avg_pfc(2);
  a->set_defined(true);
  a->set_cpu_mean(4);
  a->set_gpu_mean(5);
  a->set_npfc_mean(6);
  a->set_npfc_weight(7);
  a->set_claim_n(8);
  a->set_claim_mean(9);
  a->set_claim_var(10);
  credit::ScaleTable table;
  ASSERT_TRUE(DecodeEpoch(e.SerializeAsString(), &project, &table));
  EXPECT_EQ(table.epoch, 2u);
  EXPECT_EQ(table.time, 3);
  const credit::VersionScale& version = table.versions.at(17);
  EXPECT_EQ(version.pfc, (credit::Average{.n = 2, .mean = 3}));
  EXPECT_EQ(version.scale, 4);
  EXPECT_TRUE(version.cached);
  EXPECT_EQ(version.cached_pfc, (credit::Average{.n = 6, .mean = 7}));
  EXPECT_EQ(version.cached_scale, 8);
  EXPECT_EQ(version.expavg_credit, 9);
  EXPECT_EQ(version.expavg_time, 10);
  const credit::AppScale& app = table.apps.at(18);
  EXPECT_EQ(app.min_avg_pfc, 2);
  EXPECT_TRUE(app.defined);
  EXPECT_EQ(app.cpu_mean, 4);
  EXPECT_EQ(app.gpu_mean, 5);
  EXPECT_EQ(app.npfc_mean, 6);
  EXPECT_EQ(app.npfc_weight, 7);
  EXPECT_EQ(app.claim_n, 8);
  EXPECT_EQ(app.claim_mean, 9);
  EXPECT_EQ(app.claim_var, 10);
}

TEST(WireEquality, ASampleBatchCanBeBuiltSampleBySample) {
  Random random(3);
  const auto m = RandomMessage<v1::SampleBatch>(random);
  ProjectId project;
  std::vector<credit::Sample> samples;
  ASSERT_TRUE(DecodeSampleBatch(m.SerializeAsString(), &project, &samples));
  ASSERT_FALSE(samples.empty());
  std::string whole;
  EncodeSampleBatch(project, samples, &whole);
  SampleBatchWriter writer(project);
  for (int round = 0; round < 2; ++round) {
    for (const credit::Sample& sample : samples) writer.Add(sample);
    EXPECT_EQ(writer.count(), samples.size());
    EXPECT_EQ(writer.bytes(), whole);
    writer.Clear();
    EXPECT_EQ(writer.count(), 0u);
  }
}

// Runs every decoder on every prefix of a message and on random bytes. AddressSanitizer detects a read past the
// end.
TEST(WireEquality, TruncatedAndRandomBytesAreReadSafely) {
  Random random(99);
  const auto read_all = [](std::string_view part) {
    // A copy of the exact size on the heap, so that a read of one byte too many is outside of the copy.
    const std::vector<char> exact(part.begin(), part.end());
    const std::string_view bytes(exact.data(), exact.size());
    std::string out;
    HotEvent hot;
    (void)DecodeHot(bytes, &hot);
    (void)PeekKind(bytes);
    (void)PeekEventTime(bytes);
    (void)PeekRouting(bytes);
    RewriteHot(bytes, &out);
    RewriteClaim(bytes, &out);
    RewriteGrant(bytes, &out);
    RewritePosting(bytes, &out);
    RewriteTotal(bytes, &out);
    RewriteEpoch(bytes, &out);
    ControlView control;
    if (DecodeControl(bytes, &control)) (void)ParseEvent(control.body);
    GrantHead head;
    (void)DecodeGrantHead(bytes, &head);
    Passed passed;
    for (const PassedIn place : {PassedIn::kClaim, PassedIn::kGrant, PassedIn::kPosting})
      (void)DecodePassed(place, bytes, &passed);
    WatermarkPassed mark;
    (void)DecodeWatermarkPassed(bytes, &mark);
    ProjectId project;
    std::vector<credit::Sample> samples;
    (void)DecodeSampleBatch(bytes, &project, &samples);
  };
  for (int i = 0; i < 200; ++i) {
    for (const std::string& whole : {RandomMessage<v1::Envelope>(random).SerializeAsString(),
                                     RandomMessage<v1::Grant>(random).SerializeAsString(),
                                     RandomMessage<v1::Control>(random).SerializeAsString()}) {
      for (std::size_t n = 0; n <= whole.size(); ++n) read_all(std::string_view(whole).substr(0, n));
    }
    std::string garbage(random() % 64, '\0');
    for (char& c : garbage) c = static_cast<char>(random());
    read_all(garbage);
  }
}

}  // namespace
}  // namespace cobblestone::wire
