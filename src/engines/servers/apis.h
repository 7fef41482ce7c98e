// The classes behind open_server(). Private to servers/.
#pragma once

#include "engines/answers/json_document.h"
#include "engines/servers/server.h"

#include <string>
#include <vector>

namespace picchio::servers {

class OllamaServer final : public Server {
 public:
  using Server::Server;
  [[nodiscard]] Result<ServedModel> choose_model(const std::string& asked,
                                                 const Wait& wait) override;
  [[nodiscard]] Result<bool> unload(const Wait& wait) override;
  [[nodiscard]] Call call(const Order& order) const override;
  [[nodiscard]] std::string claim() const override;
  [[nodiscard]] bool context_is_ours() const override { return true; }

 private:
  [[nodiscard]] Result<std::string> only_model(const std::string& server) const;

  std::string name_;
  std::string digest_;  // of its manifest; empty: not told
};

class LlamaServer final : public Server {
 public:
  using Server::Server;
  [[nodiscard]] Result<ServedModel> choose_model(const std::string& asked,
                                                 const Wait& wait) override;
  [[nodiscard]] Result<bool> unload(const Wait& wait) override;
  [[nodiscard]] std::string busy() const override;
  [[nodiscard]] Call call(const Order& order) const override;

 private:
  [[nodiscard]] Result<> wait_until_ready(const Wait& wait) const;
  [[nodiscard]] Result<std::string> choose_of_router(const std::string& asked) const;
  [[nodiscard]] std::string with_model(std::string path) const;
  void take_props(std::string_view text, ServedModel& model);

  std::string name_;  // of a router's model; empty: there is only one
};

/// Everything that speaks OpenAI's API, with what some of them add.
class OpenAiServer final : public Server {
 public:
  using Server::Server;
  [[nodiscard]] Result<ServedModel> choose_model(const std::string& asked,
                                                 const Wait& wait) override;
  [[nodiscard]] std::string busy() const override;
  [[nodiscard]] Call call(const Order& order) const override;
  bool simplify() override;
  [[nodiscard]] std::string counters() const override;

 private:
  [[nodiscard]] std::vector<ServedModel> models() const;
  [[nodiscard]] std::vector<ServedModel> lm_studio_models();

  std::string name_;
  bool plain_ = false;       // without what only some servers know
  bool has_v1_api_ = false;  // LM Studio from 0.4.0 on
};

/// The JSON that a small question brings; absent for a refusal and for what is none.
[[nodiscard]] std::optional<answers::Json> document_at(const Asker& asker, std::string_view path);

/// `asked` among `models`, else the only one; the error names them.
[[nodiscard]] Result<ServedModel> choose_among(const std::vector<ServedModel>& models,
                                               const std::string& asked, const std::string& server);

/// False: interrupted.
[[nodiscard]] bool pause(const Wait& wait, Micros length);
[[nodiscard]] Error interrupted();

}  // namespace picchio::servers
