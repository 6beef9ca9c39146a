// What can be asked over HTTP, as a table: openapi.json describes the same, and a test holds the two together.
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
  std::vector<std::string> segments;  // what stands for {name}, in order
  std::string allowed;                // methods of that path, for 405; empty: there is no such path
};
// HEAD is answered as GET is.
Found FindRoute(std::string_view method, std::string_view path);

// True where the rights are enough.
bool Satisfies(const Rights& rights, Needs needs);

}  // namespace cobblestone::gateway
