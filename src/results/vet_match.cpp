#include "base/text.h"
#include "results/vet_cues.h"
#include "results/vet_kinds.h"
#include "results/vet_patterns.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace picchio::results {
namespace {

constexpr std::string_view kFilling =
    "of|is|at|to|was|set|size|length|window|limit|about|around|approx|the|with|up|by|on|"
    "type|are|in|a|=|roughly|only|cache|quant|as|over|my|max|used|value|version|n|from";

/// The words that tables name, each with its number from 1 on.
std::unordered_map<std::string_view, std::uint16_t>& vocabulary() {
  static std::unordered_map<std::string_view, std::uint16_t> words;
  return words;
}

std::uint16_t number_of(std::string_view word) {
  auto& words = vocabulary();
  const auto next = static_cast<std::uint16_t>(words.size() + 1);
  return words.try_emplace(word, next).first->second;
}

/// "ctx|context|<n>" as sets.
WordChoice choice_of(std::string_view list) {
  WordChoice out;
  if (list.empty()) return out;
  for (const std::string_view each : split(list, '|')) {
    if (each.starts_with('<')) {
      out.kinds |= kind_bit(each);
    } else {
      out.words.set(number_of(each));
    }
  }
  return out;
}

bool holds(const WordChoice& choice, const PostWord& word) {
  return (choice.kinds & word.kinds) != 0 ||
         (!word.figure && word.known != 0 && choice.words.test(word.known));
}

Element element_of(std::string_view text) {
  Element out;
  if (text == "~") {
    out.role = Element::Role::filling;
    out.choice = choice_of(kFilling);
  } else if (text == "<clauseend>") {
    out.role = Element::Role::clause_end;
  } else if (text == "<begin>") {
    out.role = Element::Role::begin;
  } else if (text == "<end>") {
    out.role = Element::Role::end;
  } else {
    out.optional = text.ends_with('?');
    if (out.optional) text.remove_suffix(1);
    out.choice = choice_of(text);
  }
  return out;
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

/// Of the elements that cover no word.
bool stands_there(const Post& post, std::size_t at, Element::Role role) {
  if (role == Element::Role::begin) return post.words[at].clause != Clause::none;
  if (at >= post.words.size()) return true;
  const PostWord& word = post.words[at];
  if (role == Element::Role::end) {
    return word.before == Break::sentence || word.clause != Clause::none;
  }
  return word.before != Break::none || ends_clause(word);
}

bool match_from(const Post& post, std::size_t begin, Place place, std::span<const Element> elements,
                std::size_t& end) {
  if (elements.empty()) {
    end = place.at;
    return true;
  }
  const Element& element = elements.front();
  const std::span<const Element> rest = elements.subspan(1);
  if (element.role == Element::Role::filling) {
    constexpr std::size_t kMostFilling = 3;
    for (std::size_t filled = 0;; ++filled) {
      if (match_from(post, begin, place, rest, end)) return true;
      if (filled == kMostFilling || !may_go_on(post, begin, place)) return false;
      const PostWord& word = post.words[place.at];
      if (word.figure || !holds(element.choice, word)) return false;
      place = {place.at + 1, true};
    }
  }
  if (element.role != Element::Role::word) {
    return stands_there(post, place.at, element.role) && match_from(post, begin, place, rest, end);
  }
  const bool here = place.at < post.words.size() && may_go_on(post, begin, place) &&
                    holds(element.choice, post.words[place.at]);
  if (here && match_from(post, begin, {place.at + 1, false}, rest, end)) return true;
  return element.optional && match_from(post, begin, place, rest, end);
}

/// Whether one of `list` stands in [from, to), in the sentence of `home`.
bool stands_in(const Post& post, const WordChoice& list, std::size_t from, std::size_t to,
               std::size_t home) {
  const std::size_t sentence = post.words[home].sentence;
  for (std::size_t i = from; i < std::min(to, post.words.size()); ++i) {
    if (post.words[i].sentence == sentence && holds(list, post.words[i])) return true;
  }
  return false;
}

}  // namespace

std::vector<Element> elements_of(std::string_view text) {
  std::vector<Element> out;
  for (const std::string_view each : split(text, ' ')) out.push_back(element_of(each));
  return out;
}

CompiledPattern compiled(const Pattern& pattern) {
  return {&pattern, elements_of(pattern.elements), choice_of(pattern.near),
          choice_of(pattern.not_next), choice_of(pattern.not_before)};
}

void FirstWords::add(std::span<const Element> elements, std::size_t row) {
  for (const Element& element : elements) {
    if (element.role != Element::Role::word) continue;
    for (std::size_t word = 0; word < element.choice.words.size(); ++word) {
      if (element.choice.words.test(word)) by_word_[word].push_back(row);
    }
    for (std::size_t kind = 0; kind < by_kind_.size(); ++kind) {
      if ((element.choice.kinds >> kind & 1U) != 0) by_kind_[kind].push_back(row);
    }
    if (!element.optional) return;
  }
}

void know_words(Post& post) {
  for (PostWord& word : post.words) {
    const auto found = vocabulary().find(word.text);
    word.known = found == vocabulary().end() ? std::uint16_t{0} : found->second;
    word.kinds = kinds_of(word);
  }
}

std::size_t match_elements(const Post& post, std::size_t begin, std::span<const Element> elements) {
  std::size_t end = begin;
  return match_from(post, begin, {begin, false}, elements, end) ? end - begin : 0;
}

std::size_t match_length(const Post& post, std::size_t begin, const CompiledPattern& pattern) {
  const std::size_t end = begin + match_elements(post, begin, pattern.elements);
  const std::uint32_t bit = condition_bit(pattern.row->condition);
  for (std::size_t i = begin; i < end; ++i) {
    if ((post.words[i].not_for & bit) != 0) return 0;
  }
  if (end == begin) return 0;
  constexpr std::size_t kNear = 6;
  constexpr std::size_t kNext = 4;
  const Pattern& row = *pattern.row;
  const std::size_t before = begin > kNear ? begin - kNear : 0;
  if (!row.near.empty() && !stands_in(post, pattern.near, before, begin, begin) &&
      !stands_in(post, pattern.near, end, end + kNear, begin)) {
    return 0;
  }
  // "a 4090, 32k context": what follows a comma is of another thing.
  std::size_t next = end;
  while (next < std::min(post.words.size(), end + kNext) &&
         post.words[next].clause == Clause::none) {
    ++next;
  }
  if (!row.not_next.empty() && stands_in(post, pattern.not_next, end, next, begin)) return 0;
  if (!row.not_before.empty() && stands_in(post, pattern.not_before, before, begin, begin)) {
    return 0;
  }
  return end - begin;
}

}  // namespace picchio::results
