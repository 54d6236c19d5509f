#include "tensorsmith/te/notation_body.hpp"
