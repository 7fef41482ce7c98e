#include "gguf/types.h"

#include "base/text.h"

#include <algorithm>
#include <iterator>

namespace picchio::gguf {
namespace {

// Removed ids keep their row, so that a message can name what the file holds. q4_0_N_M and
// iq4_nl_N_M were files of rows interleaved for one CPU: the blocks of q4_0 and iq4_nl in another
// order, of the same weight. q4_2 and q4_3 went before GGUF came.
constexpr TensorType kTensorTypes[] = {
    {0, "f32", 1, 4, 0},
    {1, "f16", 1, 2, 1},
    {2, "q4_0", 32, 18, 2},
    {3, "q4_1", 32, 20, 3},
    {4, "q4_2", 0, 0, std::nullopt, true},
    {5, "q4_3", 0, 0, std::nullopt, true},
    {6, "q5_0", 32, 22, 8},
    {7, "q5_1", 32, 24, 9},
    {8, "q8_0", 32, 34, 7},
    {9, "q8_1", 32, 36},
    {10, "q2_K", 256, 84, 10},
    {11, "q3_K", 256, 110, 12},
    {12, "q4_K", 256, 144, 15},
    {13, "q5_K", 256, 176, 17},
    {14, "q6_K", 256, 210, 18},
    {15, "q8_K", 256, 292},
    {16, "iq2_xxs", 256, 66, 19},
    {17, "iq2_xs", 256, 74, 20},
    {18, "iq3_xxs", 256, 98, 23},
    {19, "iq1_s", 256, 50, 24},
    {20, "iq4_nl", 32, 18, 25},
    {21, "iq3_s", 256, 110, 26},
    {22, "iq2_s", 256, 82, 28},
    {23, "iq4_xs", 256, 136, 30},
    {24, "i8", 1, 1},
    {25, "i16", 1, 2},
    {26, "i32", 1, 4},
    {27, "i64", 1, 8},
    {28, "f64", 1, 8},
    {29, "iq1_m", 256, 56, 31},
    {30, "bf16", 1, 2, 32},
    {31, "q4_0_4_4", 32, 18, std::nullopt, true},
    {32, "q4_0_4_8", 32, 18, std::nullopt, true},
    {33, "q4_0_8_8", 32, 18, std::nullopt, true},
    {34, "tq1_0", 256, 54, 36},
    {35, "tq2_0", 256, 66, 37},
    {36, "iq4_nl_4_4", 32, 18, std::nullopt, true},
    {37, "iq4_nl_4_8", 32, 18, std::nullopt, true},
    {38, "iq4_nl_8_8", 32, 18, std::nullopt, true},
    {39, "mxfp4", 32, 17, 38},
    {40, "nvfp4", 64, 36, 39},
    {41, "q1_0", 128, 18, 40},
    {42, "q2_0", 64, 18, 41},
};

constexpr bool ids_are_indices() {
  for (std::uint32_t i = 0; i < std::size(kTensorTypes); ++i) {
    if (kTensorTypes[i].id != i) return false;
  }
  return true;
}
static_assert(ids_are_indices(), "tensor_type() looks an id up by its place");

struct FileType {
  std::int64_t id;
  std::string_view words;
};

// llama.cpp 0.7.0 (build 11669). 4 to 6 and 33 to 35 named types that are gone.
constexpr FileType kFileTypes[] = {
    {0, "all F32"},
    {1, "F16"},
    {2, "Q4_0"},
    {3, "Q4_1"},
    {7, "Q8_0"},
    {8, "Q5_0"},
    {9, "Q5_1"},
    {10, "Q2_K - Medium"},
    {11, "Q3_K - Small"},
    {12, "Q3_K - Medium"},
    {13, "Q3_K - Large"},
    {14, "Q4_K - Small"},
    {15, "Q4_K - Medium"},
    {16, "Q5_K - Small"},
    {17, "Q5_K - Medium"},
    {18, "Q6_K"},
    {19, "IQ2_XXS - 2.0625 bpw"},
    {20, "IQ2_XS - 2.3125 bpw"},
    {21, "Q2_K - Small"},
    {22, "IQ3_XS - 3.3 bpw"},
    {23, "IQ3_XXS - 3.0625 bpw"},
    {24, "IQ1_S - 1.5625 bpw"},
    {25, "IQ4_NL - 4.5 bpw"},
    {26, "IQ3_S - 3.4375 bpw"},
    {27, "IQ3_S mix - 3.66 bpw"},
    {28, "IQ2_S - 2.5 bpw"},
    {29, "IQ2_M - 2.7 bpw"},
    {30, "IQ4_XS - 4.25 bpw"},
    {31, "IQ1_M - 1.75 bpw"},
    {32, "BF16"},
    {36, "TQ1_0 - 1.69 bpw ternary"},
    {37, "TQ2_0 - 2.06 bpw ternary"},
    {38, "MXFP4 MoE"},
    {39, "NVFP4"},
    {40, "Q1_0"},
    {41, "Q2_0"},
};

}  // namespace

const TensorType* tensor_type(std::uint32_t id) {
  return id < std::size(kTensorTypes) ? &kTensorTypes[id] : nullptr;
}

const TensorType* tensor_type(std::string_view name) {
  const std::string wanted = lower(name);
  // Names of the table are in lower case but for the K of k-quants.
  const auto lower_case = [](char c) { return c == 'K' ? 'k' : c; };
  const auto* row = std::ranges::find_if(kTensorTypes, [&](const TensorType& type) {
    return std::ranges::equal(type.name, wanted, {}, lower_case);
  });
  return row != std::end(kTensorTypes) ? row : nullptr;
}

std::optional<std::int64_t> file_type_guess(std::string_view type) {
  const auto* row = std::ranges::find(kTensorTypes, type, &TensorType::name);
  return row != std::end(kTensorTypes) ? row->file_type : std::nullopt;
}

std::string file_type_words(std::int64_t file_type) {
  if ((file_type & kGuessedFileType) != 0) {
    return "(guessed) " + file_type_words(file_type & ~kGuessedFileType);
  }
  const auto* row = std::ranges::find(kFileTypes, file_type, &FileType::id);
  return std::string(row != std::end(kFileTypes) ? row->words : "unknown, may not work");
}

}  // namespace picchio::gguf
