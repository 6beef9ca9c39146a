// Marks: time as a watermark in the data. One stage of one partition makes them and writes each, in one commit, to every
// partition of the topic on which it controls all others (control) and of each topic that outsiders append to. A stage's
// partition has passed a mark when it has read it on all its inputs: then all that was appended before it has been
// processed here. It says so to every partition of the stage behind it, in line with its records (Passed), and that one has
// passed the mark when all have said so. So time never runs ahead of data, however long a partition was down.
//
// Outsiders may write what looks like a mark. Only numbers that control has announced count, and a number counts once. (One
// that is about to be announced can be anticipated, on one input of one partition; who takes events in refuses marks.)
//
// State: one row. Invariant: what is announced and has not passed is in `pending`, ascending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/status.h"
#include "common/stream/mark.h"
#include "common/stream/table.h"

namespace cobblestone::stream {

// An input that others append to, too.
struct OutsideMarks {
  std::uint64_t seen = 0;            // the last one that was announced
  std::vector<std::uint64_t> ahead;  // not announced yet, ascending

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.seen, s.ahead);
  }
};

struct MarkProgress {
  std::uint64_t control = 0;  // number of the last record of `control`
  std::uint64_t named = 0;    // the last one on which what came from upstream rests
  std::uint64_t passed = 0;   // marks that have passed
  std::vector<Mark> pending;
  std::vector<std::uint64_t> sources;  // the last mark of each partition upstream
  std::vector<OutsideMarks> outside;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.control, s.named, s.passed, s.pending, s.sources, s.outside);
  }
};

class Marks {
 public:
  // Numbers that are not announced yet and remembered, per input: more than any input is ever ahead of `control`. Of more
  // the smallest are, since those come first: then a mark passes with a later one.
  static constexpr std::size_t kMostAhead = 1000;

  // `sources`: partitions of the stage upstream; 0: there is none. `outside`: inputs that others append to.
  Marks(TableHost& host, std::uint8_t table, std::uint32_t sources, std::size_t outside);

  [[nodiscard]] TableBase* table() { return &rows_; }
  // State was loaded.
  void Opened();

  // The next record of `control`; `mark`: what it announces, or null. kCorrupted: one is missing, or came twice.
  Status OnControl(std::uint64_t number, const Mark* mark);
  // A mark on an input that others append to.
  void OnOutside(std::size_t input, std::uint64_t number);
  // It has a mark already that has not passed: what comes on it lies behind one that others have still before them.
  [[nodiscard]] bool Ahead(std::size_t input) const { return ahead_[input]; }
  // kCorrupted: there is no such partition.
  Status OnSource(const Passed& passed);

  // The first mark that has passed and was not given yet.
  std::optional<Mark> Next();

  // Nothing that came from upstream rests on a record of `control` that has not been read.
  [[nodiscard]] bool caught_up() const { return caught_up_; }
  [[nodiscard]] std::uint64_t passed();

 private:
  MarkProgress& Row();
  void Derive();

  Table<MarkProgress> rows_;
  std::uint32_t sources_;
  std::size_t outside_;
  bool caught_up_ = true;    // derived, as the next
  std::vector<bool> ahead_;  // by input that others append to
};

}  // namespace cobblestone::stream
