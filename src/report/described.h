// JSON documents against their schema and their description, for this folder's tests.
#pragma once

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace picchio {

/// Every key that is printed is in the schema and in docs/json.md, every key the schema demands is
/// printed; the end-to-end tests hold values against the schema.
inline void expect_described(const nlohmann::json& value, const nlohmann::json& schema,
                             const std::string& document, const std::string& where) {
  if (value.is_array() && schema.contains("items")) {
    for (const auto& element : value) {
      expect_described(element, schema["items"], document, where + "[]");
    }
  }
  if (!value.is_object() || !schema.contains("properties")) return;
  const auto& properties = schema["properties"];
  for (const auto& [key, inner] : value.items()) {
    ASSERT_TRUE(properties.contains(key)) << where << "." << key << " is not in the schema";
    EXPECT_NE(document.find("`" + key + "`"), std::string::npos)
        << key << " is not in docs/json.md";
    std::string inside = where;
    inside.append(".").append(key);
    expect_described(inner, properties[key], document, inside);
  }
  for (const auto& key : schema["required"]) {
    EXPECT_TRUE(value.contains(key.get<std::string>())) << where << " lacks " << key;
  }
}

}  // namespace picchio
