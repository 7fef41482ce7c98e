// What a shell reads as one word.
#pragma once

#include <string>
#include <string_view>

namespace picchio {

/// `text` as bash, zsh and ksh read it back byte by byte, in printable ASCII: bare, in '...', or in
/// $'...' where it holds control bytes or anything that is no ASCII. Fit for a terminal.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace picchio
