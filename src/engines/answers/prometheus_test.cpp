#include "engines/answers/prometheus.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace picchio::answers {
namespace {

TEST(Prometheus, LabelsOfAnyShape) {
  const std::string text =
      "# HELP a b\n# TYPE a counter\n"
      "a{model_name=\"one } two\",engine=\"0\"} 3\n"
      "a{engine=\"1\",model_name=\"with \\\"quotes\\\" \\\\ and, commas=\",} 4 1700000000000\r\n"
      "a 5\n";
  const Exposition all = read_exposition(text, "");
  EXPECT_DOUBLE_EQ(all.series.at("a").value, 12);
  EXPECT_EQ(all.models, (std::vector<std::string>{"one } two", "with \"quotes\" \\ and, commas="}));
  EXPECT_DOUBLE_EQ(read_exposition(text, "one } two").series.at("a").value, 8);
  EXPECT_DOUBLE_EQ(read_exposition(text, "other").series.at("a").value, 5);
  EXPECT_DOUBLE_EQ(read_prometheus(text).at("a"), 12);
}

TEST(Prometheus, WhatCannotBeReadIsLeftOut) {
  for (const char* line : {"a NaN", "a +Inf", "a inf", "a", "a ", "a{", "a{b", "a{b=\"c",
                           "a{b=c} 1", "a{b=\"c\\", "a{b=\"c\"}", "a{} x", "a_bucket{le=\"1\"} 3",
                           "# a 3", "{} 1 2", "a 1e999", "\xff\xfe", "a{model_name=\"x\" 4"}) {
    const Exposition told = read_exposition(line, "");
    EXPECT_FALSE(told.series.contains("a")) << line;
    EXPECT_TRUE(told.models.empty()) << line;
    EXPECT_FALSE(read_prometheus(line).contains("a")) << line;
  }
}

TEST(Prometheus, OnlySoManyModelsAreNamed) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "a{model_name=\"" + std::to_string(i) + "\"} 1\n";
  const Exposition told = read_exposition(text, "");
  EXPECT_EQ(told.models.size(), 16U);
  EXPECT_DOUBLE_EQ(told.series.at("a").value, 500);
}

TEST(Prometheus, TheStepOfTheLastDigit) {
  struct Case {
    const char* line;
    double step;
  };
  for (const Case& each : {Case{"a 0", 0}, Case{"a 4647", 0}, Case{"a 12345678", 0},
                           Case{"a 13.2171", 1e-4}, Case{"a 13.2", 1e-4},  // no zeros at the end
                           Case{"a 1.23457e+06", 10}, Case{"a 100002", 0}, Case{"a 8.5e-05", 1e-10},
                           Case{"a 20.12345678901", 0}, Case{"a 1234567.0", 0},
                           Case{"a_seconds_total 345678", 1}, Case{"a_seconds_total 20", 1e-4}}) {
    const double step = read_exposition(each.line, "").series.begin()->second.step;
    EXPECT_NEAR(step, each.step, each.step * 1e-6) << each.line;
  }
}

}  // namespace
}  // namespace picchio::answers
