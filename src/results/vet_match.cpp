#include "results/vet_kinds.h"
#include "results/vet_patterns.h"

#include <algorithm>

namespace picchio::results {
namespace {

/// Whether `word` is one of "ctx|context|<n>".
bool is_one_of(std::string_view alternatives, const PostWord& word) {
  while (!alternatives.empty()) {
    const std::size_t bar = alternatives.find('|');
    const std::string_view each = alternatives.substr(0, bar);
    if (each.starts_with('<') ? is_kind(each, word) : !word.figure && each == word.text)
      return true;
    if (bar == std::string_view::npos) return false;
    alternatives.remove_prefix(bar + 1);
  }
  return false;
}

bool is_filling(const PostWord& word) {
  return is_in(
             "of|is|at|to|was|set|size|length|window|limit|about|around|approx|the|with|up|by|on|"
             "type|are|in|a|=|roughly|only|cache|quant|as|over|my|max|used|value|version|n|from",
             word.text) &&
         !word.figure;
}

/// Where a pattern stands in the post while it is matched.
struct Place {
  std::size_t at = 0;
  bool joined = true;  // the word before was one that wants another ("context of")
};

/// Whether the word at `place` may go on with what stands before it: a number of the next line
/// belongs to the next thing, unless a filling word waits for it.
bool may_go_on(const Post& post, std::size_t begin, const Place& place) {
  if (place.at == begin) return true;
  if (place.at >= post.words.size()) return false;
  const PostWord& word = post.words[place.at];
  if (word.before == Break::sentence) return false;
  return word.before == Break::none || place.joined || !word.number;
}

bool match_from(const Post& post, std::size_t begin, Place place, std::string_view elements,
                std::size_t& end) {
  if (elements.empty()) {
    end = place.at;
    return true;
  }
  const std::size_t blank = elements.find(' ');
  std::string_view element = elements.substr(0, blank);
  const std::string_view rest =
      blank == std::string_view::npos ? std::string_view() : elements.substr(blank + 1);
  if (element == "~") {
    constexpr std::size_t kMostFilling = 3;
    for (std::size_t filled = 0;; ++filled) {
      if (match_from(post, begin, place, rest, end)) return true;
      if (filled == kMostFilling || !may_go_on(post, begin, place)) return false;
      if (!is_filling(post.words[place.at])) return false;
      place = {place.at + 1, true};
    }
  }
  // Nothing behind it, or what cannot belong to it.
  if (element == "<clauseend>" &&
      (place.at >= post.words.size() || post.words[place.at].before != Break::none ||
       ends_clause(post.words[place.at]))) {
    return match_from(post, begin, place, rest, end);
  }
  const bool optional = element.ends_with('?');
  if (optional) element.remove_suffix(1);
  const bool here = place.at < post.words.size() && may_go_on(post, begin, place) &&
                    is_one_of(element, post.words[place.at]);
  if (here && match_from(post, begin, {place.at + 1, false}, rest, end)) return true;
  return optional && match_from(post, begin, place, rest, end);
}

/// Whether one of `list` stands in [from, to), in the sentence of `home`.
bool stands_in(const Post& post, std::string_view list, std::size_t from, std::size_t to,
               std::size_t home) {
  const std::size_t sentence = post.words[home].sentence;
  for (std::size_t i = from; i < std::min(to, post.words.size()); ++i) {
    if (post.words[i].sentence == sentence && is_one_of(list, post.words[i])) return true;
  }
  return false;
}

}  // namespace

std::size_t match_length(const Post& post, std::size_t begin, const Pattern& pattern) {
  std::size_t end = begin;
  if (!match_from(post, begin, {begin, false}, pattern.elements, end) || end == begin) return 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (post.words[i].taken) return 0;
  }
  constexpr std::size_t kNear = 6;
  constexpr std::size_t kNext = 4;
  const std::size_t before = begin > kNear ? begin - kNear : 0;
  if (!pattern.near.empty() && !stands_in(post, pattern.near, before, begin, begin) &&
      !stands_in(post, pattern.near, end, end + kNear, begin)) {
    return 0;
  }
  if (!pattern.not_next.empty() && stands_in(post, pattern.not_next, end, end + kNext, begin))
    return 0;
  return end - begin;
}

}  // namespace picchio::results
