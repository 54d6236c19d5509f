// SPDX-License-Identifier: Apache-2.0
// How long the threads of this process have been ready to run without a core to run on.
//
// Private to lib/tune. Own design: limits of time are for the work, not for what else is running on
// the machine. Of the Linux kernel (proc(5), /proc/PID/task/TID/schedstat); 0 where it does not
// say.
#pragma once

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>

namespace tensorsmith {

/// The sum over the threads that there are, each since it began. Some 10 us per thread.
inline double starved_seconds() {
  double sum = 0;
  std::error_code error;
  std::filesystem::directory_iterator thread("/proc/self/task", error), end;
  for (; !error && thread != end; thread.increment(error)) {
    std::FILE* const file = std::fopen((thread->path() / "schedstat").c_str(), "r");
    if (file == nullptr) {
      continue;
    }
    unsigned long long running_ns = 0, waiting_ns = 0;
    const int count = std::fscanf(file, "%llu %llu", &running_ns, &waiting_ns);
    std::fclose(file);
    sum += count == 2 ? static_cast<double>(waiting_ns) * 1e-9 : 0;
  }
  return sum;
}

/// Since it was made, how much of the time threads that had work had a core as well.
class CoreShare {
 public:
  double of(double seconds) const {
    const double busy = static_cast<double>(std::clock() - clock_) / CLOCKS_PER_SEC;
    const double starved = starved_seconds() - starved_;
    return busy > 0 && starved > 0 ? seconds * busy / (busy + starved) : seconds;
  }

 private:
  std::clock_t clock_ = std::clock();
  double starved_ = starved_seconds();
};

}  // namespace tensorsmith
