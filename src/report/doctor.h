// What `picchio doctor` prints. Pure; all text from outside is made plain.
#pragma once

#include "evidence/checkup.h"
#include "evidence/examination.h"

#include <string>

namespace picchio {

/// Plain ASCII of at most 80 columns but for colours: a line or more for each link, then the first
/// broken one with its remedy, or the warnings' remedies, and the summary.
[[nodiscard]] std::string doctor_text(const Examination& examination, bool colour);
/// Schema "picchio.doctor.v1".
[[nodiscard]] std::string doctor_json(const Checkup& checkup, const Examination& examination);

}  // namespace picchio
