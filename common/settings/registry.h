// The options of a configuration file: target, range and reason of each. The parser, the messages,
// DescribeOptions() and config/default.yaml are derived from this list. Internal to common/settings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "common/settings/quantity.h"
#include "common/settings/run_settings.h"

namespace cobblestone::settings {

// A place in RunSettings, by its type.
using Target = std::variant<Duration*, std::uint64_t*, std::uint32_t*, bool*, std::string*, Role*, Backend*,
                            Ticks*, Order*, LogLevel*, LogFormat*, KafkaSecurity*, KafkaMechanism*,
                            KafkaStandby*, KafkaMembership*, KafkaSlots*, StageSet*, AnonymousRole*,
                            AccountsVisible*, GatewayFollow*, std::vector<IpNetwork>*>;

enum class Kind : std::uint8_t { kQuantity, kFlag, kText, kChoice, kSet, kNetworks };

struct Option {
  std::string_view key;  // path with dots
  Target (*target)(RunSettings&);
  Kind kind;
  std::string_view reason;               // one line: the effect, and the reason to change it
  Quantity quantity = Quantity::kCount;  // kQuantity only, as the next two: base units, both inclusive
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::span<const std::string_view> choices{};  // kChoice, kSet: by number of the enum
  std::string_view text_allowed{};              // kText: the permitted values, in words
  bool may_be_empty = false;                    // kText
};

// In the order of the file: options of one group are adjacent.
std::span<const Option> Options();

inline constexpr std::string_view kProjectsKey = "projects";
inline constexpr std::string_view kProjectsReason =
    "names of projects, and quotas instead of those above: a list of {id, name, events_per_second, "
    "bytes_per_second}, with or without quotas; with role: hub also {url, statistics, fetch_time}, which "
    "`cobblestone hub collect` fetches, and {ownership_key, points_per_cobblestone, points_since, erase_after, "
    "shared_accounts, account_manager}; hub_project is the hub's number of a project that is pushed to hub.url; events may have other projects";

// The permitted values of the option: "a duration from 1 ms to 1 s, such as 5 ms".
std::string Allowed(const Option& option);

// The value as written in a file.
std::string ValueText(const Option& option, const RunSettings& settings);

// Sets the option from text; a list is comma-separated, with or without brackets. kInvalidArgument: the
// message is a sentence fragment with the error.
Status SetFromText(const Option& option, std::string_view text, RunSettings& settings);

// The known word that is most similar; empty when none is similar.
std::string_view Nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace cobblestone::settings
