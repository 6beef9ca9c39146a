// Parses one row of JSON into a struct by a table of its columns. Builds no tree of values, because a project
// has millions of rows. Columns outside the table are skipped.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace cobblestone::exports {

template <class Row>
struct Column {
  std::string_view name;
  std::variant<std::int64_t Row::*, double Row::*, std::string Row::*, std::optional<std::string> Row::*>
      field;
  bool needed = true;  // if false, an absent column is read as 0 or the empty text
};

// Fills `row`. Returns "" on success, else the problem: not JSON, a missing column, or a column of another
// type. SQL NULL becomes the empty text, or nullopt if the field is optional.
template <class Row, std::size_t N>
std::string ReadJsonRow(std::string_view text, const std::array<Column<Row>, N>& columns, Row* row);

// Callbacks for nlohmann's SAX parser.
template <class Row, std::size_t N>
class JsonRowReader {
 public:
  using Json = nlohmann::json;

  JsonRowReader(const std::array<Column<Row>, N>& columns, Row* row) : columns_(columns), row_(*row) {}

  bool null() {
    if (depth_ == 1 && column_ && !columns_[*column_].needed) return true;  // same as absent
    return Value("null", [&](auto& field) {
      using Field = std::decay_t<decltype(field)>;
      if constexpr (std::is_same_v<Field, std::string>) {
        field.clear();
        return true;
      } else if constexpr (std::is_same_v<Field, std::optional<std::string>>) {
        field.reset();
        return true;
      }
      return false;
    });
  }
  bool boolean(bool) {
    return Value("true or false", [](auto&) { return false; });
  }
  bool number_integer(Json::number_integer_t value) {
    return Value("a whole number", [&](auto& field) {
      using Field = std::decay_t<decltype(field)>;
      if constexpr (std::is_same_v<Field, std::int64_t>) {
        field = value;
        return true;
      } else if constexpr (std::is_same_v<Field, double>) {
        // Only negative texts arrive here, so 0 is "-0", and its sign is printed.
        field = value == 0 ? -0.0 : static_cast<double>(value);
        return true;
      }
      return false;
    });
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    return Value("a number of this size", [&](auto& field) {
      using Field = std::decay_t<decltype(field)>;
      if constexpr (std::is_same_v<Field, std::int64_t>) {
        field = static_cast<std::int64_t>(value);
        return value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      } else if constexpr (std::is_same_v<Field, double>) {
        field = static_cast<double>(value);
        return true;
      }
      return false;
    });
  }
  bool number_float(Json::number_float_t value, const Json::string_t&) {
    return Value("a number with a fraction", [&](auto& field) {
      using Field = std::decay_t<decltype(field)>;
      if constexpr (std::is_same_v<Field, double>) {
        field = value;
        return true;
      }
      return false;
    });
  }
  bool string(Json::string_t& value) {
    return Value("text", [&](auto& field) {
      using Field = std::decay_t<decltype(field)>;
      if constexpr (std::is_same_v<Field, std::string>) {
        field.swap(value);
        return true;
      } else if constexpr (std::is_same_v<Field, std::optional<std::string>>) {
        field = value;
        return true;
      }
      return false;
    });
  }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return Open("an object"); }
  bool start_array(std::size_t) { return Open("an array"); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool key(Json::string_t& name) {
    if (depth_ > 1) return true;
    // Rows usually have their columns in the same order.
    for (std::size_t tried = 0; tried < N; ++tried, next_ = (next_ + 1) % N) {
      if (columns_[next_].name == name) {
        column_ = next_;
        next_ = (next_ + 1) % N;
        return true;
      }
    }
    column_.reset();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) {
    const std::string_view what = error.what();
    // The library's message begins with "[json.exception.parse_error.101] ", which is of no use to an operator.
    error_ = "the row is not JSON (byte " + std::to_string(position) + "): " +
             std::string(what.substr(what.find("] ") == std::string_view::npos ? 0 : what.find("] ") + 2));
    return false;
  }

  std::string Finish(bool parsed) {
    if (!error_.empty()) return error_;
    if (!parsed) return "the row is not JSON";
    for (std::size_t i = 0; i < N; ++i) {
      if (seen_[i]) continue;
      if (columns_[i].needed) return "the row has no '" + std::string(columns_[i].name) + "'";
      std::visit([&](auto member) { row_.*member = {}; }, columns_[i].field);
    }
    return "";
  }

 private:
  template <class Set>
  bool Value(const char* kind, Set set) {
    if (depth_ != 1 || !column_) return true;
    const Column<Row>& column = columns_[*column_];
    if (!std::visit([&](auto member) { return set(row_.*member); }, column.field)) {
      error_ = "'" + std::string(column.name) + "' cannot be " + kind;
      return false;
    }
    seen_[*column_] = true;
    return true;
  }
  bool Open(const char* kind) {
    const bool good = depth_ == 0 || Value(kind, [](auto&) { return false; });
    ++depth_;
    return good;
  }
  bool Close() {
    --depth_;
    return true;
  }

  const std::array<Column<Row>, N>& columns_;
  Row& row_;
  int depth_ = 0;
  std::size_t next_ = 0;
  std::optional<std::size_t> column_;
  std::bitset<N> seen_;
  std::string error_;
};

template <class Row, std::size_t N>
std::string ReadJsonRow(std::string_view text, const std::array<Column<Row>, N>& columns, Row* row) {
  JsonRowReader<Row, N> reader(columns, row);
  return reader.Finish(nlohmann::json::sax_parse(text.begin(), text.end(), &reader));
}

}  // namespace cobblestone::exports
