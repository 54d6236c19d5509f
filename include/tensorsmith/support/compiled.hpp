// SPDX-License-Identifier: Apache-2.0
// TENSORSMITH_INLINE: the large functions, inline or compiled once.
//
// Floor 0. Own design. Every header works alone. Where TENSORSMITH_COMPILED is defined, as the
// target tensorsmith::compiled does, headers that stand in front of much code (lower/lower.hpp)
// only declare, and that library defines: a source that lowers then compiles in seconds instead of
// a minute.
#pragma once

#ifdef TENSORSMITH_COMPILED
#define TENSORSMITH_INLINE
#else
#define TENSORSMITH_INLINE inline
#endif
