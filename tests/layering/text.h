// Reads C++ and CMake text as far as the rules need: without preprocessor, macros and conditions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cobblestone::layering {

// The text with comments and the contents of string and character literals blanked, and line breaks kept. A match
// in this text is code, and has its line of the file. Include directives keep their path.
std::string CodeOnly(std::string_view text);

// The comments and string literals of C++: code becomes ';', comment marks and quotes become blanks, and line breaks stay. A
// literal without a blank is a name and becomes ';' too. So a sentence in adjacent comment lines or literals is one text.
std::string ProseOnly(std::string_view text);

// A document without fenced blocks and code spans, which contain neither links nor prose; with the same lines.
std::string WithoutCode(const std::string& text);

struct Include {
  int line;          // from 1
  std::string path;  // as written, without quotes or brackets
  bool quoted;       // "path", not <path>
};
std::vector<Include> IncludesOf(std::string_view text);

struct CMakeCall {
  int line;  // of the name, from 1
  std::string name;
  std::vector<std::string> arguments;  // quotes removed; parentheses inside dropped
};
// In order of the text. An argument with ${x} occurs once for each value that set(x ...) or foreach(x ...) above
// gives to x, as if loops were unrolled; a variable that the text does not set stays unchanged.
std::vector<CMakeCall> CMakeCallsOf(std::string_view text);

// The line, from 1, of a position in the text.
int LineOf(std::string_view text, size_t position);

}  // namespace cobblestone::layering
