#include "tensorsmith/codegen/cpp_source_body.hpp"
#include "tensorsmith/codegen/cuda_source_body.hpp"
