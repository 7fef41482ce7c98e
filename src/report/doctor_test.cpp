#include "report/doctor.h"

#include "report/described.h"
#include "report/golden.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace picchio {
namespace {

Checkup checkup() {
  Checkup out;
  out.machine.gpus = {{"AMD\x1b[31m GPU", "AMD", "0000:03:00.0", "amdgpu", "/sys", true, ""}};
  out.machine.gpus_known = true;
  NodeLook node;
  node.path = "/dev/dri/renderD128";
  node.access = NodeAccess::no_permission;
  node.mode = 0660;
  node.gid = 44;
  out.nodes = {node};
  EngineFound engine;
  engine.name = "llama-server";
  engine.path = "/opt/llama-server";
  engine.devices = {Device{}};
  out.engines = {engine};
  return out;
}

Examination examination() {
  Examination out;
  out.links = {{"gpu-on-bus", LinkState::ok, "AMD\x1b[31m GPU\n.", "", ""},
               {"permissions", LinkState::broken, std::string(200, 'x') + " may not be opened.",
                "sudo usermod -aG render $USER", "device_permission"},
               {"headroom", LinkState::skipped, "No meter tells.", "", ""}};
  out.first_broken = 1;
  out.summary = "The chain breaks at permissions.";
  return out;
}

TEST(DoctorText, IsPlainAndNamesTheFirstBrokenLink) {
  const std::string text = doctor_text(examination(), false);
  for (const std::string_view words :
       {"BROKEN   permissions", "first broken link", "FIX: sudo usermod -aG render $USER",
        "The chain breaks at permissions."}) {
    EXPECT_TRUE(text.contains(words)) << words << "\n" << text;
  }
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 80u) << text.substr(begin, end - begin);
    begin = end + 1;
  }
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  EXPECT_TRUE(doctor_text(examination(), true).contains("\x1b[31mBROKEN"));
}

TEST(DoctorText, WithoutABrokenLinkTheWarningsHaveTheirRemedies) {
  Examination warned = examination();
  warned.first_broken.reset();
  warned.links[1].state = LinkState::warning;
  warned.summary = "No link is broken; 1 deserves a look.";
  const std::string text = doctor_text(warned, false);
  EXPECT_TRUE(text.contains("FIX: sudo usermod")) << text;
  EXPECT_FALSE(text.contains("first broken"));
}

TEST(DoctorJson, IsAsItsSchemaDescribes) {
  const auto json = nlohmann::json::parse(doctor_json(checkup(), examination()));
  EXPECT_EQ(json["schema"], "picchio.doctor.v1");
  EXPECT_EQ(json["first_broken"], "permissions");
  EXPECT_EQ(json["exit_code"], 4);
  EXPECT_EQ(json["nodes"][0]["mode"], "0660");
  EXPECT_EQ(json["links"][1]["cause"], "device_permission");
  const std::string docs = std::string(PICCHIO_SOURCE_DIR) + "/docs/";
  const auto schema = nlohmann::json::parse(file_text(docs + "schema/doctor.v1.json"));
  expect_described(json, schema, file_text(docs + "json.md"), "doctor");
}

}  // namespace
}  // namespace picchio
