#include "services/gateway/message.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace cobblestone::gateway {
namespace {

struct Known {
  StatusCode code;
  std::string_view name;
  int http;
};
constexpr Known kKnown[] = {
    {StatusCode::kRetry, "retry", 503},         {StatusCode::kFenced, "fenced", 503},
    {StatusCode::kCorrupted, "corrupted", 500}, {StatusCode::kFull, "full", 503},
    {StatusCode::kFatal, "fatal", 500},         {StatusCode::kInvalidArgument, "invalid_argument", 400},
    {StatusCode::kNotFound, "not_found", 404}};

// Whether a message contains a path or a host and port, which clients must not learn.
bool NamesAPlace(std::string_view message) {
  for (std::size_t i = 0; i < message.size(); ++i)
    if (message[i] == '/' ||
        (message[i] == ':' && i + 1 < message.size() && message[i + 1] >= '0' && message[i + 1] <= '9'))
      return true;
  return false;
}

// The message for a temporary state.
std::string PassingMessage(const Status& status) {
  if (status.code() == StatusCode::kFull) return "the pipeline's disk is full; try again when space is free";
  if (NamesAPlace(status.message())) return "the request cannot be answered now; try again later";
  return status.message();
}

// Parses a whole number; the text must contain nothing else.
template <class Number>
bool Parse(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string JsonText(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Answer JsonAnswer(const nlohmann::json& value, int status) {
  return {.status = status, .type = std::string(kJsonType), .body = JsonText(value)};
}

Answer ErrorAnswer(int status, std::string_view code, const std::string& message) {
  return JsonAnswer({{"error", {{"code", code}, {"message", message}}}}, status);
}

Answer ErrorAnswer(const Status& status) {
  for (const Known& known : kKnown) {
    if (known.code != status.code()) continue;
    if (known.http == 500) return ErrorAnswer(500, known.name, "the request failed; see the log");
    if (known.http != 503) return ErrorAnswer(known.http, known.name, status.message());
    Answer answer = ErrorAnswer(known.http, known.name, PassingMessage(status));
    answer.headers.emplace_back("Retry-After", "1");
    return answer;
  }
  return ErrorAnswer(500, "fatal", "the request failed");
}

Query::Query(const Request& request) {
  for (const auto& [name, value] : request.query)
    if (!values_.emplace(name, value).second) Fail("the parameter " + name + " occurs twice");
}

const std::string* Query::Find(const std::string& name) {
  asked_[name] = true;
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

bool Query::Has(const std::string& name) { return Find(name) != nullptr; }

std::uint64_t Query::Number(const std::string& name, std::uint64_t otherwise, std::uint64_t most) {
  return Has(name) ? RequiredNumber(name, 0, most) : otherwise;
}

std::uint64_t Query::RequiredNumber(const std::string& name, std::uint64_t least, std::uint64_t most) {
  const std::string* text = Find(name);
  std::uint64_t number = 0;
  if (text == nullptr) {
    Fail("the parameter " + name + " is missing");
  } else if (!Parse(*text, &number) || number < least || number > most) {
    Fail("the parameter " + name + " must be a number from " + std::to_string(least) + " to " +
         std::to_string(most));
    number = 0;
  }
  return number;
}

std::int64_t Query::RequiredSigned(const std::string& name) {
  const std::string* text = Find(name);
  std::int64_t number = 0;
  if (text == nullptr) {
    Fail("the parameter " + name + " is missing");
  } else if (!Parse(*text, &number)) {
    Fail("the parameter " + name + " must be a number");
  }
  return number;
}

double Query::Positive(const std::string& name) {
  const std::string* text = Find(name);
  double number = 0;
  if (text == nullptr) return 0;
  if (Parse(*text, &number) && std::isfinite(number) && number > 0) return number;
  Fail("the parameter " + name + " must be a number above 0");
  return 0;
}

std::string Query::RequiredText(const std::string& name, std::size_t longest) {
  const std::string* text = Find(name);
  if (text == nullptr || text->empty()) {
    Fail("the parameter " + name + " is missing");
    return {};
  }
  if (text->size() > longest || text->find('\0') != std::string::npos)
    Fail("the parameter " + name + " must be a text of at most " + std::to_string(longest) + " bytes");
  return *text;
}

std::string Query::Word(const std::string& name, const std::vector<std::string>& words) {
  const std::string* text = Find(name);
  if (text == nullptr) return words.front();
  std::string list;
  for (const std::string& word : words) {
    if (word == *text) return word;
    list += (list.empty() ? "" : ", ") + word;
  }
  Fail("the parameter " + name + " must be one of " + list);
  return words.front();
}

void Query::Fail(const std::string& what) {
  if (status_.ok()) status_ = Status::InvalidArgument(what);
}

Status Query::status() const {
  if (!status_.ok()) return status_;
  for (const auto& [name, value] : values_)
    if (!asked_.contains(name)) return Status::InvalidArgument("unknown parameter " + name);
  return Status::Ok();
}

Result<std::uint64_t> PathNumber(const std::string& text, std::uint64_t most) {
  std::uint64_t number = 0;
  if (!Parse(text, &number) || number == 0 || number > most)
    return Status::NotFound("invalid number " + text + ": must be a number from 1 to " +
                            std::to_string(most));
  return number;
}

}  // namespace cobblestone::gateway
