// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/feature/build_store_program_body.hpp"
#include "tensorsmith/feature/extract_body.hpp"
#include "tensorsmith/feature/felix_rows_body.hpp"
#include "tensorsmith/feature/pam_rows_body.hpp"
