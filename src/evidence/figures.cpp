#include "evidence/figures.h"

#include "evidence/card.h"

namespace picchio {

std::string_view name_of(Lane lane) {
  switch (lane) {
    case Lane::prefill:
      return "prefill";
    case Lane::decode:
      return "decode";
    case Lane::wallclock:
      return "wallclock";
  }
  return "?";
}

std::string_view name_of(Engagement engagement) {
  switch (engagement) {
    case Engagement::engaged:
      return "ENGAGED";
    case Engagement::partial:
      return "PARTIAL";
    case Engagement::not_engaged:
      return "NOT ENGAGED";
    case Engagement::no_evidence:
      return "NO EVIDENCE";
  }
  return "NO EVIDENCE";
}

std::optional<int> RunFigures::threads() const {
  return cold_pass && cold_pass->threads ? cold_pass->threads : cpu.threads;
}

std::string RunFigures::quant_label() const { return quant.empty() ? label_in_name(model) : quant; }

}  // namespace picchio
