#include "services/ledger/state_snapshot.h"

#include <utility>

#include "common/wire/control/topics.h"

namespace cobblestone::ledger {
namespace {

using view::Stage;

std::uint64_t PlaceIn(view::State& state, Stage stage, std::uint32_t partition, const stream::SlotMeta& meta,
                      stream::TopicIndex topic) {
  const auto inputs = state.InputsOf(stage, partition);
  for (std::size_t i = 0; i < inputs.size() && i < meta.next.size(); ++i)
    if (inputs[i].topic == topic) return meta.next[i];
  return 0;  // the stage has executed nothing yet
}

}  // namespace

Result<StateSnapshot> StateSnapshot::Take(view::State& state) {
  StateSnapshot snapshot;
  const auto hold = [&](Stage stage, std::uint32_t k, RowsOf& rows) {
    auto of = state.Of(stage, k);
    if (!of.ok()) return of.status();
    rows.push_back(std::move(*of));
    return Status::Ok();
  };
  auto coordinator = state.Of(Stage::kCoordinator, 0);
  if (!coordinator.ok()) return coordinator.status();
  snapshot.coordinator = std::move(*coordinator);
  // Holds all rows before it reads any, so that all are of nearly the same time.
  for (std::uint32_t k = 0; k < state.partitions(); ++k) {
    Status s = hold(Stage::kClaims, k, snapshot.claims);
    if (s.ok()) s = hold(Stage::kAccounts, k, snapshot.accounts);
    if (s.ok()) s = hold(Stage::kTeams, k, snapshot.teams);
    if (!s.ok()) return s;
  }
  for (std::uint32_t k = 0; k < state.partitions(); ++k) {
    const auto accounts = snapshot.accounts[k]->Meta();
    if (!accounts.ok()) return accounts.status();
    const auto teams = snapshot.teams[k]->Meta();
    if (!teams.ok()) return teams.status();
    const auto grants = PlaceIn(state, Stage::kAccounts, k, *accounts, wire::kGrants);
    const auto postings = PlaceIn(state, Stage::kTeams, k, *teams, wire::kPostings);
    snapshot.commits.push_back(accounts->sequence);
    snapshot.places.grants.push_back(grants);
    snapshot.places.postings.push_back(postings);
  }
  return snapshot;
}

}  // namespace cobblestone::ledger
