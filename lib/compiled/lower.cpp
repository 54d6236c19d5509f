// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/lower_body.hpp"
