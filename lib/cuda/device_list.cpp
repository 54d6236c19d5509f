// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

#include "tensorsmith/cuda/driver_library.hpp"
#include "tensorsmith/measure/cuda_devices.hpp"

namespace tensorsmith {
namespace {

using cuda::DriverLibrary;

// Numbers of CUdevice_attribute.
constexpr int clock_khz = 13, num_sms = 16, memory_clock_khz = 36, bus_bits = 37, l2_bytes = 38;
constexpr int capability_major = 75, capability_minor = 76;

int attribute(const DriverLibrary& driver, int device, int which) {
  int value = 0;
  return driver.device_attribute(&value, which, device) == 0 ? value : 0;
}

std::string uuid_text(const std::array<unsigned char, 16>& bytes) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    char digits[4];
    std::snprintf(digits, sizeof(digits), "%02x", bytes[i]);
    text += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(digits);
  }
  return text;
}

CudaDevice describe(const DriverLibrary& driver, int number) {
  CudaDevice found;
  found.number = number;
  found.driver = driver.version_text();
  int device = 0;
  std::array<char, 256> name{};
  std::array<unsigned char, 16> uuid{};
  std::size_t bytes = 0;
  if (driver.device_get(&device, number) != 0 ||
      driver.device_name(name.data(), static_cast<int>(name.size()) - 1, device) != 0) {
    return found;
  }
  found.name = name.data();
  if (driver.device_uuid(uuid.data(), device) == 0) {
    found.uuid = uuid_text(uuid);
  }
  if (driver.device_memory(&bytes, device) == 0) {
    found.memory_bytes = static_cast<std::int64_t>(bytes);
  }
  found.compute_capability = 10 * attribute(driver, device, capability_major) +
                             attribute(driver, device, capability_minor);
  found.board.num_sms = attribute(driver, device, num_sms);
  found.board.clock_mhz = attribute(driver, device, clock_khz) / 1000;
  found.board.dram_bytes_per_ns =
      2e-6 * attribute(driver, device, memory_clock_khz) * attribute(driver, device, bus_bits) / 8;
  found.board.l2_bytes = attribute(driver, device, l2_bytes);
  return found;
}

/// The known board with that word in the device's name, null: none. "NVIDIA L40S" is no L4.
const GpuModel* model_of(const CudaDevice& device) {
  std::string words = " ";
  for (const char c : device.name) {
    words += std::isalnum(static_cast<unsigned char>(c)) != 0
                 ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                 : ' ';
  }
  words += " ";
  for (const GpuModel& model : gpu_models) {
    const std::string name(model.name);
    const std::string word = name.starts_with("rtx") ? "rtx " + name.substr(3) : name;
    if (model.compute_capability == device.compute_capability &&
        words.find(" " + word + " ") != std::string::npos) {
      return &model;
    }
  }
  return nullptr;
}

std::string names_of(const std::vector<CudaDevice>& devices) {
  std::string text;
  for (const CudaDevice& device : devices) {
    text += (text.empty() ? "" : ", ") + std::string("cuda:") + std::to_string(device.number) +
            " is " + device.name + " of class sm_" + std::to_string(device.compute_capability);
  }
  return text;
}

Result<Target, std::string> target_of(const CudaDevice& device) {
  Result<Target, UnknownTarget> known = Target::cuda(device.compute_capability);
  if (!known) {
    std::string classes;
    for (const CudaModel& model : cuda_models) {
      classes += (classes.empty() ? "sm_" : ", sm_") + std::to_string(model.compute_capability);
    }
    return fail(device.name + " is of class sm_" + std::to_string(device.compute_capability) +
                ", which this version does not know; known: " + classes);
  }
  Target target = std::move(known).value();
  const GpuModel* const model = model_of(device);
  target.gpu->board = device.board;
  GpuBoard& board = *target.gpu->board;
  if (model != nullptr) {
    target.name = std::string(model->name);
  }
  // What a driver does not tell is that of the known board, or of a small one.
  const auto adopt = [](auto& value, auto other) { value = value > 0 ? value : other; };
  adopt(board.num_sms, model != nullptr ? model->num_sms : 16);
  adopt(board.clock_mhz, model != nullptr ? model->clock_mhz : 1500);
  adopt(board.dram_bytes_per_ns, model != nullptr ? model->dram_bytes_per_ns : 300.0);
  adopt(board.l2_bytes, std::int64_t{model != nullptr ? model->l2_mib : 4} << 20);
  target.device = device.number;
  return target;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<std::vector<CudaDevice>, std::string> list_cuda_devices() {
  const Result<DriverLibrary, std::string> driver = DriverLibrary::open();
  if (!driver) {
    return fail(driver.error());
  }
  int count = 0;
  const cuda::Status status = driver->device_count(&count);
  if (status != 0 || count <= 0) {
    return fail("the CUDA driver finds no NVIDIA GPU here" +
                (status != 0 ? ": " + driver->name_of(status) : std::string()));
  }
  std::vector<CudaDevice> devices;
  for (int number = 0; number < count; ++number) {
    devices.push_back(describe(*driver, number));
  }
  return devices;
}

bool is_cuda_device_name(const std::string& name) {
  if (name == "cuda" || name.starts_with("cuda:") || name == "sm_90a") {
    return true;
  }
  const Result<Target, UnknownTarget> target = Target::from_name(name);
  return target && target->kind == TargetKind::cuda && !target->is_simulated;
}

Result<Target, std::string> cuda_device_target(const std::string& name) {
  const Result<std::vector<CudaDevice>, std::string> devices = list_cuda_devices();
  const Result<Target, UnknownTarget> known = Target::from_name(name == "sm_90a" ? "sm_90" : name);
  const std::string instead = known && known->gpu && known->gpu->board
                                  ? "; sim:" + name + " simulates it"
                                  : "; sim:a100 and its like are simulated";
  if (!devices) {
    return fail("target " + name + " needs an NVIDIA GPU: " + devices.error() + instead);
  }
  if (name == "cuda") {
    return target_of(devices->front());
  }
  if (name.starts_with("cuda:")) {
    const std::string number = name.substr(5);
    for (const CudaDevice& device : *devices) {
      if (is_number(number) && device.number == std::stoi(number)) {
        return target_of(device);
      }
    }
    return fail("there is no device " + name + " here: " + names_of(*devices));
  }
  if (!known || !known->gpu) {
    return fail("\"" + name + "\" names no GPU: " + names_of(*devices));
  }
  for (const CudaDevice& device : *devices) {
    const GpuModel* const model = model_of(device);
    if (known->gpu->board ? model != nullptr && model->name == known->name
                          : known->gpu->compute_capability == device.compute_capability) {
      Result<Target, std::string> target = target_of(device);
      if (target) {
        target->name = known->name;
      }
      return target;
    }
  }
  return fail("no GPU of this machine is a " + name + ": " + names_of(*devices) + instead);
}

}  // namespace tensorsmith
