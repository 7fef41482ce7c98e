# cmake -DIN=file -DOUT=file.cpp -DSYMBOL=kName -P embed_text.cmake
#
# A text file as a std::string_view of namespace picchio, so that the program works from any place.
file(READ ${IN} text)
get_filename_component(name ${IN} NAME)
file(WRITE ${OUT}
  "// Made from ${name} at build time.\n"
  "#include <string_view>\n\n"
  "namespace picchio {\n\n"
  "extern const std::string_view ${SYMBOL};\n"
  "const std::string_view ${SYMBOL} = R\"embedded(${text})embedded\";\n\n"
  "}  // namespace picchio\n")
