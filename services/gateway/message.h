// One request and its answer as handlers see them, independent of sockets and of the HTTP library.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "services/gateway/rights/tokens.h"

namespace cobblestone::gateway {

struct Request {
  // Segments of the path that match {name} in the path of the route, in order.
  std::vector<std::string> segments;
  std::multimap<std::string, std::string> query;  // decoded
  std::string accept;
  std::string content_type;  // without parameters, in lower case
  std::string body;
  Rights rights;
};

struct Answer {
  int status = 200;
  std::string type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers{};
};

inline constexpr std::string_view kJsonType = "application/json";

// Input text may hold any bytes; invalid UTF-8 is replaced.
std::string JsonText(const nlohmann::json& json);
Answer JsonAnswer(const nlohmann::json& json, int status = 200);
// {"error": {"code", "message"}}
Answer ErrorAnswer(int status, std::string_view code, const std::string& message);
// HTTP status by the code of `status`. Details that only an operator may read (kFatal, kCorrupted) go to the log, not
// into the answer.
Answer ErrorAnswer(const Status& status);

// Typed access to the query of one request. The first error wins. A parameter that no call reads is an error.
class Query {
 public:
  explicit Query(const Request& request);

  [[nodiscard]] bool Has(const std::string& name);
  // `otherwise` if the parameter is absent.
  std::uint64_t Number(const std::string& name, std::uint64_t otherwise, std::uint64_t most);
  std::uint64_t RequiredNumber(const std::string& name, std::uint64_t least, std::uint64_t most);
  std::int64_t RequiredSigned(const std::string& name);
  // Finite and greater than 0; 0 if the parameter is absent.
  double Positive(const std::string& name);
  std::string RequiredText(const std::string& name, std::size_t longest);
  // One of `words`; the first if the parameter is absent.
  std::string Word(const std::string& name, const std::vector<std::string>& words);

  void Fail(const std::string& what);
  // Call it last: it also reports parameters that no call has read.
  [[nodiscard]] Status status() const;

 private:
  const std::string* Find(const std::string& name);

  std::map<std::string, std::string> values_;
  std::map<std::string, bool> asked_;
  Status status_;
};

// A number in a path. kNotFound if the text is not a number: no such thing can exist.
Result<std::uint64_t> PathNumber(const std::string& text, std::uint64_t most);

}  // namespace cobblestone::gateway
