#include "evidence/plan.h"

#include <algorithm>
#include <array>

namespace picchio {
namespace {

// From best to worst: nobody's word is worse than a tight fit and better than none.
constexpr std::array kWorseAndWorse = {Fit::fits, Fit::tight, Fit::not_judged, Fit::not_fitting};

}  // namespace

std::string_view name_of(Fit fit) {
  switch (fit) {
    case Fit::fits:
      return "fits";
    case Fit::tight:
      return "tight";
    case Fit::not_fitting:
      return "does not fit";
    case Fit::not_judged:
      return "not judged";
  }
  return "?";
}

std::string_view name_of(ExtraRole role) { return role == ExtraRole::mmproj ? "mmproj" : "draft"; }

Fit worse(Fit a, Fit b) {
  return std::ranges::find(kWorseAndWorse, a) > std::ranges::find(kWorseAndWorse, b) ? a : b;
}

std::int64_t PlannedSetting::total() const {
  std::int64_t sum = host.total();
  for (const PlannedMemory& device : devices) sum += device.total();
  return sum;
}

}  // namespace picchio
