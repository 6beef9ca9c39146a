// `cobblestone hub collect` beside a hub on a real broker: it learns from the workers which of its events were refused,
// counts them, ends with exit code 1, and sends them again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr seconds kThreeDays{3 * 86400};

// The web server of a project with one user, whose statistics are always those of one day.
class OneUserProject {
 public:
  OneUserProject() {
    const std::string head = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";
    Serve("/stats/tables.xml",
          head +
              "<tables>\n <update_time>1790000000</update_time>\n"
              " <nusers_total>1</nusers_total>\n <total_credit>100.000000</total_credit>\n"
              "</tables>\n");
    Serve("/stats/user.xml", head +
                                 "<users>\n<user>\n <id>1</id>\n <name>Ann</name>\n"
                                 " <create_time>1003711477</create_time>\n"
                                 " <total_credit>100.000000</total_credit>\n"
                                 " <expavg_credit>0.500000</expavg_credit>\n"
                                 " <expavg_time>1789999999.0</expavg_time>\n"
                                 " <cpid>e6548b6c3d364685ae9221e0abe10098</cpid>\n</user>\n</users>\n");
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }
  ~OneUserProject() {
    server_.stop();
    thread_.join();
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }

 private:
  void Serve(const std::string& path, std::string text) {
    server_.Get(path, [text = std::move(text)](const httplib::Request&, httplib::Response& response) {
      response.set_content(text, "application/xml");
    });
  }

  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

class KafkaHubCollect : public ::testing::Test {
 protected:
  KafkaHubCollect()
      : broker_(TestBroker::Shared()),
        world_(*broker_, std::vector<Event>{},
               {.more = "role: hub\nprojects:\n  - {id: 4, name: Rosewood, url: \"" + project_.url() +
                        "\", statistics: \"" + project_.url() + "stats/\"}\n"}) {}

  // One round of a collector whose clock is off by that much: its exit code, and its log.
  std::pair<int, std::string> Collect(seconds clock_off = {}) {
    std::vector<std::pair<std::string, std::string>> environment;
    if (clock_off != seconds(0))
      environment = {{"LD_PRELOAD", COBBLESTONE_OTHER_CLOCK},
                     {"COBBLESTONE_OTHER_CLOCK", std::to_string(clock_off.count())}};
    Background collector(
        world_.path(""),
        {"hub", "collect", "--once", "--private-addresses", "--config", world_.ConfigOf("admin")}, "",
        environment);
    const int code = collector.Wait();
    return {code, collector.err()};
  }

  OneUserProject project_;
  std::unique_ptr<TestBroker> broker_;
  KafkaWorld world_;
};

TEST_F(KafkaHubCollect, AsksTheWorkersWhatTheyRefusedAndSendsItAgain) {
  std::vector<std::unique_ptr<Background>> workers;
  for (const char* worker : {"w0", "w1"}) workers.push_back(world_.Worker(worker));
  ASSERT_TRUE(world_.AwaitRest(seconds(120))) << world_.Tasks().dump(1);
  const auto [ahead, refused] = Collect(kThreeDays);
  EXPECT_EQ(ahead, 1) << refused;
  EXPECT_THAT(refused, HasSubstr("FROM_THE_FUTURE"));
  EXPECT_THAT(refused, HasSubstr("the hub has refused what was sent about the project"));
  EXPECT_THAT(refused, HasSubstr("the hub has refused edition ")) << "of a project that it does not know";
  EXPECT_THAT(refused, Not(HasSubstr("is complete")));
  EXPECT_THAT(refused, HasSubstr("accepted=2 refused=3"))
      << "the account, and a barrier, which belongs to no project";
  EXPECT_EQ(world_.Ask({"refused", "list"})["refused"].size(), 3u);

  const auto [right, sent] = Collect();
  EXPECT_EQ(right, 0) << sent;
  EXPECT_THAT(sent, HasSubstr("is complete"));
  EXPECT_THAT(sent, HasSubstr("refused=0")) << "those of the first round are not counted again";
  const auto [nothing, again] = Collect();
  EXPECT_EQ(nothing, 0) << again;
  EXPECT_THAT(again, HasSubstr("accepted=0 refused=0"));
  for (const auto& worker : workers) {
    worker->Signal(SIGTERM);
    EXPECT_EQ(worker->Wait(), 0) << worker->err();
  }
}

}  // namespace
}  // namespace cobblestone::testing
