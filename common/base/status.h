// Status: an environment error, named by the reaction that the caller must take. Refused input is not an
// error but data (schemas/internal.proto, RefusalReason).
#pragma once

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "common/base/check.h"

namespace cobblestone {

enum class StatusCode {
  kOk,
  kRetry,            // transient: the same call may succeed later
  kFenced,           // another owner has taken over: stop and apply nothing
  kCorrupted,        // stored bytes are damaged: stop, the operator decides
  kFull,             // the disk is full: as kFatal, and the operator must free space before the restart
  kFatal,            // this process cannot continue; a restart may help
  kInvalidArgument,  // the caller (a person) must change the request
  kNotFound,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return {}; }
  static Status Retry(std::string m) { return {StatusCode::kRetry, std::move(m)}; }
  static Status Fenced(std::string m) { return {StatusCode::kFenced, std::move(m)}; }
  static Status Corrupted(std::string m) { return {StatusCode::kCorrupted, std::move(m)}; }
  static Status Full(std::string m) { return {StatusCode::kFull, std::move(m)}; }
  static Status Fatal(std::string m) { return {StatusCode::kFatal, std::move(m)}; }
  // Maps errno of a failed write or creation to kFull or kFatal.
  static Status Unwritten(int error, std::string m) {
    return {error == ENOSPC || error == EDQUOT ? StatusCode::kFull : StatusCode::kFatal, std::move(m)};
  }
  static Status InvalidArgument(std::string m) { return {StatusCode::kInvalidArgument, std::move(m)}; }
  static Status NotFound(std::string m) { return {StatusCode::kNotFound, std::move(m)}; }

  [[nodiscard]] bool ok() const { return code_ == StatusCode::kOk; }
  [[nodiscard]] StatusCode code() const { return code_; }
  // For an operator: what happened, to what, and what to do.
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

// A value, or the status that explains why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    COBBLESTONE_CHECK(!status_.ok(), "a Result without a value must have an error");
  }

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] const Status& status() const { return status_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace cobblestone
