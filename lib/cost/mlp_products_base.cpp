// SPDX-License-Identifier: Apache-2.0
#define TENSORSMITH_MLP_WIDTH base
#include "mlp_products.ipp"
