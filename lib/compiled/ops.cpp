// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ops/workload_body.hpp"
