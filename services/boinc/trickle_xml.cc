#include "services/boinc/trickle_xml.h"

#include <expat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

namespace cobblestone::boinc {
namespace {

// Elements around a whole body; names inside have the same meaning as outside.
constexpr std::array<std::string_view, 3> kWrappers = {"trickle_up", "trickle", "msg_from_host"};

// A root that the parser adds, on the first line of the body.
constexpr std::string_view kOpenRoot = "<body>";
constexpr std::string_view kCloseRoot = "</body>";

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Removes the XML declaration, which may only begin a document: the added root precedes it.
std::string_view WithoutDeclaration(std::string_view xml, std::string* blanks) {
  const std::size_t begin = xml.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || !xml.substr(begin).starts_with("<?xml ")) return xml;
  const std::size_t end = xml.find("?>", begin);
  if (end == std::string_view::npos) return xml;
  for (const char c : xml.substr(0, end)) {
    if (c == '\n') *blanks += c;  // keeps line numbers
  }
  return xml.substr(end + 2);
}

enum class Kind { kText, kName, kNumber, kWhole };

struct Known {
  std::string_view field;  // elements with one field are synonyms
  Kind kind;
  std::string TrickleBody::*text = nullptr;
  std::optional<double> TrickleBody::*number = nullptr;
  std::optional<std::uint64_t> TrickleBody::*whole = nullptr;
};

const std::map<std::string, Known, std::less<>>& KnownElements() {
  using B = TrickleBody;
  static const std::map<std::string, Known, std::less<>> kKnown = {
      {"variety", {.field = "variety", .kind = Kind::kName, .text = &B::variety}},
      {"result_name", {.field = "result_name", .kind = Kind::kName, .text = &B::result_name}},
      {"result_id", {.field = "result_id", .kind = Kind::kWhole, .whole = &B::result_id}},
      {"resultid", {.field = "result_id", .kind = Kind::kWhole, .whole = &B::result_id}},
      {"result", {.field = "result", .kind = Kind::kName, .text = &B::model_result}},
      {"wu", {.field = "wu", .kind = Kind::kName, .text = &B::workunit}},
      {"time", {.field = "time", .kind = Kind::kNumber, .number = &B::client_time}},
      {"ph", {.field = "ph", .kind = Kind::kWhole, .whole = &B::phase}},
      {"ts", {.field = "ts", .kind = Kind::kNumber, .number = &B::timestep}},
      {"cp", {.field = "cpu_time", .kind = Kind::kNumber, .number = &B::cpu_time}},
      {"cpu_time", {.field = "cpu_time", .kind = Kind::kNumber, .number = &B::cpu_time}},
      {"cputime", {.field = "cpu_time", .kind = Kind::kNumber, .number = &B::cpu_time}},
      {"elapsed_time", {.field = "elapsed_time", .kind = Kind::kNumber, .number = &B::elapsed_time}},
      {"run_time", {.field = "run_time", .kind = Kind::kNumber, .number = &B::run_time}},
      {"runtime", {.field = "run_time", .kind = Kind::kNumber, .number = &B::run_time}},
      {"fraction_done", {.field = "fraction_done", .kind = Kind::kNumber, .number = &B::fraction_done}},
      {"vr", {.field = "vr", .kind = Kind::kText, .text = &B::version}},
      {"data", {.field = "data", .kind = Kind::kText, .text = &B::data}}};
  return kKnown;
}

class BodyReader {
 public:
  explicit BodyReader(const std::string& name) : name_(name), parser_(XML_ParserCreate("UTF-8")) {
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(),
        [](void* self, const char* tag, const char** attributes) {
          static_cast<BodyReader*>(self)->Open(tag, attributes);
        },
        [](void* self, const char*) { static_cast<BodyReader*>(self)->Close(); });
    XML_SetCharacterDataHandler(parser_.get(), [](void* self, const char* text, int size) {
      static_cast<BodyReader*>(self)->text_.append(text, static_cast<std::size_t>(size));
    });
  }

  Result<TrickleBody> Read(std::string_view xml) {
    if (xml.size() > kLargestTrickle) {
      return Status::InvalidArgument(name_ + ": a body of " + std::to_string(xml.size()) +
                                     " bytes exceeds the limit for trickles (" +
                                     std::to_string(kLargestTrickle) + " bytes): skipped");
    }
    std::string document(kOpenRoot);
    const std::string_view rest = WithoutDeclaration(xml, &document);
    document += rest;
    document += kCloseRoot;
    const auto parsed = XML_Parse(parser_.get(), document.data(), static_cast<int>(document.size()), 1);
    if (error_) return *error_;
    if (parsed != XML_STATUS_OK) return NotXml(document);
    return std::move(body_);
  }

 private:
  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };
  struct Element {
    std::string name;
    std::uint64_t line = 0;
    bool has_children = false;
  };

  [[nodiscard]] Status At(std::uint64_t line, const std::string& what) const {
    return Status::InvalidArgument(name_ + ", line " + std::to_string(line) + ": " + what);
  }
  void Fail(std::uint64_t line, const std::string& what) {
    if (!error_) error_ = At(line, what);
    XML_StopParser(parser_.get(), XML_FALSE);
  }
  [[nodiscard]] std::uint64_t Line() const { return XML_GetCurrentLineNumber(parser_.get()); }

  Status NotXml(const std::string& document) {
    // The parser stops inside the text that it cannot read.
    const std::size_t begin =
        document.rfind('<', static_cast<std::size_t>(XML_GetCurrentByteIndex(parser_.get())));
    if (begin != std::string::npos &&
        (document.compare(begin, 3, "<!D") == 0 || document.compare(begin, 3, "<!E") == 0))
      return At(Line(), "a declaration (document type, entity) is not allowed in a trickle");
    return At(Line(), std::string("not well-formed XML (") +
                          XML_ErrorString(XML_GetErrorCode(parser_.get())) +
                          "): the whole message is skipped; the application must send the message again");
  }

  void Open(const std::string& tag, const char** attributes) {
    if (error_) return;
    if (!Trimmed(text_).empty())
      return Fail(Line(), "text '" + Shortened(Trimmed(text_)) +
                              "' between elements; a trickle may only contain elements");
    text_.clear();
    if (!path_.empty()) path_.back().has_children = true;
    path_.push_back({.name = tag, .line = Line()});
    if (path_.size() > kDeepestTrickleElement + 1)
      return Fail(Line(), "elements nested deeper than " + std::to_string(kDeepestTrickleElement));
    if (++elements_ > kMaxTrickleElements + 1)
      return Fail(Line(), "more than " + std::to_string(kMaxTrickleElements) + " elements");
    for (; *attributes != nullptr; attributes += 2) {
      body_.others.push_back({.name = PathOf(path_.size()) + "@" + attributes[0],
                              .text = std::string(Trimmed(attributes[1])),
                              .line = Line()});
    }
  }

  void Close() {
    if (error_) return;
    const std::string text(Trimmed(text_));
    text_.clear();
    const Element element = path_.back();
    if (element.has_children || path_.size() == 1) {
      if (!text.empty())
        return Fail(Line(),
                    "text '" + Shortened(text) + "' between elements; a trickle may only contain elements");
    } else {
      Leaf(element, text);
    }
    path_.pop_back();
  }

  void Leaf(const Element& element, const std::string& text) {
    const auto known = KnownElements().find(element.name);
    if (known == KnownElements().end() || !MeansWhatItSays()) {
      body_.others.push_back({.name = PathOf(path_.size()), .text = text, .line = element.line});
      return;
    }
    const Known& field = known->second;
    const auto [first, is_first] = seen_.try_emplace(field.field, element);
    if (!is_first) {
      return Fail(element.line, "<" + element.name + "> and <" + first->second.name + "> in line " +
                                    std::to_string(first->second.line) +
                                    ", have the same meaning: remove one of them");
    }
    if (text.empty()) return;
    switch (field.kind) {
      case Kind::kName:
        if (text.size() > kLongestTrickleName)
          return Fail(element.line, "<" + element.name + "> is longer than " +
                                        std::to_string(kLongestTrickleName) + " bytes");
        [[fallthrough]];
      case Kind::kText: body_.*field.text = text; return;
      case Kind::kNumber:
        body_.*field.number = ParseTrickleNumber(text);
        if (!(body_.*field.number))
          Fail(element.line, "<" + element.name + "> is '" + Shortened(text) +
                                 "'; the value must be a finite number of at least 0");
        return;
      case Kind::kWhole: {
        std::uint64_t value = 0;
        const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
        if (end.ec != std::errc() || end.ptr != text.data() + text.size())
          return Fail(element.line, "<" + element.name + "> is '" + Shortened(text) +
                                        "'; the value must be a whole number");
        body_.*field.whole = value;
        return;
      }
    }
  }

  // The innermost element is at the top level, or at the top level of a wrapper.
  [[nodiscard]] bool MeansWhatItSays() const {
    if (path_.size() == 2) return true;
    return path_.size() == 3 &&
           std::find(kWrappers.begin(), kWrappers.end(), path_[1].name) != kWrappers.end();
  }

  // Path of the first `size` elements, without the added root and a wrapper.
  [[nodiscard]] std::string PathOf(std::size_t size) const {
    std::size_t begin = 1;
    if (size > 2 && std::find(kWrappers.begin(), kWrappers.end(), path_[1].name) != kWrappers.end())
      begin = 2;
    std::string path;
    for (std::size_t k = begin; k < size; ++k) path += (path.empty() ? "" : "/") + path_[k].name;
    return path;
  }

  static std::string Shortened(std::string_view text) {
    constexpr std::size_t kShown = 60;
    return std::string(text.substr(0, kShown)) + (text.size() > kShown ? "..." : "");
  }

  const std::string& name_;
  std::unique_ptr<std::remove_pointer_t<XML_Parser>, Free> parser_;
  std::vector<Element> path_;
  std::string text_;
  std::size_t elements_ = 0;
  std::map<std::string_view, Element> seen_;
  std::optional<Status> error_;
  TrickleBody body_;
};

}  // namespace

std::optional<double> ParseTrickleNumber(std::string_view text) {
  text = Trimmed(text);
  double value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

Result<TrickleBody> ParseTrickleBody(std::string_view xml, const std::string& name) {
  return BodyReader(name).Read(xml);
}

}  // namespace cobblestone::boinc
