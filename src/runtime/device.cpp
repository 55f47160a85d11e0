#include "runtime/device.h"

#include <cstring>

#include "base/error.h"

namespace tilewright::runtime {

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::vector:
      return "vector";
    case Unit::matrix:
      return "matrix";
    case Unit::conversion:
      return "conversion";
    case Unit::reduction:
      return "reduction";
    case Unit::move:
      return "move";
  }
  return "?";
}

Launch& Launch::operator=(const Launch& other) {
  kernel = other.kernel;
  grid = other.grid;
  ordered = other.ordered;
  op = other.op;
  path = other.path;
  cost = other.cost;
  device_extents = other.device_extents;
  buffer_count_ = other.buffer_count_;
  parameter_bytes_ = other.parameter_bytes_;
  for (std::uint32_t i = 0; i < buffer_count_; ++i) buffers_[i] = other.buffers_[i];
  std::memcpy(parameters_.data(), other.parameters_.data(), parameter_bytes_);
  return *this;
}

void DeviceRegistry::add(Backend backend) { backends_.push_back(std::move(backend)); }

std::shared_ptr<Device> DeviceRegistry::open(const std::string& name, const DeviceOptions& options) const {
  const std::string family = name.substr(0, name.find(':'));
  std::string known;
  for (const Backend& backend : backends_) {
    if (backend.name == family) {
      if (const std::string reason = backend.unavailable(name); !reason.empty())
        fail({.what = "device is not available: " + reason,
              .where = "--device " + name,
              .expected = "",
              .found = "",
              .fix = "`tilewright doctor` lists the devices of this machine"});
      return backend.open(name, options);
    }
    for (const std::string& device : backend.devices()) known += (known.empty() ? "" : ", ") + device;
  }
  fail({.what = "no such device",
        .where = "--device",
        .expected = "one of " + known,
        .found = name,
        .fix = "`tilewright doctor` lists the devices of this machine"});
}

}  // namespace tilewright::runtime
