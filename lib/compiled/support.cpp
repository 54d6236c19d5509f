// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/task_body.hpp"
#include "tensorsmith/support/quote_body.hpp"
