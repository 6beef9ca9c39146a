// The events that a hub's answer gives: one for each project and plan class whose factor changes. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/model/model.h"
#include "common/wire/events/events.h"
#include "services/factors/hub_answer.h"

namespace cobblestone::factors {

// Factors outside are not applied: a scale of a GPU version beyond them is a mistake or a lie.
inline constexpr double kLeastFactor = 1e-4;
inline constexpr double kLargestFactor = 100;

// A project of this deployment, as committed.
struct ProjectFactors {
  struct InForce {
    double factor = 0;
    double time = 0;  // of the event that set it, UNIX s; 0: unknown
  };

  ProjectId project;
  double time = 0;  // event time of the project, UNIX s; 0: no tick has passed yet
  // GPU plan classes of the project's app versions. If versions of one class name several resources, the first.
  std::map<std::string, credit::Resource> classes;
  std::map<std::string, InForce> in_force;
};

struct FactorEvents {
  std::vector<wire::Event> events;    // by project and plan class
  std::vector<std::string> rejected;  // for the operator: which factors are not applied, and why
};

// An event has the time of the answer, but never a time after its project's: a factor must not move the event time of
// a project whose events arrive late. Its id is a hash of its contents, so an event that is sent again is an exact
// repeat, and is dropped. Nothing is sent:
// - for a project without event time; it grants nothing yet
// - for a factor that is in force already
// - if the factor in force is newer than the answer, for example set by the project itself
FactorEvents EventsOf(const HubAnswer& answer, const std::vector<ProjectFactors>& projects);

}  // namespace cobblestone::factors
