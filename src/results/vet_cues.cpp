#include "results/vet_cues.h"

#include "results/vet_kinds.h"
#include "results/vet_patterns.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace picchio::results {
namespace {

using enum Condition;

/// A bit each, for PostWord::unsays.
enum CueKind : std::uint16_t {
  kPlanned = 1U << 0U,   // before: wished, planned, forgotten, advised
  kOthers = 1U << 1U,    // before: somebody else's, until the first person speaks
  kCompared = 1U << 2U,  // up to four words before
  kDenied = 1U << 3U,    // before; a switch that is denied is stated as off
  kLacked = 1U << 4U,    // before; of switches too
  kProperty = 1U << 5U,  // before: what a thing can do
  kFails = 1U << 6U,     // behind, of the clause's subject
  kLater = 1U << 7U,     // ditto
  kUndone = 1U << 8U,    // behind, of what the clause names
  kUndoneIt = 1U << 9U,  // ditto, across a "but"
  kSupport = 1U << 10U,  // right behind
  kSelf = 1U << 11U,     // the first person
  kTurn = 1U << 12U,     // what stands before it is over
  kSoft = 1U << 13U,     // before, until a figure or the first person: "I'd say 45 tok/s"
};
constexpr std::uint16_t kBefore =
    kPlanned | kSoft | kOthers | kCompared | kDenied | kLacked | kProperty;

struct Cue {
  std::uint16_t kind;
  std::string_view elements;
};

constexpr std::array kCues = std::to_array<Cue>({
    {kSoft, "should|would|i'd|ought|might|maybe"},
    {kSoft, "need|have|like|love to"},
    {kPlanned,
     "forgot|unsure|dunno|whether|will|i'll|we'll|gonna|want|wants|wanna|plan|planning|planned|"
     "considering|wondering|suggest|suggests|suggested|recommend|recommends|recommended|advise|"
     "advises|advised|advice|tomorrow|someday|eventually|soon|wish|wishing|hope|hoping|hopefully|"
     "dream|dreaming|eyeing|waiting|ordered|preordered|afford|sold|returned|supposedly|tempted|tbd|"
     "todo"},
    {kPlanned, "next week|month|year|weekend|time|summer|gen|generation"},
    {kPlanned, "saving|saved|save up|for"},
    {kPlanned, "going|about to"},
    {kPlanned, "don't|dont|not|didn't know"},
    {kPlanned, "not|isn't|wasn't|never sure"},
    {kPlanned, "no|any idea|clue"},
    {kPlanned, "don't|dont|can't|not remember|recall"},
    {kPlanned, "didn't|didnt|haven't|not|never check|note|checked|noted"},
    {kPlanned, "haven't|havent|not|never|didn't yet? tried|try|tested|test|measured|measure"},
    {kPlanned, "if i|you|we|they|one|only|someone|it"},
    {kPlanned, "according to"},
    {kOthers,
     "guide|docs|doc|documentation|readme|wiki|manual|tutorial|people|they|everyone|"
     "everybody|someone|somebody|others|reddit|friend|friends|buddy|coworker|colleague|"
     "brother|chatgpt|internet|folks|guys|article|video|youtube|vendor|nvidia|amd|card "
     "also|all|always|often|who|even? says|say|said|claims|claim|claimed|talk|talks|"
     "think|thinks|uses|use|used|gets|get|got|runs|run|ran|reports|reported|swear|swears|"
     "tells|told|told|keep|keeps|set|sets|with|has|have|had|prefer|prefers|mentions|"
     "mentioned|love|loves|likes|like|rave|raves"},
    {kOthers, "friend's|buddy's|brother's|coworker's|someone's|everyone's"},
    {kOthers, "i|i've|we just? read|heard|saw|seen that|about|somewhere|here|a|people|of|how"},
    {kOthers, "i|i've|we read|heard"},
    {kOthers, "you|you're|your|u|try|consider"},
    {kCompared, "unlike|than|versus"},
    {kCompared, "compared to|with"},
    {kCompared, "instead|short of"},
    {kCompared, "rather than"},
    {kCompared, "upgraded|moved|switched|coming|came|migrated|upgrading|switching from"},
    {kDenied,
     "don't|dont|doesn't|doesnt|didn't|didnt|haven't|havent|hasn't|can't|cant|cannot|"
     "couldn't|couldnt|won't|wont|wouldn't|wouldnt|never|not "
     "even|really|actually|currently|yet|ever|be|been|to|me|even? "
     "use|used|using|run|running|ran|fit|load|do|support|enable|enabled|set|try|tried|test|"
     "tested|install|installed|go|offload|handle|touch|touched|change|changed|have|had|own|"
     "need|afford|buy|bought"},
    {kDenied,
     "do|does|did|could|would|have|has not even|really|actually? "
     "use|used|run|ran|fit|load|do|support|enable|enabled|set|try|tried|test|tested|install|"
     "installed|go|offload|handle|have|had|own|need|afford|buy"},
    {kDenied, "not|isn't|isnt|wasn't|aren't|never a|an|the|on|with|in|at|using|even|my"},
    {kDenied, "no|neither|nor|without|lacks|lack|lacking"},
    {kLacked,
     "don't|dont|doesn't|doesnt|didn't|didnt|haven't|never|not "
     "even|really|actually|currently? have|own|need|afford|buy|got"},
    {kLacked, "can't|cant|cannot|couldn't|couldnt afford|buy|get|run|fit|load|use|handle"},
    {kLacked, "no longer"},
    {kProperty,
     "supports|support|supporting|supported|trained|training|pretrained|native|natively|"
     "advertises|advertised|capable|allows|rated|specced|claims|claimed"},
    {kProperty,
     "crashes|crashed|crashing|crash|ooms|oomed|fails|failed|dies|died|chokes|hangs "
     "at|with|on|when|in|as|above|beyond|past|for"},
    {kProperty, "runs|ran|running|run out"},
    {kProperty, "out of memory|vram|ram"},
    {kProperty, "too big|large|heavy|much|expensive|small"},
    {kFails,
     "crash|crashes|crashed|crashing|ooms|oomed|oom|fails|failed|errors|hangs|hung|freezes|"
     "dies|died|segfaults"},
    {kFails, "runs|ran|run|running out of"},
    {kFails, "out of memory|vram|ram|reach|budget|question"},
    {kFails, "too big|large|heavy|expensive|much"},
    {kFails,
     "doesn't|doesnt|don't|didn't|didnt|won't|wont|wouldn't|wouldnt|can't|cant|cannot|"
     "couldn't|never|not even|really|quite? fit|load|run|work|start|boot|install|exist|"
     "compile|worked|fits|installed|supported|possible|enough|available|mine|recommended|an|"
     "here"},
    {kFails, "isn't|isnt|wasn't|aren't here|mine|an|possible|supported|available|installed|enough"},
    {kFails, "refuses|refused"},
    {kLater, "will|would|should|could|might|arrives|arriving|ships|shipping|soon|tomorrow|someday"},
    {kLater, "is|are coming|overkill|recommended|better"},
    {kLater, "on order|paper|sale"},
    {kLater, "next week|month|year|weekend|summer"},
    {kUndone,
     "i've|i|we have? never|not yet? "
     "measured|tested|tried|checked|enabled|recorded|timed|noted|set|used yet? <end>"},
    {kUndone,
     "i|we haven't|havent|didn't|didnt|never|can't yet? "
     "measured|tested|tried|checked|enabled|recorded|timed|noted|used|measure|test|try|"
     "check|enable|record|time|note|use|set yet? <end>"},
    {kUndone, "was|were|is|are not|never|yet measured|tested|tried|checked|recorded|timed|noted"},
    {kUndone, "wasn't|isn't|weren't measured|tested|tried|checked|recorded|timed|noted"},
    {kUndone, "no|any idea|clue"},
    {kUndone, "unknown|unmeasured|untested"},
    {kUndoneIt,
     "haven't|havent|didn't|didnt|never|not yet? "
     "measured|tested|tried|checked|enabled|enable|set|used|use|try|test|turned|bothered "
     "it|that|them|those|any|either|yet"},
    {kUndoneIt,
     "left|leave|kept|keep|use|used|run everything|it|them|all|that|mine|things "
     "at|as|on|to? the|its? default|defaults|stock|is|alone|untouched"},
    {kSupport, "support|capable|compatible|compatibility"},
    {kSelf, "i|i'm|i've|im|ive|we|we're|my|our|mine|me"},
    {kTurn, "but|so|because|however|although|though|whereas|while|since|why|anyway"},
});

/// With which a clause begins anew behind a comma.
constexpr std::string_view kOpeners =
    "i|i'm|im|i've|it|it's|my|our|we|this|that|here|now|currently|just|only|with|using|running|on|"
    "got|getting|at|still|then|which|these|the|is|he|she|they|what|how|when|where|and|thanks";

struct CompiledCue {
  std::uint16_t kind;
  std::vector<Element> elements;
};

struct CueTable {
  std::vector<CompiledCue> rows;
  FirstWords first;
};

const CueTable& cue_table() {
  static const CueTable table = [] {
    CueTable out;
    for (const Cue& cue : kCues) {
      out.rows.push_back({cue.kind, elements_of(cue.elements)});
      out.first.add(out.rows.back().elements, out.rows.size() - 1);
    }
    return out;
  }();
  return table;
}

bool is_switch(Condition condition) {
  return condition == flash_attention || condition == draft || condition == power_limit ||
         condition == warmth || condition == spread || condition == placement;
}

/// Whether the clause of `word` begins with it, so that what stands before is of another.
bool opens_clause(const PostWord& word) {
  if (word.clause == Clause::hard || (word.unsays & kTurn) != 0) return true;
  return word.clause == Clause::comma && is_in(kOpeners, word.text);
}

bool has(const Post& post, std::size_t at, unsigned kinds) {
  return (post.words[at].unsays & kinds) != 0;
}

/// "on my 4090": had, whatever is said of it.
bool is_owned(const Post& post, std::size_t begin, std::size_t sentence_begin) {
  for (std::size_t i = begin; i > sentence_begin && i + 2 > begin; --i) {
    if (is_in("my|our", post.words[i].text) || is_in("my|our", post.words[i - 1].text)) return true;
  }
  return false;
}

/// What stands before, in the clause.
bool unsaid_before(const Post& post, std::size_t begin, Condition condition) {
  constexpr std::size_t kReach = 10;
  constexpr std::size_t kNearReach = 5;
  const std::size_t first = post.sentences[post.words[begin].sentence].begin;
  const bool owned = is_owned(post, begin, first);
  bool self = has(post, begin, kSelf);
  bool figure = false;
  bool comma = post.words[begin].clause != Clause::none;
  if (opens_clause(post.words[begin])) return false;
  for (std::size_t i = begin; i > first && begin - i < kReach;) {
    --i;
    const PostWord& word = post.words[i];
    const bool near = begin - i <= kNearReach;
    if (has(post, i, kPlanned)) return true;
    figure = figure || word.figure;
    if (has(post, i, kSoft) && !self && !figure) return true;
    if (has(post, i, kOthers) && !self) return true;
    if (has(post, i, kProperty) && near && !self) return true;
    if (has(post, i, kCompared) && begin - i < kNearReach && !comma) return true;
    if (has(post, i, kLacked) && near && !comma &&
        (!is_switch(condition) || condition == placement) &&
        !(self && has(post, i, kDenied) && !is_in("have|own|need|afford", word.text))) {
      return true;
    }
    if (has(post, i, kDenied) && near && !comma && !owned && !is_switch(condition)) return true;
    if (opens_clause(word)) return false;
    self = self || has(post, i, kSelf);
    if (word.clause == Clause::comma) comma = true;
    if (is_in("or|nor", word.text)) comma = false;
  }
  return false;
}

/// Whether [begin, end) is what its clause is about, and not what somebody runs.
bool is_subject(const Post& post, std::size_t begin) {
  const std::size_t first = post.sentences[post.words[begin].sentence].begin;
  constexpr std::size_t kReach = 12;
  for (std::size_t i = begin; i > first && begin - i < kReach;) {
    if (post.words[i].clause != Clause::none || has(post, i, kTurn)) return true;
    --i;
    if (is_in("think|guess|believe|suspect|afraid", post.words[i].text)) return true;
    if (is_in("i|i'm|i've|im|we|get|getting|got", post.words[i].text) || post.words[i].figure) {
      return false;
    }
  }
  return true;
}

/// What stands behind, in the clause, and across one "but".
bool unsaid_behind(const Post& post, std::size_t begin, std::size_t end, Condition condition) {
  constexpr std::size_t kReach = 10;
  const std::size_t sentence = post.words[begin].sentence;
  const bool subject = is_subject(post, begin);
  const bool place = condition == hardware && begin > 0 &&
                     is_in("on|with|in|using|a|the|my", post.words[begin - 1].text) &&
                     is_in("on|with|in|using|my", post.words[begin > 1 ? begin - 2 : 0].text);
  std::uint16_t kinds = kUndone | kUndoneIt;
  if (subject) kinds |= kLater;
  if (subject && !place && !is_owned(post, begin, post.sentences[sentence].begin)) kinds |= kFails;
  std::uint16_t found = 0;
  for (std::size_t i = end; i < std::min(post.words.size(), end + kReach); ++i) {
    const PostWord& word = post.words[i];
    if (word.sentence != sentence || word.figure) break;
    if (i == end && has(post, i, kSupport)) return true;
    if ((word.unsays & kTurn) != 0) {
      kinds = kUndoneIt;
    } else if (word.clause != Clause::none) {
      break;
    }
    // "Q8_0 and Q6_K don't fit" is of both, "I run Q8_0 and will try" of none.
    const bool joins_verb = word.text == "and" && i + 1 < post.words.size() &&
                            has(post, i + 1, kLater | kFails | kSelf);
    const bool new_verb = joins_verb || is_in("which|that|who|when|where", word.text);
    if (new_verb) kinds &= static_cast<std::uint16_t>(~(kLater | kFails));
    found |= word.unsays & kinds;
  }
  return found != 0;
}

}  // namespace

void prepare_cues() { cue_table(); }

void mark_cues(Post& post) {
  const CueTable& table = cue_table();
  for (std::size_t at = 0; at < post.words.size(); ++at) {
    table.first.each(post.words[at], [&](std::size_t row) {
      const CompiledCue& cue = table.rows[row];
      const std::size_t length = match_elements(post, at, cue.elements);
      if (length == 0) return;
      // What unsays the words behind it counts from its end.
      const std::size_t place = (cue.kind & kBefore) != 0 ? at + length - 1 : at;
      post.words[place].unsays |= cue.kind;
    });
  }
}

bool is_stated(const Post& post, std::size_t begin, std::size_t end, Condition condition) {
  const PostSentence& sentence = post.sentences[post.words[begin].sentence];
  // "Is 45 tok/s with Q4_K_M on a 4090 normal?" states all of it.
  if (sentence.asks && !sentence.has_figure) return false;
  return !unsaid_before(post, begin, condition) && !unsaid_behind(post, begin, end, condition);
}

}  // namespace picchio::results
