// Two real deployments: `cobblestone run` of a project sends to `cobblestone run` of a hub. Both are killed while the link
// between them is bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/e2e/gateway_process.h"
#include "tests/e2e/hub_comparison.h"
#include "tests/support/bad_link.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ProgramPush : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(project_dir_ / "token") << kIngestToken << "\n";
    ::chmod((project_dir_ / "token").c_str(), 0600);
  }
  void TearDown() override {
    if (!HasFailure()) return;
    for (const auto& [name, program] : {std::pair("project", project_.get()), std::pair("hub", hub_.get())})
      if (program != nullptr) std::cerr << "The " << name << "'s program said:\n" << program->process().err();
  }
  void StartHub(const std::string& settings = "") {
    hub_ = std::make_unique<Served>(hub_dir_, settings + "role: hub\n");
    ASSERT_TRUE(hub_->Start()) << hub_->process().err();
    link_.SetServer(hub_->url());
  }
  void StartProject(const std::string& url, const std::string& more = "") {
    project_ = std::make_unique<Served>(
        project_dir_, "hub: {url: \"" + url +
                          "\", push_token_file: token, push_interval: 1 s, factors: false" + more +
                          "}\nprojects:\n  - {id: 1, name: Fold, hub_project: 4}\n");
    ASSERT_TRUE(project_->Start()) << project_->process().err();
  }
  static void Kill(Served& served) {
    served.process().Signal(SIGKILL);
    (void)served.process().Wait();
  }
  // Events of the generator, in that many batches.
  std::vector<std::string> Batches(int results, std::size_t count) {
    std::istringstream lines(EventLines(project_dir_, results));
    std::vector<std::string> all;
    for (std::string line; std::getline(lines, line);) all.push_back(line + "\n");
    std::vector<std::string> batches(count);
    for (std::size_t n = 0; n < all.size(); ++n) batches[n * count / all.size()] += all[n];
    return batches;
  }
  void Post(const std::string& batch) {
    const Reply reply =
        project_->Post("/api/v1/events?source=jobs&first_line=" + std::to_string(sent_), batch, kIngestToken);
    ASSERT_EQ(reply.status, 200) << reply.body;
    sent_ += static_cast<std::size_t>(std::count(batch.begin(), batch.end(), '\n'));
  }
  const TempDir hub_dir_;
  const TempDir project_dir_;
  BadLink link_;
  std::unique_ptr<Served> hub_;
  std::unique_ptr<Served> project_;
  std::size_t sent_ = 0;
};

TEST_F(ProgramPush, BothSidesAreKilledOverABadLinkAndNoMicroCreditIsLostOrDoubled) {
  StartHub();
  link_.Harm(11);
  StartProject(link_.url());
  std::size_t batch = 0;
  for (const std::string& lines : Batches(1500, 8)) {
    Post(lines);
    (void)project_->GetUntil("/api/v1/health",
                             [&](const Reply&) { return link_.Count(LinkFault::kNone) > 3; });
    ++batch;
    if (batch % 3 == 1) {
      Kill(*project_);
      StartProject(link_.url());
    }
    if (batch % 3 == 2) {
      Kill(*hub_);
      StartHub();
    }
  }
  link_.Heal();
  ExpectSameAtHub(*ReferenceOf(project_dir_), *hub_);
  const auto complete = [](const Reply& reply) {
    const json data = reply.status == 200 ? reply.json()["data"] : json();
    return data.is_object() && data["condition"] == "fine" && data["app_versions"] > 0;
  };
  const Reply project = hub_->GetUntil("/api/v1/federation/projects/4", complete);
  EXPECT_TRUE(complete(project)) << project.body;
  EXPECT_EQ(project.json()["data"]["mode"], "direct");
}

TEST_F(ProgramPush, OneProcessOfADeploymentSendsOverTls) {
  const std::string make =
      "cd '" + hub_dir_.path() +
      "' && openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 "
      "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1,DNS:localhost >/dev/null 2>&1";
  ASSERT_EQ(std::system(make.c_str()), 0);
  StartHub("  tls_certificate: cert.pem\n  tls_key: key.pem\n");
  ASSERT_THAT(hub_->url(), HasSubstr("https://"));
  // Without the hub's authority nothing is sent.
  StartProject(hub_->url());
  EXPECT_TRUE(project_->process().WaitFor("accounts of project 1 for the hub: "));
  project_->process().Signal(SIGTERM);
  EXPECT_EQ(project_->process().Wait(), 0);
  EXPECT_EQ(hub_->Get("/api/v1/federation/projects").status, 0) << "the test's client knows no authority";

  StartProject(hub_->url(), ", ca_file: \"" + hub_dir_ / "cert.pem" + "\"");
  for (const std::string& lines : Batches(200, 1)) Post(lines);
  httplib::Client client(hub_->url());
  client.set_ca_cert_path((hub_dir_ / "cert.pem").c_str());
  std::string body;
  for (int attempt = 0; attempt < 600 && body.find("\"complete_edition\":1") == std::string::npos;
       ++attempt) {
    const auto reply = client.Get("/api/v1/federation/projects/4");
    if (reply) body = reply->body;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_THAT(body, HasSubstr("\"mode\":\"direct\""));
}

TEST_F(ProgramPush, SettingsThatWouldExposeTheTokenAreRefused) {
  std::ofstream(project_dir_ / "a.yaml")
      << "hub: {url: \"http://hub.example\", push_token_file: token}\nprojects: [{id: 1, name: a, hub_project: 4}]\n";
  const Finished plain = RunProgram(project_dir_.path(), {"run", "--config", "a.yaml"});
  EXPECT_EQ(plain.code, 2);
  EXPECT_THAT(plain.err, HasSubstr("a token is sent over https:// only"));
}

}  // namespace
}  // namespace cobblestone::testing
