#include "tensorsmith/feature/extract_body.hpp"
