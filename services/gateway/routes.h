// The table of HTTP routes. openapi.json describes the same routes; a test compares the two.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/gateway/message.h"

namespace cobblestone::gateway {

class Handlers;

enum class Needs { kNothing, kRead, kMetrics, kIngest, kOperate };

struct Route {
  std::string_view method;  // GET or POST
  std::string_view path;    // "/api/v1/projects/{project}/results/{result}"
  Needs needs;
  Answer (Handlers::*handler)(const Request&);  // none: the stream of live figures
  bool takes_body = false;
};

std::span<const Route> Routes();

struct Found {
  const Route* route = nullptr;       // none: see `allowed`
  std::vector<std::string> segments;  // matches of {name}, in order
  // Methods of the path, for status 405; empty: the path does not exist.
  std::string allowed;
};
// HEAD finds the route of GET.
Found FindRoute(std::string_view method, std::string_view path);

// True if `rights` are sufficient.
bool Satisfies(const Rights& rights, Needs needs);

}  // namespace cobblestone::gateway
