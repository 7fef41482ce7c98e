// Writes runs into a history until it is killed or has written enough: what several picchios at
// once and a kill at any moment are tested with.
//
//   history_test_program FOLDER WRITER COUNT
//
// Prints the number of each run after it was stored, a line each.
#include "history/history.h"
#include "history/sample_records.h"

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  using picchio::history::History;
  if (argc != 4) return 2;
  const std::string writer = argv[2];
  const int count = std::atoi(argv[3]);
  for (int number = 0; number < count; ++number) {
    // Opened anew each time, as each picchio does.
    std::string note;
    auto runs = History::open(argv[1], &note);
    if (!runs) {
      std::fprintf(stderr, "%s\n", runs.error().message.c_str());
      return 1;
    }
    if (!note.empty()) std::fprintf(stderr, "%s\n", note.c_str());
    picchio::RecordedRun run = picchio::samples::record("m", 20, number);
    run.figures.sentence = writer + ":" + std::to_string(number);
    // Some runs fill several pages, so that a kill finds a transaction half written.
    run.figures.why = std::string(static_cast<std::size_t>(number % 3) * 20'000, 'x');
    const auto id = runs->add(run);
    if (!id) {
      std::fprintf(stderr, "%s\n", id.error().message.c_str());
      return 1;
    }
    std::printf("%d\n", number);
    std::fflush(stdout);
  }
  return 0;
}
