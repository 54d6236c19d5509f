// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/eval_body.hpp"
#include "tensorsmith/te/eval_dag_body.hpp"
