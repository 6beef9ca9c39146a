// Projects in which operators correct the credit of results: for tests of reversals and repricings.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/corrections/correction_plan.h"
#include "tests/support/job_events.h"
#include "tests/support/like_the_oracle.h"

namespace cobblestone::testing {

inline constexpr double kStart = 1.7e9;
inline constexpr double kDay = 86400;

inline traffic::GenerateOptions Paying(std::uint64_t seed) {
  traffic::GenerateOptions options = Eventful(seed);
  options.dispatches = true;
  options.trickles = 5;
  options.apps = 7;
  options.results = 500;
  options.hosts = 40;
  options.invalid = 0.1;
  options.owner_changes = 1;
  options.policies = {"benchmark", "assigned", "runtime", "none", "reported-flops"};
  return options;
}

inline corrections::CorrectionReader ReaderOf(LockstepWorld& world,
                                              const corrections::CorrectionRequest& request) {
  corrections::CorrectionReader reader(request);
  for (const std::string& record : world.control()) EXPECT_TRUE(reader.TakeControl(record));
  for (const std::string& record : world.ledger()) EXPECT_TRUE(reader.TakeHost(record));
  for (const std::string& record : world.refused()) EXPECT_TRUE(reader.TakeMerge(record));
  for (const std::string& record : world.ledger()) EXPECT_TRUE(reader.Select(record));
  for (const std::string& record : world.ledger()) EXPECT_TRUE(reader.TakeGrant(record));
  for (const std::string& record : world.postings()) EXPECT_TRUE(reader.TakePosting(record));
  for (const std::string& record : world.refused()) EXPECT_TRUE(reader.TakeRefused(record));
  return reader;
}

inline corrections::CorrectionPlan PlanOf(LockstepWorld& world,
                                          const corrections::CorrectionRequest& request) {
  const auto plan = ReaderOf(world, request).Plan();
  EXPECT_TRUE(plan.ok() || plan.status().code() == StatusCode::kNotFound) << plan.status().message();
  return plan.ok() ? *plan : corrections::CorrectionPlan();
}

inline corrections::CorrectionRequest Of(corrections::TargetKind target, std::uint64_t id,
                                         std::uint32_t version = 0) {
  return {.project = ProjectId(1),
          .target = target,
          .id = static_cast<std::int64_t>(id),
          .policy_version = version,
          .reason = version == 0 ? "forged" : "wrong multiplier"};
}

inline Events EventsOf(const corrections::CorrectionPlan& plan) {
  Events events;
  for (const corrections::PlannedCorrection& one : plan.corrections)
    if (std::string event = wire::EncodeEvent(one.event); events.empty() || events.back() != event)
      events.push_back(std::move(event));
  return events;
}

// Plays events and records them.
class Recorder {
 public:
  void Play(const Events& some) {
    world.Add(some);
    events.insert(events.end(), some.begin(), some.end());
    // Waits like `ingest`, because a plan needs all earlier events to be processed.
    world.Finish();
  }

  LockstepWorld world{1};
  Events events;
};

inline std::set<std::uint64_t> WithCredit(LockstepWorld& world, bool hosts) {
  std::set<std::uint64_t> ids;
  for (const std::string& record : world.ledger()) {
    wire::Grant grant;
    EXPECT_TRUE(wire::DecodeGrant(record, &grant));
    if (grant.head.kind == wire::GrantKind::kFinal && grant.head.project == ProjectId(1))
      ids.insert(hosts ? grant.head.host.value : grant.claim->workunit.value);
  }
  return ids;
}

// Multiplies by `times` everything that the app pays by measure.
inline wire::AppChange Times(wire::AppChange app, double times) {
  if (!app.constants) app.constants.emplace();
  app.constants->cobblestones_per_gflops_day =
      app.constants->cobblestones_per_gflops_day.value_or(200) * times;
  for (wire::TrickleRuleChange& rule : app.trickles) {
    rule.multiplier = rule.multiplier.value_or(1) * times;
    rule.credit_per_day *= times;
    rule.max_credit *= times;
  }
  return app;
}

using OfOwner = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;  // result, host, user
inline std::map<OfOwner, long long> EarnedByOwner(LockstepWorld& world) {
  std::map<OfOwner, long long> sums;
  for (const std::string& record : world.ledger()) {
    wire::GrantHead head;
    EXPECT_TRUE(wire::DecodeGrantHead(record, &head));
    if (wire::IsAward(head.kind) && head.project == ProjectId(1))
      sums[{head.result.value, head.host.value, head.user.value}] += head.credit_micro;
  }
  return sums;
}

class Project {
 public:
  explicit Project(const std::string& policy = "benchmark", double multiplier = 1) {
    App(kStart, policy, multiplier, 1);
    Send(kStart, wire::AppVersionChange{.row = {.id = 1, .app = AppId(1), .version_num = 1, .platform = 1}});
    for (std::uint64_t user = 1; user <= 3; ++user) Join(kStart, user, 10 + user);
    for (std::uint64_t host = 1; host <= 3; ++host)
      Send(kStart, wire::HostMember{.host = HostId(host), .user = UserId(host), .whetstone = 2e9, .cpus = 4});
  }
  void Send(double time, wire::EventBody body) {
    run.Play({wire::EncodeEvent(
        {.head = {.id = ++id_, .project = ProjectId(1), .time = time}, .body = std::move(body)})});
  }
  void App(double time, const std::string& policy, double multiplier, std::uint32_t version) {
    wire::ConstantChanges constants;
    constants.multiplier = multiplier;
    Send(time, wire::AppChange{
                   .app = AppId(1), .policy = policy, .policy_version = version, .constants = constants});
  }
  void Join(double time, std::uint64_t user, std::uint64_t team) {
    Send(time, wire::UserMember{.user = UserId(user), .team = TeamId(team)});
  }
  void Done(double time, std::uint64_t result, std::uint64_t host, std::uint64_t workunit,
            std::uint32_t claims = 1, credit::ValidateState state = credit::ValidateState::kValid) {
    wire::Completion completion = CompletionOf(result, host, workunit, time);
    completion.facts.cpu_time = 1000.0 + static_cast<double>(result);
    completion.facts.elapsed_time = 5000;
    completion.facts.sent_time = time - kDay;
    completion.facts.version = AppVersionId(1);
    Send(time, completion);
    credit::ValidationFacts validation = ValidationOf(result, host, workunit, 5);
    validation.assigned_credit.reset();
    validation.claims = claims;
    validation.state = state;
    Send(time, validation);
  }
  void Invalid(double time, std::uint64_t result, std::uint64_t host, std::uint64_t workunit) {
    Done(time, result, host, workunit, 1, credit::ValidateState::kInvalid);
  }
  // From now on the app pays `credit` for each of 1,000 steps.
  void PayForSteps(double time, std::uint32_t version, double credit, const std::string& policy,
                   const std::string& settlement = "keep", const std::string& variety = "model") {
    Send(time, wire::AppChange{.app = AppId(1),
                               .policy = policy,
                               .policy_version = version,
                               .trickles = {{.variety = variety,
                                             .kind = "steps",
                                             .measure = "steps",
                                             .phases = {{.last_step = 1000, .credit_per_step = credit}}}},
                               .trickle_settlement = settlement});
  }
  void Sent(double time, std::uint64_t result, std::uint64_t host) {
    wire::Dispatch dispatch;
    dispatch.facts = CompletionOf(result, host, result, time).facts;
    dispatch.facts.version = AppVersionId(1);
    dispatch.facts.outcome = credit::Outcome::kUnknown;
    dispatch.facts.sent_time = time;
    dispatch.facts.received_time = 0;
    dispatch.fpops_est = 1e15;
    dispatch.fpops_bound = 1e20;
    Send(time, dispatch);
  }
  void SendTrickle(double time, std::uint64_t result, std::uint64_t host, double steps) {
    Send(time,
         wire::Trickle{.result = ResultId(result), .host = HostId(host), .variety = "model", .steps = steps});
  }
  // A valid result, worth `credit` under policy `assigned`.
  void Worth(double time, std::uint64_t result, std::uint64_t host, double credit) {
    wire::Completion completion = CompletionOf(result, host, result, time);
    completion.facts.version = AppVersionId(1);
    completion.facts.sent_time = kStart + kDay;
    Send(time, completion);
    Send(time, ValidationOf(result, host, result, credit));
  }
  void Failed(double time, std::uint64_t result, std::uint64_t host) {
    wire::Completion completion = CompletionOf(result, host, result, time);
    completion.facts.version = AppVersionId(1);
    completion.facts.outcome = credit::Outcome::kClientError;
    completion.facts.sent_time = time - kDay;
    Send(time, completion);
  }
  corrections::CorrectionPlan Do(const corrections::CorrectionRequest& request) {
    corrections::CorrectionPlan plan = PlanOf(run.world, request);
    run.Play(EventsOf(plan));
    return plan;
  }
  credit::MicroTotal Micro(OracleAccountKind kind, std::uint64_t id) { return Account(kind, id).micro; }
  // The errors of the wrong corrections in the ledger.
  std::vector<std::string> Wrong(std::uint64_t result) {
    return ReaderOf(run.world, Of(corrections::TargetKind::kResult, result)).WrongCorrections();
  }
  AccountOutcome Account(OracleAccountKind kind, std::uint64_t id) {
    return run.world.outcome().accounts[{1, kind, id}];
  }
  double Recent(std::uint64_t user) {
    for (pipeline::PipelineSlot& slot : run.world.slots())
      if (slot.stages.accounts != nullptr)
        return slot.stages.accounts->users().Find({.project = 1, .id = user, .sub = 0})->account.recent.value;
    return -1;
  }

  Recorder run;

 private:
  std::uint64_t id_ = 0;
};

}  // namespace cobblestone::testing
