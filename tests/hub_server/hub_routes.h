// What the hub would answer, if nobody made it misbehave.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hub_server/http_connection.h"
#include "hub_server/hub_content.h"

namespace tilewright::test {

struct Reply {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};  // without length and ranges
  Body body;
  bool ranges = false;  // a Range counts

  void set(const std::string& name, const std::string& value);  // in place of one of that name; empty: none of it
};

struct Hub {
  std::function<std::shared_ptr<const ServedRepository>(const std::string& id)> repository;  // null: none
  std::string endpoint, cdn;
  int page_size = 1000;
  bool cdn_for_lfs = false;
};

Reply hub_reply(const Hub& hub, const HttpRequest& request);
Reply cdn_reply(const Hub& hub, const HttpRequest& request);

}  // namespace tilewright::test
