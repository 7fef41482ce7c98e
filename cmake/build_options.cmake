# One interface target carries every flag, so no target sets its own.
add_library(build_options INTERFACE)
target_compile_options(build_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wformat=2 -Wundef -Wimplicit-fallthrough
  # -Wrestrict: false alarms on std::string in GCC 12 at -O2 and above (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op -Wno-restrict>
  # -Wdeprecated-declarations: clang reports what libstdc++ 12 itself calls in std::stable_sort.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
  $<$<BOOL:${PICCHIO_WERROR}>:-Werror>)
if(PICCHIO_SANITIZE)
  target_compile_options(build_options INTERFACE
    -fsanitize=${PICCHIO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(build_options INTERFACE -fsanitize=${PICCHIO_SANITIZE})
endif()

# picchio_library(base SOURCES a.cpp LINKS fmt::fmt PRIVATE_LINKS x TESTS a_test.cpp)
#
# One static library per folder of src/. LINKS are the only folders it may include
# (tools/check_layers.py holds the includes to that); PRIVATE_LINKS are libraries that no
# header of the folder shows.
function(picchio_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;TESTS;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS} build_options)
  if(arg_TESTS AND PICCHIO_TESTS)
    add_executable(${name}_test ${arg_TESTS})
    target_link_libraries(${name}_test PRIVATE ${name} ${arg_PRIVATE_LINKS} build_options GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE
      PICCHIO_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
      PICCHIO_CORPUS_DIR="${PROJECT_SOURCE_DIR}/../shared/corpus")
    gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
