// The oracle's own reading of reversals and re-pricings (docs/rules.md, sections 47 to 51): which are taken, and what of. It believes what
// they say that a result had brought, as the pipeline must; what they should say is for the tests that make them. Inside
// tests/support only.
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
  std::uint64_t team = 0;  // whose credit it is; of an invalid result's first credit who hears it has to say
  std::int64_t micro = 0;  // more than before
  bool uncounts = false;
  bool recounts = false;
};

// What operators say of one job that runs: up to which sum of what it was paid an owner has lost it, by user and team.
class OracleJobReversals {
 public:
  // The reason of its refusal, or null, and what is taken now. `repriced`: how often the job was; `paid` and
  // `reversed`: to the user, and of that before.
  const char* Hear(const v1::Envelope& e, std::string_view bytes, std::size_t repriced, std::int64_t paid,
                   std::int64_t reversed, std::int64_t* micro);
  // Whether a price anew rests on what was taken; null: it does. Then, what was taken comes to other sums.
  const char* RestsOn(const v1::RepricedShare& share) const;
  void Reprice(const v1::RepricedShare& share);

 private:
  struct Said {
    std::int64_t up_to = 0;
    std::map<std::uint64_t, std::string> events;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, Said> said_;  // by user, team
};

class OracleCorrections {
 public:
  // The reason of its refusal, or null; a repeat has no effect: *taken is false.
  const char* Hear(const v1::Envelope& e, std::string_view bytes, CorrectionEffect* effect, bool* taken);

 private:
  const char* HearFirst(const v1::Envelope& e, std::string_view bytes, CorrectionEffect* effect, bool* taken);

  struct Chain {
    std::vector<std::pair<std::uint64_t, std::string>> events;  // id, bytes
    bool uncounted = false;
  };
  // By project, result, host, user, team.
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>, Chain>
      chains_;
};

const char* BadCorrection(const v1::Envelope& e);
const char* BadJobReversal(const v1::JobReversal& said);
const char* BadJobRepricing(const v1::JobRepricing& said);

}  // namespace cobblestone::testing
