// SPDX-License-Identifier: Apache-2.0
// Caches and cores of this machine, from CPUID and the kernel's tables.
//
// Private to lib/cpu; part of probe_host (host.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensorsmith/host.hpp"

namespace tensorsmith {

/// First line of a small file without the newline; nothing when it cannot be read.
std::optional<std::string> first_line(const std::string& path);

/// Distinct physical cores among those logical ones; nothing where the kernel does not say.
std::optional<std::int32_t> count_cores(const std::vector<std::int32_t>& cpus);

/// What CPUID says, and what the kernel says in its place. `info.vendor` and `info.usable_cpus` are
/// set.
void read_caches(HostInfo& info);

}  // namespace tensorsmith
