// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/codegen/cpp_source_body.hpp"
#include "tensorsmith/codegen/cuda_source_body.hpp"
