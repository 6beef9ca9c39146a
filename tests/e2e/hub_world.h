// A federation hub in this process: tests send events, and ask as the gateway does.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/view/hub/hub_index_build.h"
#include "services/view/hub_questions.h"
#include "tests/robustness/hub_outcome.h"
#include "tests/support/signing_project.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {

using nlohmann::json;
using wire::AccountKind;
using wire::EditionState;
using wire::FeedAccount;

inline constexpr double kDay = 86400;
inline constexpr double kStart = 1.7e9;  // 2023-11-14

class HubWorld : public ::testing::Test {
 protected:
  void SetUp() override {
    auto engine = embedded::Engine::Open(BusyHubSettings(dir_ / "data"), [](const std::string&) {});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    engine_ = std::move(*engine);
    engine_->Start();
    questions_ = std::make_unique<view::HubQuestions>(engine_->live_state(), [] { return kStart; });
  }
  void TearDown() override {
    questions_.reset();
    EXPECT_TRUE(engine_->Stop().ok());
  }

  // `day`: after kStart.
  void Add(std::uint32_t project, double day, wire::EventBody body) {
    const std::string envelope =
        wire::EncodeEvent({.head = {.id = ++id_, .project = ProjectId(project), .time = kStart + day * kDay},
                           .body = std::move(body)});
    const auto routing = wire::PeekRouting(envelope);
    events_.push_back({envelope, routing && routing->key == wire::KeyKind::kBroadcast});
  }
  // Everything so far has been processed when this returns.
  void Send() {
    const Status sent = Ingest(*engine_, events_);
    ASSERT_TRUE(sent.ok()) << sent.message();
  }
  void Project(std::uint32_t project, const SigningProject* signer = nullptr,
               std::vector<std::uint64_t> shared_accounts = {}) {
    Add(project, 0,
        wire::FeedProject{.name = "project " + std::to_string(project),
                          .url = "https://p" + std::to_string(project) + ".example/",
                          .mode = wire::FeedMode::kFiles,
                          .ownership_key = signer == nullptr ? std::string() : signer->PublicKey(),
                          .shared_accounts = std::move(shared_accounts)});
  }
  void Edition(std::uint32_t project, std::uint64_t edition, double day, EditionState state,
               bool whole = false) {
    Add(project, day, wire::FeedEdition{.edition = edition, .state = state, .whole = whole});
  }
  static FeedAccount User(std::uint64_t user, std::uint64_t edition, std::int64_t credit, char cpid = 'a') {
    return {.kind = AccountKind::kUser,
            .account = user,
            .edition = edition,
            .total_micro = credit * 1'000'000,
            .create_time = 1.2e9,
            .name = "user " + std::to_string(user),
            .cross_project_id = std::string(32, cpid)};
  }
  static FeedAccount Gone(std::uint64_t user, std::uint64_t edition) {
    return {.kind = AccountKind::kUser, .account = user, .edition = edition, .gone = true};
  }
  // A complete edition.
  void Complete(std::uint32_t project, std::uint64_t edition, double day, std::vector<FeedAccount> accounts,
                bool whole = false) {
    Edition(project, edition, day, EditionState::kBegun, whole);
    for (FeedAccount& account : accounts) Add(project, day, std::move(account));
    Edition(project, edition, day, EditionState::kComplete, whole);
  }
  void Tick(double day) { Add(0, day, wire::Tick{.time = kStart + day * kDay}); }
  void Proof(std::uint32_t project, double day, const SigningProject& signer, const std::string& message,
             const std::string& url = "") {
    Add(project, day,
        wire::OwnershipProof{
            .master_url = url.empty() ? "https://p" + std::to_string(project) + ".example/" : url,
            .message = message,
            .signature = signer.Sign(message)});
  }

  // Everything so far has been processed, and questions see it.
  void SendAndIndex() {
    Send();
    const auto rows = view::ReadHubRows(engine_->live_state(), kStart);
    ASSERT_TRUE(rows.ok()) << rows.status().message();
    auto index = view::BuildHubIndex(*rows, kStart, nullptr, [] { return false; });
    ASSERT_TRUE(index.ok()) << index.status().message();
    questions_->lists().Publish(std::move(*index), 0);
  }
  // The user's answer, or the message why there is none.
  json Asked(std::uint32_t project, std::uint64_t user) {
    SendAndIndex();
    const auto found = questions_->Account(ProjectId(project), AccountKind::kUser, user);
    return found.ok() ? *found : json(found.status().message());
  }
  std::string PersonTotal(std::uint32_t project, std::uint64_t user) {
    SendAndIndex();
    const auto found = questions_->PersonOf(ProjectId(project), UserId(user));
    return found.ok() ? found->at("total").get<std::string>() : found.status().message();
  }
  // "REASON: detail" of all refused events.
  std::vector<std::string> Refused() {
    Send();
    std::vector<std::string> reasons;
    const Status read =
        engine_->ForEachRecord({wire::kRefused, 0}, [&](std::uint64_t, std::string_view bytes) {
          wire::Refused refused;
          EXPECT_TRUE(wire::DecodeRefused(bytes, &refused));
          reasons.push_back(std::string(wire::RefusalReasonName(refused.refusal.reason)) + ": " +
                            refused.refusal.detail);
          return true;
        });
    EXPECT_TRUE(read.ok()) << read.message();
    return reasons;
  }
  HubOutcome Rows() {
    Send();
    return OutcomeOfHub(*engine_);
  }

  TempDir dir_;
  std::unique_ptr<embedded::Engine> engine_;
  std::unique_ptr<view::HubQuestions> questions_;
  std::vector<Event> events_;
  std::uint64_t id_ = 0;
};

}  // namespace cobblestone::testing
