// One request and its answer, as handlers see them: no socket, no library.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "services/gateway/tokens.h"

namespace cobblestone::gateway {

struct Request {
  std::vector<std::string> segments;  // of the path, what stands for {name} in the route's, in order
  std::multimap<std::string, std::string> query;  // decoded
  std::string accept;
  std::string content_type;  // without parameters, in small letters
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

// Text of the input may hold any bytes; what is no UTF-8 is shown as such.
std::string JsonText(const nlohmann::json& json);
Answer JsonAnswer(const nlohmann::json& json, int status = 200);
// {"error": {"code", "message"}}
Answer ErrorAnswer(int status, std::string_view code, const std::string& message);
// By its code. What only an operator should read of it (kFatal, kCorrupted) is in the log, not in the answer.
Answer ErrorAnswer(const Status& status);

// The query of one request, typed. The first error is kept and wins; a parameter that nobody has asked for is one.
class Query {
 public:
  explicit Query(const Request& request);

  [[nodiscard]] bool Has(const std::string& name);
  // `otherwise` where it is absent.
  std::uint64_t Number(const std::string& name, std::uint64_t otherwise, std::uint64_t most);
  std::uint64_t RequiredNumber(const std::string& name, std::uint64_t least, std::uint64_t most);
  std::int64_t RequiredSigned(const std::string& name);
  // Finite and above 0; 0 where it is absent.
  double Positive(const std::string& name);
  std::string RequiredText(const std::string& name, std::size_t longest);
  // One of the words; the first where it is absent.
  std::string Word(const std::string& name, const std::vector<std::string>& words);

  void Fail(const std::string& what);
  // To be asked last.
  [[nodiscard]] Status status() const;

 private:
  const std::string* Find(const std::string& name);

  std::map<std::string, std::string> values_;
  std::map<std::string, bool> asked_;
  Status status_;
};

// A number in a path; kNotFound where it is none: there is no such thing then.
Result<std::uint64_t> PathNumber(const std::string& text, std::uint64_t most);

}  // namespace cobblestone::gateway
