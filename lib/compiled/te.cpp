// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/notation_body.hpp"
