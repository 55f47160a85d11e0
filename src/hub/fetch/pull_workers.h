// Carries out a plan with several threads.
#pragma once

#include <atomic>
#include <string>

#include "hub/fetch/http_client.h"
#include "hub/fetch/hub_settings.h"
#include "hub/fetch/pull_plan.h"
#include "hub/fetch/serial_observer.h"
#include "hub/fetch/snapshot_folder.h"

namespace tilewright::hub {

struct PullWork {
  const HubSettings& settings;
  const std::string& id;
  const std::string& commit;
  bool force = false;
  int workers = 8;
  SnapshotFolder& folder;
  SerialObserver& observer;
  const HttpClient::Options& http;
};

// Fetches and admits every file of the plan's tasks; sets their status and how many bytes came. The first Error stops
// all workers and is thrown, as is Interrupted; partial files stay.
void carry_out(const PullWork& work, PullPlan& plan);

}  // namespace tilewright::hub
