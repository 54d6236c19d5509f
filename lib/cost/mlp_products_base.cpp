#define TENSORSMITH_MLP_WIDTH base
#include "mlp_products.ipp"
