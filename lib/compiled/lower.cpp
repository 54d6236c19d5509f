#include "tensorsmith/lower/lower_body.hpp"
