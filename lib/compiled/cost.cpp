// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/draft_model_body.hpp"
#include "tensorsmith/cost/gpu_latency_body.hpp"
