// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/lower_body.hpp"
#include "tensorsmith/lower/prepack_body.hpp"
#include "tensorsmith/lower/term_conditions_body.hpp"
