// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 as bit patterns, for measuring.
//
// Floor 6. The conversions themselves are in support/.
#pragma once

#include "tensorsmith/support/narrow_float.hpp"
