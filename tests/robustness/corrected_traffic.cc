#include "tests/robustness/corrected_traffic.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/access/ingest.h"
#include "services/corrections/corrections_asked.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {

using access::ClientOf;
using access::IngestSummary;
using corrections::CorrectionRequest;
using corrections::TargetKind;
using embedded::Engine;

namespace {

std::string BytesOf(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

// The next version of the app's policy.
Event NextVersion(const std::vector<Event>& events, std::string_view policy, AppId* app) {
  for (const Event& one : events) {
    if (wire::PeekKind(one.envelope) != wire::EventKind::kApp) continue;
    auto event = wire::ParseEvent(one.envelope);
    auto& change = std::get<wire::AppChange>(event->body);
    if (change.policy != policy) continue;
    *app = change.app;
    event->head.id += 500'000;
    event->head.time += 1;
    change.policy_version = 2;
    if (!change.constants) change.constants.emplace();
    change.constants->cobblestones_per_gflops_day = 70;
    return {wire::EncodeEvent(*event), true};
  }
  ADD_FAILURE() << "no app has this policy";
  return {};
}

class Operator {
 public:
  Operator() {
    settings::RunSettings settings = BusySettings(dir_ / "data");
    settings.partitions = 1;
    settings.threads = 2;
    settings.order = settings::Order::kLockstep;
    settings.sync = false;
    auto engine = Engine::Open(settings, [](const std::string&) {});
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    engine_ = std::move(*engine);
    engine_->Start();
  }
  ~Operator() { EXPECT_TRUE(engine_->Stop().ok()); }

  void IngestAll(const std::vector<Event>& events) {
    WriteTraffic(events, dir_ / "traffic.pb");
    IngestSummary summary;
    const auto client = ClientOf(*engine_);
    const Status ingested = cobblestone::access::Ingest(
        *client, {.file = dir_ / "traffic.pb", .source = "traffic"}, {}, &summary);
    EXPECT_TRUE(ingested.ok()) << ingested.message();
  }
  void Decide(const CorrectionRequest& request, std::vector<Event>* out) {
    const auto plan = engine_->Corrections(request, {});
    if (plan.status().code() == StatusCode::kNotFound) return;
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    for (int twice = 0; twice < 2; ++twice)
      for (const auto& row : plan->at("corrections"))
        out->push_back({BytesOf(row.at("event").get<std::string>()), false});
  }
  // Results of the app that received a grant.
  std::vector<ResultId> Granted(AppId app) {
    std::vector<ResultId> results;
    const Status read =
        engine_->ForEachRecord({wire::kGrants, 0}, [&](std::uint64_t, std::string_view record) {
          wire::GrantHead head;
          EXPECT_TRUE(wire::DecodeGrantHead(record, &head));
          if (head.kind == wire::GrantKind::kFinal && head.app == app) results.push_back(head.result);
          return true;
        });
    EXPECT_TRUE(read.ok()) << read.message();
    return results;
  }

 private:
  TempDir dir_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace

std::vector<Event> WithCorrections(const std::vector<Event>& events) {
  Operator decides;
  std::vector<Event> all;
  std::size_t corrections = 0;
  AppId app;
  const auto play = [&](std::size_t from, std::size_t to) {
    all.insert(all.end(), events.begin() + static_cast<std::ptrdiff_t>(events.size() * from / 4),
               events.begin() + static_cast<std::ptrdiff_t>(events.size() * to / 4));
    decides.IngestAll(all);
  };
  const auto decide = [&](const CorrectionRequest& request) {
    const std::size_t before = all.size();
    decides.Decide(request, &all);
    corrections += all.size() - before;
    decides.IngestAll(all);
  };
  play(0, 2);
  all.push_back(NextVersion(events, "runtime", &app));
  decides.IngestAll(all);
  for (const std::int64_t host : {2, 9, 16, 23})
    decide({.target = TargetKind::kHost, .id = host, .reason = "forged results"});
  const std::vector<ResultId> granted = decides.Granted(app);
  for (std::size_t i = 0; i < granted.size() && i < 60; i += 12)
    decide({.target = TargetKind::kResult,
            .id = static_cast<std::int64_t>(granted[i].value),
            .policy_version = 2,
            .reason = "priced too high"});
  play(2, 3);
  for (const std::int64_t host : {9, 30})
    decide({.target = TargetKind::kHost, .id = host, .reason = "again"});
  all.insert(all.end(), events.begin() + static_cast<std::ptrdiff_t>(events.size() * 3 / 4), events.end());
  EXPECT_GT(corrections, 60u);
  return all;
}

}  // namespace cobblestone::testing
