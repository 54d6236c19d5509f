// SPDX-License-Identifier: Apache-2.0
// The one version of tensorsmith; CMake, pkg-config and the tools read it from here.
//
// Floor 0. Own design. Not here: versions of file formats, which live beside each format.
#pragma once

#define TENSORSMITH_VERSION_MAJOR 0
#define TENSORSMITH_VERSION_MINOR 1
#define TENSORSMITH_VERSION_PATCH 0
#define TENSORSMITH_VERSION "0.1.0"

namespace tensorsmith {

inline constexpr int version_major = TENSORSMITH_VERSION_MAJOR;
inline constexpr int version_minor = TENSORSMITH_VERSION_MINOR;
inline constexpr int version_patch = TENSORSMITH_VERSION_PATCH;
inline constexpr const char* version_string = TENSORSMITH_VERSION;

}  // namespace tensorsmith
