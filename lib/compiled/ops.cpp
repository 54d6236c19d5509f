#include "tensorsmith/ops/workload_body.hpp"
