// A deployment whose brokers require TLS and a password: the whole way with the secret from a file and from the
// environment; then every possible misconfiguration, with an error that says what to change. The secret appears
// nowhere.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {
namespace {

constexpr const char* kVariable = "COBBLESTONE_TEST_PASSWORD";

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The lines of the section `kafka`.
std::string Secured(const TestBroker& broker, const std::string& secret) {
  return "  security: sasl_ssl\n  ca_file: " + broker.path() +
         "/tls/ca.pem\n  mechanism: PLAIN\n  user: cobblestone\n  " + secret + "\n";
}

class KafkaSecurity : public ::testing::Test {
 protected:
  // A configuration like the world's, with one change.
  std::string Changed(const std::string& name, const std::string& what, const std::string& by) const {
    std::string text = ContentOf(world_.ConfigOf("admin"));
    const std::size_t at = text.find(what);
    if (at == std::string::npos) throw std::runtime_error("no " + what + " in " + text);
    text.replace(at, what.size(), by);
    std::ofstream(world_.path(name)) << text;
    return world_.path(name);
  }

  // The program reports `message` and exits with the code; its output does not contain the secret.
  void ExpectRefused(const std::vector<std::string>& verb, const std::string& config,
                     const std::string& message, const std::string& secret) const {
    std::vector<std::string> arguments = verb;
    arguments.insert(arguments.end(), {"--config", config});
    const Finished finished = RunProgram(world_.path(""), arguments);
    EXPECT_EQ(finished.code, 2) << verb[0] << ": " << finished.err;
    EXPECT_NE(finished.err.find(message), std::string::npos) << verb[0] << ": " << finished.err;
    EXPECT_EQ((finished.out + finished.err).find(secret), std::string::npos) << verb[0];
  }

  std::unique_ptr<TestBroker> broker_ = TestBroker::DedicatedSecured();
  std::string in_file_ = "password_file: " + broker_->path() + "/password";
  std::string secret_ = FirstLine(broker_->path() + "/password");
  std::vector<Event> events_ = Traffic(41, 1500);
  KafkaWorld world_{*broker_, events_, {.kafka = Secured(*broker_, in_file_)}};
};

TEST_F(KafkaSecurity, WorksEndToEndAndExplainsEveryMisconfiguration) {
  ASSERT_GT(secret_.size(), 10u);
  ASSERT_EQ(::setenv(kVariable, secret_.c_str(), 1), 0);
  const std::string in_variable =
      Changed("variable.yaml", in_file_, std::string("password_variable: ") + kVariable);
  std::string output;
  {
    // One worker reads the secret from a file, the other from the environment.
    auto file = world_.Worker("w0");
    Background variable(world_.path(""), {"run", "--config", in_variable, "--instance", "w1"});
    const Finished ingested = world_.Ingest();
    EXPECT_LE(ingested.code, 1) << ingested.err;  // 1: bad lines of the traffic were reported
    EXPECT_TRUE(world_.AwaitRest(std::chrono::seconds(60))) << world_.Tasks().dump(1);
    const Finished tasks = RunProgram(world_.path(""), {"tasks", "--config", in_variable});
    EXPECT_EQ(tasks.code, 0) << tasks.err;
    file->Signal(SIGTERM);
    variable.Signal(SIGTERM);
    EXPECT_EQ(file->Wait(), 0) << file->err();
    EXPECT_EQ(variable.Wait(), 0) << variable.err();
    output = file->err() + variable.err() + ingested.out + ingested.err + tasks.out + tasks.err;
  }
  world_.ExpectLikeTheOracle();
  EXPECT_EQ(output.find(secret_), std::string::npos);

  const std::string wrong = "wrong-and-secret-all-the-same";
  std::ofstream(world_.path("wrong-password")) << wrong << "\n";
  std::filesystem::permissions(world_.path("wrong-password"), std::filesystem::perms::owner_read);
  const std::vector<std::string> run = {"run"};
  const std::string denied = Changed("a.yaml", in_file_, "password_file: " + world_.path("wrong-password"));
  for (const std::vector<std::string>& verb :
       {run, {"topics", "create"}, {"ingest", world_.path("traffic.pb")}, {"tasks"}})
    ExpectRefused(verb, denied, "rejects user cobblestone", wrong);
  ExpectRefused(run, Changed("b.yaml", "user: cobblestone", "user: nobody"), "rejects user nobody", secret_);
  ExpectRefused(run, Changed("c.yaml", in_file_, "password_file: " + world_.path("nowhere")),
                world_.path("nowhere") + " cannot be read", secret_);
  ExpectRefused(run, Changed("d.yaml", in_file_, "password_variable: COBBLESTONE_TEST_NOT_SET"),
                "the environment variable COBBLESTONE_TEST_NOT_SET", secret_);

  // An authority that has not signed the broker's certificate.
  const std::string ca = "ca_file: " + broker_->path() + "/tls/ca.pem";
  const std::string made =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=other -days 1 "
      "-keyout '" +
      world_.path("other.key") + "' -out '" + world_.path("other.pem") + "' 2>/dev/null";
  ASSERT_EQ(std::system(made.c_str()), 0);
  ExpectRefused(run, Changed("e.yaml", ca, "ca_file: " + world_.path("other.pem")),
                "kafka.ca_file must contain the certificate authority of the brokers", secret_);
  ExpectRefused(run, Changed("f.yaml", ca, "ca_file: " + world_.path("no.pem")), "ssl.ca.location", secret_);

  // SCRAM, with a client that does not support it: the error names the mechanism.
  const Finished scram = RunProgram(
      world_.path(""),
      {"topics", "check", "--config", Changed("g.yaml", "mechanism: PLAIN", "mechanism: SCRAM-SHA-512")});
  if (scram.code != 0) {
    EXPECT_NE(scram.err.find("2.6.1"), std::string::npos) << scram.err;
  }

  ExpectRefused(run, Changed("h.yaml", in_file_, in_file_ + "\n  options: sasl.password=" + wrong),
                "is a secret", wrong);
}

}  // namespace
}  // namespace cobblestone::testing
