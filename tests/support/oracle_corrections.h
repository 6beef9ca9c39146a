// The oracle's own implementation of reversals and repricings (docs/rules.md, sections 47 to 51): which are accepted,
// and their effect. Like the pipeline, it does not check the previous credit in a correction; tests that create
// corrections check it. Inside tests/support only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "schemas/events.pb.h"

namespace cobblestone::testing {

struct CorrectionEffect {
  v1::LedgerEntry entry;
  std::uint64_t result = 0;
  std::uint64_t team = 0;  // of the credit; the caller sets it for an invalid result's first credit
  std::int64_t micro = 0;  // change of the credit
  bool uncounts = false;
  bool recounts = false;
};

// Reversals of a running job's payments: the sum up to which an owner's payments are reversed, by user and team.
class OracleJobReversals {
 public:
  // Returns the reason of the refusal, or null, and the newly reversed amount. `repriced`: how often the job was
  // repriced; `paid` and `reversed`: the sums for the user so far.
  const char* Apply(const v1::Envelope& e, std::string_view bytes, std::size_t repriced, std::int64_t paid,
                    std::int64_t reversed, std::int64_t* micro);
  // RestsOn: whether a repricing is based on the current reversed sum; null: it is. Reprice: replaces the reversed
  // sum by the repriced one.
  const char* RestsOn(const v1::RepricedShare& share) const;
  void Reprice(const v1::RepricedShare& share);

 private:
  struct Reversals {
    std::int64_t up_to = 0;
    std::map<std::uint64_t, std::string> events;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, Reversals> reversals_;  // by user, team
};

class OracleCorrections {
 public:
  // Returns the reason of the refusal, or null. A repeat has no effect: *applied is false.
  const char* Apply(const v1::Envelope& e, std::string_view bytes, CorrectionEffect* effect, bool* applied);

 private:
  const char* ApplyFirst(const v1::Envelope& e, std::string_view bytes, CorrectionEffect* effect,
                         bool* applied);

  struct Chain {
    std::vector<std::pair<std::uint64_t, std::string>> events;  // id, bytes
    bool uncounted = false;
  };
  // By project, result, host, user, team.
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>, Chain>
      chains_;
};

const char* BadCorrection(const v1::Envelope& e);
const char* BadJobReversal(const v1::JobReversal& event);
const char* BadJobRepricing(const v1::JobRepricing& event);

}  // namespace cobblestone::testing
