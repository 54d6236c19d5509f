// SPDX-License-Identifier: Apache-2.0
#include "fault.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace tensorsmith {
namespace {

constexpr std::size_t max_regions = 256;
constexpr std::size_t stack_bytes = std::size_t{64} << 10;

// Read by the handler: plain memory, no allocation.
std::array<FaultRegion, max_regions> regions;
std::size_t num_regions = 0;
ControlPage* control = nullptr;

bool holds(std::span<const std::byte> range, std::uintptr_t address) {
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(range.data());
  return address >= begin && address - begin < range.size();
}

void note_place(std::uintptr_t address, bool is_write) {
  FaultReport& fault = control->fault;
  FaultPlace place = FaultPlace::elsewhere;
  for (std::size_t i = 0; i < num_regions; ++i) {
    const FaultRegion& region = regions[i];
    if (!holds(region.mapping, address)) {
      continue;
    }
    const bool is_workspace = region.argument < 0;
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(region.data.data());
    const std::uintptr_t end = begin + region.data.size();
    std::uintptr_t offset = 0;
    if (address < begin) {
      place = is_workspace ? FaultPlace::before_workspace : FaultPlace::before_argument;
      offset = begin - address;
    } else if (address >= end) {
      place = is_workspace ? FaultPlace::after_workspace : FaultPlace::after_argument;
      offset = address - end;
    } else {
      place = is_workspace ? FaultPlace::elsewhere : FaultPlace::inside_argument;
      offset = address - begin;
    }
    fault.argument.store(static_cast<std::uint32_t>(region.argument), std::memory_order_relaxed);
    fault.offset_bytes.store(static_cast<std::int64_t>(offset), std::memory_order_relaxed);
    break;
  }
  fault.place.store(place, std::memory_order_relaxed);
  fault.address.store(address, std::memory_order_relaxed);
  fault.is_write.store(is_write ? 1 : 0, std::memory_order_relaxed);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  bool is_write = false;
#if defined(__x86_64__)
  is_write = (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  (void)context;
#endif
  // A fault has no sender, and what a kernel does to itself it sends itself.
  const bool is_sent = info->si_code <= 0 && info->si_pid != ::getpid();
  control->fault.sender.store(is_sent ? info->si_pid : 0, std::memory_order_relaxed);
  if (!is_sent) {
    note_place(reinterpret_cast<std::uintptr_t>(info->si_addr), is_write);
  }
  control->fault.signal.store(signal, std::memory_order_release);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

void install_fault_handlers(ControlPage& page) {
  control = &page;
  stack_t stack = {};
  stack.ss_size = stack_bytes;
  stack.ss_sp =
      ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack.ss_sp != MAP_FAILED) {
    ::sigaltstack(&stack, nullptr);
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) {
    struct sigaction action = {};
    action.sa_sigaction = &on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
}

void clear_fault_regions() { num_regions = 0; }

void add_fault_region(const FaultRegion& region) {
  if (num_regions < max_regions) {
    regions[num_regions++] = region;
  }
}

}  // namespace tensorsmith
