#include "tests/layering/text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <utility>

namespace cobblestone::layering {
namespace {

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Blanks [from, to) except line breaks.
void Blank(std::string& text, size_t from, size_t to) {
  for (size_t i = from; i < std::min(to, text.size()); ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

size_t EndOr(std::string_view text, size_t position) {
  return position == std::string_view::npos ? text.size() : position;
}

// The position after the closing quote of the literal that opens at `open`.
size_t EndOfLiteral(std::string_view text, size_t open) {
  for (size_t i = open + 1; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[open]) {
      return i + 1;
    }
  }
  return EndOr(text, text.find('\n', open));
}

bool OpensRawString(std::string_view text, size_t quote) {
  return quote > 0 && text[quote - 1] == 'R' && (quote < 2 || !IsWordCharacter(text[quote - 2]));
}

size_t EndOfRawString(std::string_view text, size_t quote) {
  const size_t parenthesis = EndOr(text, text.find('(', quote));
  const std::string close = ")" + std::string(text.substr(quote + 1, parenthesis - quote - 1)) + "\"";
  const size_t end = text.find(close, parenthesis);
  return end == std::string_view::npos ? text.size() : end + close.size();
}

bool OnIncludeLine(std::string_view text, size_t position) {
  const size_t start =
      text.rfind('\n', position) == std::string_view::npos ? 0 : text.rfind('\n', position) + 1;
  const std::string_view line = text.substr(start, position - start);
  const size_t hash = line.find_first_not_of(" \t");
  return hash != std::string_view::npos && line[hash] == '#' &&
         line.find("include") != std::string_view::npos;
}

using Variables = std::map<std::string, std::vector<std::string>>;

std::vector<std::string> Expand(const std::string& argument, const Variables& variables) {
  const size_t open = argument.find("${");
  const size_t close = open == std::string::npos ? open : argument.find('}', open);
  if (close == std::string::npos) return {argument};
  const auto values = variables.find(argument.substr(open + 2, close - open - 2));
  if (values == variables.end()) return {argument};
  std::vector<std::string> expanded;
  for (const std::string& value : values->second) {
    // The rest may contain further variables; the value itself was expanded when it was set.
    for (const std::string& rest : Expand(argument.substr(close + 1), variables)) {
      expanded.push_back(argument.substr(0, open));
      expanded.back().append(value).append(rest);
    }
  }
  return expanded;
}

// set(x a b), foreach(x a b), foreach(x IN ITEMS a b), foreach(x IN LISTS other)
void Remember(const CMakeCall& call, Variables& variables) {
  const std::vector<std::string>& arguments = call.arguments;
  if ((call.name != "set" && call.name != "foreach") || arguments.empty()) return;
  size_t first = 1;
  const bool in = call.name == "foreach" && arguments.size() > 2 && arguments[1] == "IN";
  if (in) first = 3;
  std::vector<std::string> values;
  for (size_t i = first; i < arguments.size(); ++i) {
    if (in && arguments[2] == "LISTS" && variables.contains(arguments[i])) {
      const std::vector<std::string>& list = variables.at(arguments[i]);
      values.insert(values.end(), list.begin(), list.end());
    } else {
      values.push_back(arguments[i]);
    }
  }
  variables[arguments[0]] = std::move(values);
}

void ExpandVariables(std::vector<CMakeCall>& calls) {
  Variables variables;
  for (CMakeCall& call : calls) {
    std::vector<std::string> expanded;
    for (const std::string& argument : call.arguments) {
      for (std::string& value : Expand(argument, variables)) expanded.push_back(std::move(value));
    }
    call.arguments = std::move(expanded);
    Remember(call, variables);
  }
}

}  // namespace

std::string CodeOnly(std::string_view text) {
  std::string code(text);
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (text.substr(i, 2) == "//") {
      end = EndOr(text, text.find('\n', i));
      Blank(code, i, end);
    } else if (text.substr(i, 2) == "/*") {
      const size_t close = text.find("*/", i + 2);
      end = close == std::string_view::npos ? text.size() : close + 2;
      Blank(code, i, end);
    } else if (text[i] == '"' && OpensRawString(text, i)) {
      end = EndOfRawString(text, i);
      Blank(code, i + 1, end - 1);
    } else if (text[i] == '"') {
      end = EndOfLiteral(text, i);
      if (!OnIncludeLine(text, i)) Blank(code, i + 1, end - 1);
    } else if (text[i] == '\'' && (i == 0 || !IsWordCharacter(text[i - 1]))) {
      // Not after a word: there the quote separates digits, as in 1'000.
      end = EndOfLiteral(text, i);
      Blank(code, i + 1, end - 1);
    }
    i = end;
  }
  return code;
}

std::string ProseOnly(std::string_view text) {
  const std::string code = CodeOnly(text);
  std::string prose(text);
  for (size_t i = 0; i < text.size();) {
    const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    size_t end = i + 1;
    if (code[i] == '"') {
      end = EndOr(code, code.find('"', i + 1));
      const std::string_view literal = text.substr(i + 1, end - i - 1);
      if (std::none_of(literal.begin(), literal.end(), blank))
        prose.replace(i + 1, literal.size(), literal.size(), ';');
      prose[i] = ' ';
      if (end < prose.size()) prose[end++] = ' ';
    } else if (!blank(code[i])) {
      prose[i] = ';';
    } else if (text[i] == '/' || text[i] == '*') {
      prose[i] = ' ';
    }
    i = end;
  }
  return prose;
}

std::string WithoutCode(const std::string& text) {
  static const std::regex kSpan("`[^`\n]*`");
  std::string kept;
  bool fenced = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    std::string line = text.substr(at, end - at);
    at = end;
    const size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos && line.compare(first, 3, "```") == 0) {
      fenced = !fenced;
      line = "\n";
    }
    kept += fenced ? "\n" : std::regex_replace(line, kSpan, "``");
  }
  return kept;
}

std::vector<Include> IncludesOf(std::string_view text) {
  const std::string code = CodeOnly(text);
  std::vector<Include> includes;
  int line = 0;
  for (size_t start = 0; start < code.size();) {
    const size_t end = EndOr(code, code.find('\n', start));
    std::string_view rest = std::string_view(code).substr(start, end - start);
    ++line;
    start = end + 1;
    const auto skip = [&rest](std::string_view word) {
      rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \t")));
      if (!rest.starts_with(word)) return false;
      rest.remove_prefix(word.size());
      return true;
    };
    if (!skip("#") || !skip("include") || !skip("")) continue;
    if (rest.empty() || (rest[0] != '"' && rest[0] != '<')) continue;
    const bool quoted = rest[0] == '"';
    const size_t close = rest.find(quoted ? '"' : '>', 1);
    if (close == std::string_view::npos) continue;
    includes.push_back({.line = line, .path = std::string(rest.substr(1, close - 1)), .quoted = quoted});
  }
  return includes;
}

std::vector<CMakeCall> CMakeCallsOf(std::string_view text) {
  std::vector<CMakeCall> calls;
  std::string word;
  int word_line = 1;
  int line = 1;
  int depth = 0;
  const auto end_word = [&] {
    if (depth > 0 && !word.empty()) calls.back().arguments.push_back(word);
    if (depth > 0) word.clear();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '#') {
      end_word();
      i = EndOr(text, text.find('\n', i)) - 1;
    } else if (c == '"') {
      const size_t close = std::min(text.find('"', i + 1), text.size());
      word.append(text.substr(i + 1, close - i - 1));
      line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(i),
                                          text.begin() + static_cast<std::ptrdiff_t>(close), '\n'));
      i = close;
    } else if (c == '(') {
      if (depth == 0) calls.push_back({.line = word_line, .name = word, .arguments = {}});
      if (depth == 0) word.clear();
      end_word();
      ++depth;
    } else if (c == ')') {
      end_word();
      depth = std::max(0, depth - 1);
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      end_word();
      if (c == '\n') ++line;
    } else {
      if (depth == 0 && i > 0 && std::isspace(static_cast<unsigned char>(text[i - 1])) != 0) word.clear();
      if (word.empty()) word_line = line;
      word.push_back(c);
    }
  }
  ExpandVariables(calls);
  return calls;
}

int LineOf(std::string_view text, size_t position) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(position, text.size()));
  return 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
}

}  // namespace cobblestone::layering
