// Questions answered from the state on disk: the same answers as the running slots give, as of the last state write
// and no newer; and lists, search and newest grants, which only the view has.
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/engine_story.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;
using wire::AccountKind;

class View : public EngineStory {
 protected:
  void SetUp() override {
    settings_.state.flush_interval = std::chrono::hours(1);  // the state is written when the pipeline stops
    options_.clock = [] { return kStart + kDay; };
    Open();
    Send(kStart, wire::AppChange{.app = AppId(1),
                                 .name = "uppercase",
                                 .policy = "assigned",
                                 .delay_bound = kDay,
                                 .result_window = 10 * kDay});
    Team(7, "Café du Crunch");
    User(1, 7, "Ann");
    User(2, 7, "Hannes");
    User(3, 0, "bob");
    for (std::uint64_t host = 1; host <= 4; ++host) Host(host, host < 3 ? 1 : host - 1);
  }

  void Team(std::uint64_t team, const std::string& name) {
    Send(kStart, wire::TeamMember{.team = TeamId(team), .name = name});
  }
  void User(std::uint64_t user, std::uint64_t team, const std::string& name) {
    Send(kStart, wire::UserMember{.user = UserId(user), .team = TeamId(team), .name = name});
  }
  void Host(std::uint64_t host, std::uint64_t user) {
    Send(kStart, wire::HostMember{.host = HostId(host), .user = UserId(user), .whetstone = 2e9, .cpus = 4});
  }

  view::Questions& Stored() {
    auto questions = engine_->QuestionsForMany();
    if (!questions.ok()) throw std::runtime_error(questions.status().message());
    return **questions;
  }
  static json AnswerOf(const Result<json>& answer) {
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? *answer : json();
  }
  static std::string Ids(const json& rows) {
    std::string text;
    for (const json& row : rows)
      text += (text.empty() ? "" : " ") + std::to_string(row["id"].get<std::uint64_t>());
    return text;
  }
};

TEST_F(View, StateOnDiskAnswersAsTheSlotsDidAtItsWrite) {
  Granted(kStart + 100, 500, 1, 10);
  Granted(kStart + 200, 501, 3, 20);
  const json before = AnswerOf(engine_->questions().Account(kProject, AccountKind::kUser, 1));
  const json explained = AnswerOf(engine_->questions().Explain(kProject, ResultId(501)));
  EXPECT_EQ(before["total"], "10.000000");
  Reopen();
  EXPECT_EQ(AnswerOf(Stored().Account(kProject, AccountKind::kUser, 1)), before);
  EXPECT_EQ(AnswerOf(Stored().Explain(kProject, ResultId(501))), explained);
  const json as_of = AnswerOf(Stored().AsOf(kProject));
  Granted(kStart + 300, 502, 1, 40);
  EXPECT_EQ(AnswerOf(Stored().Account(kProject, AccountKind::kUser, 1)), before) << "no state write since";
  EXPECT_EQ(AnswerOf(Stored().AsOf(kProject))["positions"], as_of["positions"]);
  EXPECT_EQ(AnswerOf(engine_->questions().Account(kProject, AccountKind::kUser, 1))["total"], "50.000000");
  Reopen();
  EXPECT_EQ(AnswerOf(Stored().Account(kProject, AccountKind::kUser, 1))["total"], "50.000000");
  EXPECT_NE(AnswerOf(Stored().AsOf(kProject))["positions"], as_of["positions"]);
}

TEST_F(View, ListsRankByCreditNameOwnersAndOmitDeletedAccounts) {
  Granted(kStart + 100, 500, 1, 10);
  Granted(kStart + 200, 501, 3, 20);
  Granted(kStart + 300, 502, 4, 5);
  Send(kStart + 400, wire::UserMember{.user = UserId(3), .deleted = true});
  Reopen();
  const json users =
      AnswerOf(Stored().Top(kProject, AccountKind::kUser, view::RankBy::kTotal, {.offset = 0, .limit = 10}));
  EXPECT_EQ(Ids(users["rows"]), "2 1");
  EXPECT_EQ(users["count"], 2);
  EXPECT_EQ(users["rows"][0]["rank"], 1);
  EXPECT_EQ(users["rows"][0]["team_name"], "Café du Crunch");
  EXPECT_EQ(Ids(AnswerOf(Stored().Top(kProject, AccountKind::kUser, view::RankBy::kRecentAverage,
                                      {.offset = 1, .limit = 10}))["rows"]),
            "1");
  EXPECT_EQ(Ids(AnswerOf(Stored().Top(kProject, AccountKind::kHost, view::RankBy::kTotal,
                                      {.offset = 0, .limit = 2}))["rows"]),
            "3 1");
  EXPECT_EQ(AnswerOf(Stored().Top(kProject, AccountKind::kTeam, view::RankBy::kTotal,
                                  {.offset = 0, .limit = 9}))["rows"][0]["total"],
            "30.000000");
  const json hosts = AnswerOf(Stored().HostsOf(kProject, UserId(1), 1));
  EXPECT_EQ(hosts["count"], 1) << "host 2 has no grant, so it has no account";
  EXPECT_EQ(Ids(hosts["rows"]), "1");
  EXPECT_EQ(hosts["rows"][0]["total"], "10.000000");
  EXPECT_EQ(hosts["rows"][0]["user_name"], "Ann");
  EXPECT_EQ(Ids(AnswerOf(Stored().MembersOf(kProject, TeamId(7), 9))["rows"]), "2 1");
}

TEST_F(View, AHistoryOfManyMonthsIsTheSameInTheSlotsAndOnDisk) {
  constexpr int kDays = 100;  // every third day
  options_.clock = [] { return kStart + 3 * kDays * kDay; };
  Reopen();
  std::uint64_t total = 0;
  for (int i = 0; i < kDays; ++i) {
    const double time = kStart + 3 * i * kDay + 100;
    const std::uint64_t result = 500 + static_cast<std::uint64_t>(i);
    wire::Completion completion = CompletionOf(result, 1, result, time);
    completion.facts.sent_time = time - 3600;
    Send(time, completion);
    Send(time, ValidationOf(result, 1, result, i + 1));
    total += static_cast<std::uint64_t>(i) + 1;
    if (i == kDays / 2) Reopen();
  }
  const auto look = [&](view::Questions& questions, AccountKind kind, std::uint64_t id) {
    const json account = AnswerOf(questions.Account(kProject, kind, id));
    ASSERT_EQ(account["total"], std::to_string(total) + ".000000") << AnswerOf(questions.RefusedList(0, 2));
    const json& days = account["days"];
    ASSERT_EQ(days.size(), static_cast<std::size_t>(kDays));
    for (std::size_t i = 0; i < days.size(); ++i) {
      EXPECT_EQ(days[i]["total"], std::to_string(i + 1) + ".000000");
      EXPECT_EQ(days[i]["grants"], 1);
      EXPECT_EQ(days[i]["day"].get<std::int64_t>() - days[0]["day"].get<std::int64_t>(),
                3 * static_cast<int>(i));
    }
  };
  const std::vector<std::pair<AccountKind, std::uint64_t>> accounts = {
      {AccountKind::kUser, 1}, {AccountKind::kHost, 1}, {AccountKind::kTeam, 7}};
  for (const auto& [kind, id] : accounts) look(engine_->questions(), kind, id);
  Reopen();
  for (const auto& [kind, id] : accounts) {
    look(Stored(), kind, id);
    look(engine_->questions(), kind, id);
  }
}

TEST_F(View, SearchFindsByNumberAndByAnyPartOfANameWhateverItsCase) {
  Granted(kStart + 100, 500, 3, 10);
  Reopen();
  const auto found = [&](std::optional<AccountKind> kind, const std::string& text) {
    std::string all;
    for (const json& row : AnswerOf(Stored().Search(kProject, text, {.kind = kind, .limit = 10})))
      all += row["kind"].get<std::string>() + " " + std::to_string(row["id"].get<int>()) + ";";
    return all;
  };
  EXPECT_EQ(found({}, "ANN"), "user 2;user 1;") << "Hannes, who has more credit, and Ann";
  EXPECT_EQ(found({}, "CAFÉ DU"), "team 7;");
  EXPECT_EQ(found({}, "3"), "user 3;host 3;");
  EXPECT_EQ(found(AccountKind::kHost, "3"), "host 3;");
  EXPECT_EQ(found({}, "nobody"), "");
  EXPECT_EQ(found({}, ""), "");
  // In order of numbers, and without hidden users.
  const auto asked = [&](const view::Questions::Wanted& wanted) {
    return Ids(AnswerOf(Stored().Search(kProject, "ann", wanted)));
  };
  EXPECT_EQ(asked({.by_credit = false}), "1 2");
  EXPECT_EQ(asked({.limit = 1, .finds = [](UserId user) { return user != UserId(2); }}), "1");
}

TEST_F(View, ProfileAndConsentDecideWhatAUserShows) {
  const auto shown = [&](std::uint64_t user) {
    const auto profile = Stored().ProfileOf(kProject, UserId(user));
    EXPECT_TRUE(profile.ok()) << profile.status().message();
    return std::pair(profile->shows_hosts, profile->named);
  };
  Reopen();
  EXPECT_EQ(shown(1), std::pair(true, true)) << "no profile was sent";
  const auto send_profile = [&](std::uint64_t user, const wire::UserProfile& profile) {
    Send(kStart + 10, wire::UserMember{.user = UserId(user), .name = "told", .profile = profile});
  };
  send_profile(1, {.create_time = 1234567890, .show_hosts = true});
  send_profile(2, {.show_hosts = false});
  send_profile(3, {.show_hosts = true, .hidden = true});
  Reopen();
  EXPECT_EQ(shown(1), std::pair(true, true));
  EXPECT_EQ(shown(2), std::pair(false, true));
  EXPECT_EQ(shown(3), std::pair(false, false)) << "the account is closed";
  const json account = AnswerOf(Stored().Account(kProject, AccountKind::kUser, 1));
  EXPECT_EQ(account["create_time"], 1234567890);
  EXPECT_TRUE(account["hosts_shown"].get<bool>());
  EXPECT_FALSE(AnswerOf(Stored().Account(kProject, AccountKind::kUser, 2)).contains("create_time"));
  EXPECT_EQ(AnswerOf(Stored().SchedulerReply(kProject, HostId(1)))["user_create_time"], 1234567890);
  EXPECT_FALSE(AnswerOf(Stored().SchedulerReply(kProject, HostId(3))).contains("user_create_time"));
  // From now on the project asks for consent: user 1 has agreed, user 2 has withdrawn it.
  Send(kStart + 20, wire::ProjectProfile{.has_consent_type = true, .consent_enabled = true});
  Send(kStart + 20, wire::AccountFacts{.kind = AccountKind::kUser, .account = 1, .consent = 1});
  Send(kStart + 20, wire::AccountFacts{.kind = AccountKind::kUser, .account = 2, .consent = 1});
  Send(kStart + 30, wire::AccountFacts{.kind = AccountKind::kUser, .account = 2, .consent = 0});
  Reopen();
  EXPECT_EQ(shown(1), std::pair(true, true));
  EXPECT_EQ(shown(2), std::pair(false, false));
  EXPECT_EQ(shown(99), std::pair(true, false)) << "unknown user, without consent";
  Send(kStart + 40, wire::ProjectProfile{.has_consent_type = true, .consent_enabled = false});
  Reopen();
  EXPECT_EQ(shown(2), std::pair(false, true));
}

TEST_F(View, NewestGrantsOfAHostAUserAndATeamComeFirst) {
  for (std::uint64_t i = 0; i < 9; ++i)
    Granted(kStart + 100 + static_cast<double>(i), 500 + i, 1 + i % 3, 1 + static_cast<double>(i));
  const auto results = [&](AccountKind kind, std::uint64_t id, std::size_t limit) {
    std::string all;
    for (const json& row : AnswerOf(Stored().Grants(kProject, kind, id, limit)))
      all += (all.empty() ? "" : " ") + std::to_string(row["result"].get<int>());
    return all;
  };
  EXPECT_EQ(results(AccountKind::kUser, 1, 3), "507 506 504");
  EXPECT_EQ(results(AccountKind::kHost, 1, 9), "506 503 500");
  EXPECT_EQ(results(AccountKind::kTeam, 7, 4), "508 507 506 505");
  EXPECT_EQ(results(AccountKind::kUser, 99, 4), "");
  Reopen();  // so that the name of the app is written
  const json newest = AnswerOf(Stored().Grants(kProject, AccountKind::kHost, 3, 1))[0];
  EXPECT_EQ(newest["credit"], "9.000000");
  EXPECT_EQ(newest["app_name"], "uppercase");
}

TEST_F(View, AnOpeningIsListedOnlyInItsOwnAccount) {
  const auto opens = [&](AccountKind kind, std::uint64_t account, double total) {
    Send(kStart,
         wire::OpeningTotal{
             .kind = kind, .account = account, .total = total, .rac = total / 10, .rac_time = kStart});
  };
  opens(AccountKind::kUser, 1, 30);
  Granted(kStart + 100, 500, 1, 5);
  opens(AccountKind::kHost, 1, 600);
  opens(AccountKind::kHost, 2, 700);
  const auto list = [&](AccountKind kind, std::uint64_t id, std::size_t limit) {
    std::string all;
    for (const json& row : AnswerOf(Stored().Grants(kProject, kind, id, limit)))
      all += row["kind"].get<std::string>() + " " + row["credit"].get<std::string>() + "; ";
    return all;
  };
  EXPECT_EQ(list(AccountKind::kUser, 1, 9), "final 5.000000; opening 30.000000; ");
  EXPECT_EQ(list(AccountKind::kUser, 1, 1), "final 5.000000; ") << "the hosts' openings come after it";
  EXPECT_EQ(list(AccountKind::kHost, 1, 9), "final 5.000000; opening 600.000000; ");
  EXPECT_EQ(list(AccountKind::kHost, 2, 9), "opening 700.000000; ");
  const json opening = AnswerOf(Stored().Grants(kProject, AccountKind::kUser, 1, 9))[1];
  for (const char* nothing : {"result", "app", "host"}) EXPECT_FALSE(opening.contains(nothing)) << nothing;
  EXPECT_EQ(opening["rac"], 3.0);
}

TEST_F(View, ASchedulerGetsRuntimeQuotaAndReplicationAdvice) {
  Send(kStart, wire::AppVersionChange{.row = {.id = 11, .app = AppId(1), .version_num = 100}});
  Reopen();
  const view::Questions::Job job{.host = HostId(1), .version = AppVersionId(11), .fpops_est = 4e12};
  const json fresh = AnswerOf(Stored().Estimate(kProject, job));
  EXPECT_EQ(fresh["basis"], "benchmark");
  EXPECT_EQ(fresh["runtime_s"], 2000.0) << "4e12 FLOPs at the host's 2e9 FLOP/s";
  EXPECT_EQ(fresh["single_replication"], false);
  EXPECT_EQ(fresh["quota_left"], fresh["max_jobs_per_day"]);
  EXPECT_EQ(Stored().Estimate(kProject, {.host = HostId(77), .version = AppVersionId(11)}).status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(Stored().Estimate(kProject, {.host = HostId(1), .version = AppVersionId(12)}).status().code(),
            StatusCode::kNotFound);
  const json reply = AnswerOf(Stored().SchedulerReply(kProject, HostId(1)));
  EXPECT_EQ(reply["user_name"], "Ann");
  EXPECT_EQ(reply["team_name"], "Café du Crunch");
  EXPECT_EQ(reply["host_total_credit"], "0.000000");
}

// A host's first job of a new version is priced with its record of the previous version, so the advice is based on
// that record, too.
TEST_F(View, ANewVersionIsEstimatedByTheRecordThatItsPriceInherits) {
  // Two apps with versions 1 and 2 each: creditnew inherits the record only upwards, boinc in both directions.
  const std::vector<std::pair<std::uint64_t, const char*>> apps = {{2, "creditnew"}, {3, "boinc"}};
  for (const auto& [app, policy] : apps) {
    Send(kStart, wire::AppChange{.app = AppId(app), .name = policy, .policy = policy, .delay_bound = kDay});
    for (std::uint32_t number = 1; number <= 2; ++number)
      Send(kStart, wire::AppVersionChange{
                       .row = {.id = 10 * app + number, .app = AppId(app), .version_num = number}});
    for (std::uint64_t job = 0; job < 30; ++job) {
      const double time = kStart + 1000.0 * static_cast<double>(job);
      const std::uint64_t result = 1000 * app + job;
      wire::Completion completion = CompletionOf(result, 1, result, time);
      completion.facts.app = AppId(app);
      completion.facts.version = AppVersionId(static_cast<std::int64_t>(10 * app + 1));
      completion.facts.sent_time = time - 6000;
      completion.facts.elapsed_time = 5000;
      completion.facts.peak_flops = 3e9;
      credit::ValidationFacts validation = ValidationOf(result, 1, result, 0);
      validation.app = AppId(app);
      validation.fpops_est = 1e13;
      validation.fpops_bound = 1e15;
      Send(time, completion);
      Send(time, validation);
    }
  }
  Reopen();
  const auto estimate = [&](std::uint64_t host, std::uint64_t version) {
    json answer =
        AnswerOf(Stored().Estimate(kProject, {.host = HostId(host),
                                              .version = AppVersionId(static_cast<std::int64_t>(version)),
                                              .fpops_est = 3e13}));
    answer.erase("app_version");
    return answer;
  };
  for (const auto& [app, policy] : apps) {
    const json old = estimate(1, 10 * app + 1);
    EXPECT_EQ(old["basis"], "host_version") << policy;
    EXPECT_NEAR(old["runtime_s"].get<double>(), 15000, 1e-6) << policy;
    EXPECT_EQ(estimate(1, 10 * app + 2), old) << policy;
    EXPECT_NE(estimate(2, 10 * app + 2)["basis"], "host_version")
        << policy << ": a record of another host does not count";
  }
  EXPECT_EQ(estimate(1, 22)["consecutive_valid"], 30.0);
}

// Policy robust advises by the results of the app, all versions together, that were compared with others and were valid,
// since the last that was not.
TEST_F(View, TheAdviceOfRobustFollowsComparedResults) {
  Send(kStart, wire::AppChange{.app = AppId(2), .name = "fair", .policy = "robust", .delay_bound = kDay});
  for (const std::uint64_t version : {21, 22})
    Send(kStart,
         wire::AppVersionChange{
             .row = {.id = version, .app = AppId(2), .version_num = static_cast<std::uint32_t>(version)}});
  Send(kStart, wire::AppVersionChange{.row = {.id = 11, .app = AppId(1), .version_num = 100}});
  std::uint64_t result = 500;
  const auto judged = [&](std::uint64_t host, std::int64_t version, std::uint64_t workunit,
                          std::uint32_t claims, credit::ValidateState state, double elapsed = 5000) {
    const double time = kStart + static_cast<double>(++result);
    wire::Completion completion = CompletionOf(result, host, result, time);
    completion.facts.workunit = WorkunitId(workunit);
    completion.facts.app = AppId(2);
    completion.facts.version = AppVersionId(version);
    completion.facts.sent_time = time - 60000;
    completion.facts.elapsed_time = elapsed;
    completion.facts.peak_flops = 3e9;
    credit::ValidationFacts validation = ValidationOf(result, host, workunit, 0);
    validation.app = AppId(2);
    validation.fpops_est = 1e13;
    validation.fpops_bound = 1e15;
    validation.claims = claims;
    validation.state = state;
    Send(time, completion);
    Send(time, validation);
  };
  const auto advised = [&](std::uint64_t host, std::int64_t version) {
    return AnswerOf(Stored().Estimate(kProject, {.host = HostId(host), .version = AppVersionId(version)}))
        .value("replication_probability", -1.0);
  };
  const auto standing = [&](std::uint64_t host, std::int64_t version) {
    return AnswerOf(Stored().Estimate(kProject, {.host = HostId(host), .version = AppVersionId(version)}))
        .value("standing", -1);
  };
  const auto row_of = [&](std::int64_t version) {
    return AnswerOf(Stored().HostVersions(kProject, HostId(1), AppVersionId(version), AppId(2)))["rows"][0];
  };
  Reopen();
  EXPECT_EQ(advised(1, 21), 1) << "nothing is known of the host yet";
  std::uint64_t workunit = 900;
  const auto both_judged = [&](std::int64_t version, double elapsed_1, double elapsed_2) {
    ++workunit;
    judged(1, version, workunit, 2, credit::ValidateState::kValid, elapsed_1);
    judged(2, version, workunit, 2, credit::ValidateState::kValid, elapsed_2);
  };
  for (int n = 0; n < 30; ++n) both_judged(21, 5000, 5000);  // version 22 continues its averages
  Reopen();
  EXPECT_EQ(advised(1, 21), 1) << "claims of hosts with few results tell nothing";
  EXPECT_EQ(standing(1, 21), 3) << "valid replicated results, but the advice is still to replicate all";
  for (const std::int64_t version : {21, 21, 22, 22, 22}) both_judged(version, 5000, 5000);
  judged(1, 21, ++workunit, 1, credit::ValidateState::kValid);  // nothing was compared
  Reopen();
  for (const std::uint64_t host : {1, 2})
    for (const std::int64_t version : {21, 22}) EXPECT_DOUBLE_EQ(advised(host, version), 1 / 1.5);
  EXPECT_EQ(advised(3, 21), 1) << "another host";
  EXPECT_EQ(advised(1, 11), -1) << "an app with another policy";
  EXPECT_EQ(standing(3, 21), 0);
  EXPECT_EQ(standing(1, 11), -1);
  EXPECT_EQ(row_of(21)["results_that_vouch"], 5.0);
  EXPECT_EQ(row_of(21)["standing"], 3);
  EXPECT_DOUBLE_EQ(row_of(22)["replication_probability"].get<double>(), 1 / 1.5);
  EXPECT_LT(row_of(21)["failure_rate"].get<double>(), 0.1) << "a new host begins at 0.1";
  both_judged(21, 5000, 2000);  // host 1 claims two and a half times as much as host 2
  Reopen();
  EXPECT_EQ(advised(1, 21), 1);
  EXPECT_DOUBLE_EQ(advised(2, 21), 1 / 1.6);
  judged(2, 22, ++workunit, 2, credit::ValidateState::kInvalid);
  Reopen();
  for (const std::int64_t version : {21, 22}) {
    EXPECT_EQ(advised(2, version), 1);
    EXPECT_EQ(standing(2, version), 0) << "an invalid result counts for all versions of the app";
  }
  EXPECT_EQ(row_of(21)["results_that_vouch"], 0.0);
  Send(kStart + 1000,
       wire::AppChange{
           .app = AppId(2), .name = "fair", .policy = "creditnew", .policy_version = 2, .delay_bound = kDay});
  Reopen();
  EXPECT_EQ(advised(1, 21), -1);
  EXPECT_FALSE(row_of(21).contains("replication_probability"));
}

TEST_F(View, RecentAveragesAreDecayedToTheTimeOfTheAnswer) {
  std::atomic<double> now = kStart + kDay;
  options_.clock = [&now] { return now.load(); };
  Send(kStart, wire::AppChange{.app = AppId(2), .name = "new", .policy = "creditnew", .delay_bound = kDay});
  Send(kStart, wire::AppVersionChange{.row = {.id = 21, .app = AppId(2), .version_num = 1}});
  wire::Completion completion = CompletionOf(500, 1, 500, kStart + 100);
  completion.facts.app = AppId(2);
  completion.facts.version = AppVersionId(21);
  completion.facts.sent_time = kStart - 6000;
  completion.facts.elapsed_time = 5000;
  completion.facts.peak_flops = 3e9;
  credit::ValidationFacts validation = ValidationOf(500, 1, 500, 0);
  validation.app = AppId(2);
  validation.fpops_est = 1e13;
  validation.fpops_bound = 1e15;
  Send(kStart + 100, completion);
  Send(kStart + 100, validation);
  Send(kStart + 700, wire::Tick{.time = kStart + 700});
  Reopen();
  struct Shown {
    std::string what;
    double value;
    double time;
  };
  const auto look = [&] {
    std::vector<Shown> shown;
    const auto add = [&](std::string what, const json& from, const std::string& name,
                         const std::string& time) {
      shown.push_back({std::move(what), from.at(name).get<double>(), from.at(time).get<double>()});
    };
    for (auto kind : {AccountKind::kUser, AccountKind::kHost, AccountKind::kTeam}) {
      add("account", AnswerOf(Stored().Account(kProject, kind, kind == AccountKind::kTeam ? 7 : 1)),
          "rac_now", "rac_now_time");
      add("list",
          AnswerOf(Stored().Top(kProject, kind, view::RankBy::kRecentAverage, {.limit = 1}))["rows"][0],
          "rac_now", "rac_now_time");
    }
    add("hosts", AnswerOf(Stored().HostsOf(kProject, UserId(1), 1))["rows"][0], "rac_now", "rac_now_time");
    add("members", AnswerOf(Stored().MembersOf(kProject, TeamId(7), 1))["rows"][0], "rac_now",
        "rac_now_time");
    add("search", AnswerOf(Stored().Search(kProject, "ann", {}))[0], "rac_now", "rac_now_time");
    for (const json& version : AnswerOf(Stored().Scales(kProject))["versions"])
      add("version", version, "expavg_now", "expavg_now_time");
    const json reply = AnswerOf(Stored().SchedulerReply(kProject, HostId(1)));
    add("scheduler, host", reply, "host_expavg_credit", "expavg_time");
    add("scheduler, user", reply, "user_expavg_credit", "expavg_time");
    return shown;
  };
  const std::vector<Shown> first = look();
  now = kStart + 8 * kDay;  // one half-life later, without events
  const std::vector<Shown> later = look();
  ASSERT_EQ(first.size(), later.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_GT(first[i].value, 0) << first[i].what;
    EXPECT_NEAR(later[i].value, first[i].value / 2, 1e-9 * first[i].value) << first[i].what;
    EXPECT_EQ(first[i].time, kStart + kDay) << first[i].what;
    EXPECT_EQ(later[i].time, kStart + 8 * kDay) << first[i].what;
  }
}

TEST_F(View, EpochsOfTheScalesComeInOrder) {
  for (int tick = 1; tick <= 8; ++tick)
    Send(kStart + 600.0 * tick, wire::Tick{.time = kStart + 600.0 * tick});
  Reopen();
  const json all = AnswerOf(Stored().ScalesHistory(kProject, {.limit = 1000}));
  ASSERT_GE(all.size(), 2u);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1]["epoch"], all[i]["epoch"]);
  EXPECT_EQ(all.back()["epoch"], AnswerOf(Stored().Scales(kProject))["epoch"]);
  // Page by page, back to the first; and a sample of all epochs.
  const auto epochs = [&](const view::EpochsWanted& wanted) {
    std::vector<std::uint64_t> numbers;
    for (const json& one : AnswerOf(Stored().ScalesHistory(kProject, wanted)))
      numbers.push_back(one["epoch"]);
    return numbers;
  };
  const std::vector<std::uint64_t> every = epochs({.limit = 1000});
  ASSERT_GE(every.size(), 8u);
  std::vector<std::uint64_t> paged;
  for (auto page = epochs({.limit = 3}); !page.empty(); page = epochs({.limit = 3, .before = page.front()})) {
    EXPECT_LE(page.size(), 3u);
    paged.insert(paged.begin(), page.begin(), page.end());
  }
  EXPECT_EQ(paged, every);
  const std::vector<std::uint64_t> some = epochs({.limit = 4, .evenly = true});
  ASSERT_EQ(some.size(), 4u);
  EXPECT_EQ(some.front(), every.front());
  EXPECT_EQ(some.back(), every.back());
  EXPECT_EQ(some[1], every[(every.size() - 1) / 3]);
  EXPECT_EQ(epochs({.limit = 1, .evenly = true}), std::vector{every.back()});
  EXPECT_TRUE(epochs({.limit = 0}).empty());
  EXPECT_EQ(epochs({.limit = 1000, .evenly = true}), every);
  const json last = AnswerOf(Stored().ScalesHistory(kProject, {.limit = 1}));
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0], all.back());
  EXPECT_EQ(AnswerOf(Stored().AsOf(kProject))["epoch"], last[0]["epoch"]);
}

}  // namespace
}  // namespace cobblestone::testing
