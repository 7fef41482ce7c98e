// A run as people quote it: one line, a row of a Markdown table, the skeleton of a post. Pure.
//
// Nothing is guessed and nothing is left out: what is not known is "n/a", and what a lane read but
// does not count is "abstain".
#pragma once

#include "base/result.h"
#include "evidence/figures.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace picchio::results {

/// What the header of the run's model file tells. Strings are untrusted.
struct SharedFile {
  std::string name;               // without its folder
  std::string quant;              // the header's label, else the name's; empty: neither has one
  std::string sha256;             // 64 digits; empty: not computed, or the file has shards
  std::int64_t tensor_bytes = 0;  // of all shards
  std::int64_t file_bytes = 0;    // ditto
  std::int64_t parameters = 0;    // of all tensors
  std::optional<double> bits_per_weight;
};

struct SharedRun {
  RunFigures figures;
  std::optional<SharedFile> file;
  /// verify() finds that its figures cannot all be true: its verdict is not quoted without saying
  /// so.
  bool contradicted = false;
  /// The lines of its block, as a file holds them or as PastedBlock::lines; empty: there is none.
  std::vector<std::string> block;
};

/// Whether `file` can be what `run` measured: an error says by which figure it cannot. Bytes decide
/// and then parameters, as exact as blocks print them; of a run that tells neither, the name has
/// to.
[[nodiscard]] Result<> is_file_of(const SharedFile& file, const RunFigures& run);

/// What a model file would fill in and is missing: "bits per weight", "sha256", "quant".
[[nodiscard]] std::vector<std::string> missing_of_file(const SharedRun& run);

/// Parts joined by " | ", each inert in Markdown. Ends in LF, as all of these.
[[nodiscard]] std::string share_line(const SharedRun& run);

/// The head and one row; without the head to add to a table.
[[nodiscard]] std::string share_row(const SharedRun& run, bool with_head);

/// Markdown. What only its author can say is "____".
[[nodiscard]] std::string share_post(const SharedRun& run);

}  // namespace picchio::results
