// The table of routes, and the OpenAPI description of the routes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "services/gateway/embedded_files.h"
#include "services/gateway/routes.h"

namespace cobblestone::gateway {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

json OpenApi() { return json::parse(ApiFiles()[0].bytes); }

TEST(GatewayRoutes, APathIsFoundWithItsParameters) {
  const Found found = FindRoute("GET", "/api/v1/projects/3/users/42/grants");
  ASSERT_NE(found.route, nullptr);
  EXPECT_EQ(found.route->path, "/api/v1/projects/{project}/users/{id}/grants");
  EXPECT_THAT(found.segments, ElementsAre("3", "42"));
  EXPECT_EQ(FindRoute("HEAD", "/api/v1/health").route, FindRoute("GET", "/api/v1/health").route);
}

TEST(GatewayRoutes, AnUnknownPathHasNoRoute) {
  for (const char* path :
       {"/api/v1", "/api/v1/", "/api/v1/health/", "/api/v1//health", "/api/v1/healthy",
        "/api/v1/projects/3/users", "/api/v1/projects//users/4", "/api/v1/projects/3/users/",
        "/api/v1/projects/3/users/4/5", "", "/", "api/v1/health"}) {
    const Found found = FindRoute("GET", path);
    EXPECT_EQ(found.route, nullptr) << path;
    EXPECT_EQ(found.allowed, "") << path;
  }
}

TEST(GatewayRoutes, AnUnsupportedMethodGetsTheAllowedMethods) {
  const Found found = FindRoute("DELETE", "/api/v1/events");
  EXPECT_EQ(found.route, nullptr);
  EXPECT_EQ(found.allowed, "GET, HEAD, POST");
  EXPECT_EQ(FindRoute("GET", "/api/v1/refused/3/resubmit").allowed, "POST");
}

TEST(GatewayRoutes, ARightDoesNotImplyAnother) {
  EXPECT_TRUE(Satisfies({}, Needs::kNothing));
  for (const Needs needs : {Needs::kRead, Needs::kMetrics, Needs::kIngest, Needs::kOperate})
    EXPECT_FALSE(Satisfies({}, needs));
  const auto ingest = IngestRights::Parse("1", "results");
  EXPECT_TRUE(Satisfies({.ingest = ingest}, Needs::kIngest));
  EXPECT_FALSE(Satisfies({.ingest = ingest}, Needs::kRead));
  EXPECT_FALSE(Satisfies({.ingest = ingest}, Needs::kOperate));
  EXPECT_FALSE(Satisfies({.read = true, .operate = true}, Needs::kIngest));
}

TEST(GatewayRoutes, TheDescriptionHasTheSameRoutesAndNeeds) {
  std::set<std::string> described;
  const json description = OpenApi();
  for (const auto& [path, methods] : description["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      const json& security = operation["security"];
      std::string needs = "token";
      if (security.empty()) needs = "nothing";
      for (const json& one : security)
        if (one.empty()) needs = "read";
      described.insert(method + " " + path + " " + needs);
      for (const json& parameter : operation.value("parameters", json::array()))
        if (parameter["in"] == "path") {
          EXPECT_NE(path.find("{" + parameter["name"].get<std::string>() + "}"), std::string::npos) << path;
        }
    }
  }
  std::set<std::string> routed;
  for (const Route& route : Routes()) {
    const bool token = route.needs == Needs::kIngest || route.needs == Needs::kOperate;
    routed.insert(std::string(route.method == "GET" ? "get" : "post") + " " + std::string(route.path) +
                  (route.needs == Needs::kNothing ? " nothing"
                   : token                        ? " token"
                                                  : " read"));
  }
  EXPECT_EQ(described, routed);
}

TEST(GatewayRoutes, EveryReferenceOfTheDescriptionIsDefined) {
  const json description = OpenApi();
  std::set<std::string> used;
  const std::function<void(const json&)> visit = [&](const json& node) {
    if (node.is_object() && node.contains("$ref")) {
      const std::string to = node["$ref"].get<std::string>().substr(1);
      used.insert(to);
      EXPECT_TRUE(description.contains(json::json_pointer(to))) << to;
    }
    if (node.is_structured())
      for (const json& inner : node) visit(inner);
  };
  visit(description);
  for (const auto& [name, schema] : description["components"]["schemas"].items())
    EXPECT_TRUE(used.contains("/components/schemas/" + name)) << name << " is used nowhere";
}

}  // namespace
}  // namespace cobblestone::gateway
