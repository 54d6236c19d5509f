// SPDX-License-Identifier: Apache-2.0
// The rules of the reference's rewriting for comparisons and what joins them (rules.hpp).
//
// Floor 1. Facts about the Ansor reference 0.16 in the notation of rule_parser.hpp.
#pragma once

#include <string_view>

namespace tensorsmith::algebra::rules {

inline constexpr std::string_view equal_lines[] = {
    "c1 == x -> x == c1",
    "x - c1 == c2 -> x == c2 + c1",
    "c1 - x == c2 -> x == c1 - c2",
    "x + c1 == c2 -> x == c2 - c1",
    "x * y == 0 => x == 0 || y == 0",
};
/// Constants of a quotient are divided towards zero.
inline constexpr std::string_view less_lines[] = {
    "x + y < x + z -> y < z",
    "x + y < z + x -> y < z",
    "y + x < x + z -> y < z",
    "y + x < z + x -> y < z",
    "y - x < z - x -> y < z",
    "x - y < x - z -> z < y",
    "x < x + z -> 0 < z",
    "x < z + x -> 0 < z",
    "x < x - z -> z < 0",
    "x * c1 < y * c1 -> x < y ; c1 > 0",
    "x * c1 < y * c1 -> y < x ; c1 < 0",
    "x * c2 < c1 -> x < (c1 - 1) // c2 + 1 ; c1 > 0 && c2 > 0",
    "x * c2 < c1 -> x < 0 - (0 - c1) // c2 ; c1 <= 0 && c2 > 0",
    "x * c2 < c1 -> 0 - (c1 - 1) // (0 - c2) - 1 < x ; c1 > 0 && c2 < 0",
    "x * c2 < c1 -> (0 - c1) // (0 - c2) < x ; c1 <= 0 && c2 < 0",
    "c1 < x * c2 -> 0 - (0 - (c1 + 1)) // c2 - 1 < x ; c1 < 0 && c2 > 0",
    "c1 < x * c2 -> c1 // c2 < x ; c1 >= 0 && c2 > 0",
    "c1 < x * c2 -> x < (0 - (c1 + 1)) // (0 - c2) + 1 ; c1 < 0 && c2 < 0",
    "c1 < x * c2 -> x < 0 - c1 // (0 - c2) ; c1 >= 0 && c2 < 0",
    "x // c1 < c2 -> x < c1 * c2 ; c1 > 0",
    "c1 < x // c2 -> (c1 + 1) * c2 - 1 < x ; c2 > 0",
    "x // c1 * c1 < x -> 0 < x % c1 ; c1 > 0",
    "x // c1 * c1 < x + y -> 0 < x % c1 + y ; c1 > 0",
    "x // c1 * c1 < x - y -> y < x % c1 ; c1 > 0",
    "(x + c2) // c1 * c1 < x -> c2 < (x + c2) % c1 ; c1 > 0",
    "(x + c2) // c1 * c1 < x + y -> c2 < (x + c2) % c1 + y ; c1 > 0",
    "(x + c2) // c1 * c1 < x - y -> y < (x + c2) % c1 + (0 - c2) ; c1 > 0",
    "min(x, y) < z => x < z || y < z",
    "max(x, y) < z => x < z && y < z",
    "z < min(x, y) => z < x && z < y",
    "z < max(x, y) => z < x || z < y",
    "c1 < x + c2 ~ c1 - x < c2 => c1 - c2 < x",
    "c1 < c2 - x ~ x + c1 < c2 => x < c2 - c1",
    "c1 < x - c2 => c1 + c2 < x",
    "x - c2 < c1 => x < c1 + c2",
    "x < c1 - y => x + y < c1",
    "c1 - y < x => c1 < x + y",
    "x < c1 + y => x - y < c1",
    "c1 + y < x => c1 < x - y",
};
inline constexpr std::string_view not_lines[] = {
    "!!x -> x",
    "!(x <= y) -> y < x",
    "!(x >= y) -> x < y",
    "!(x < y) -> y <= x",
    "!(x > y) -> x <= y",
    "!(x == y) -> x != y",
    "!(x != y) -> x == y",
    "!(x || y) => !x && !y",
    "!(x && y) => !x || !y",
};
inline constexpr std::string_view and_lines[] = {
    "x == y && x != y -> false",
    "x != y && x == y -> false",
    "x && !x -> false",
    "x <= y && y < x -> false",
    "y < x && x <= y -> false",
    "x < c1 && c2 < x -> false ; c2 + 1 >= c1",
    "c2 < x && x < c1 -> false ; c2 + 1 >= c1",
    "x < c1 && c2 <= x ~ c2 <= x && x < c1 ~ x <= c1 && c2 < x ~ c2 < x && x <= c1 -> false ; "
    "c2 >= c1",
    "x <= c1 && c2 <= x ~ c2 <= x && x <= c1 -> false ; c2 > c1",
    "x == c1 && x == c2 -> x == c1 && c1 == c2",
    "x == c1 && x != c2 ~ x != c2 && x == c1 -> x == c1 && c1 != c2",
    "x // c2 == c1 && x % c2 == c3 ~ x % c2 == c3 && x // c2 == c1 => x == c1 * c2 + c3 ; "
    "0 <= c3 && c3 < c2",
    "0 <= x - y * c1 && x - y * c1 < c1 ~ x - y * c1 < c1 && 0 <= x - y * c1 => y == x // c1 ; "
    "c1 > 0",
    "c1 < x - y * c1 && x - y * c1 <= 0 => y == x // c1 ; c1 < 0",
    "0 <= x + y * c2 && x + y * c2 < c1 ~ x + y * c2 < c1 && 0 <= x + y * c2 => y == x // c1 ; "
    "c2 == 0 - c1 && c1 > 0",
    "x < c1 && x % c2 < c3 => x < c1 - c2 + c3 && x % c2 < c3 ; "
    "c3 <= c2 && c2 > 0 && c1 % c2 == 0",
    "x < c1 && x % c2 < c3 => x < c1 - c1 % c2 + c3 && x % c2 < c3 ; c2 > 0 && c1 % c2 > c3",
    "x <= c1 && x % c2 < c3 => x < c1 + 1 - c2 + c3 && x % c2 < c3 ; "
    "c3 <= c2 && c2 > 0 && (c1 + 1) % c2 == 0",
    "x <= c1 && x % c2 < c3 => x < c1 + 1 - c1 % c2 + c3 && x % c2 < c3 ; "
    "c2 > 0 && (c1 + 1) % c2 > c3",
    "x // c2 == c1 && x % c2 < c3 ~ x % c2 < c3 && x // c2 == c1 => "
    "c1 * c2 <= x && x < c1 * c2 + c3 ; c3 <= c2 && c2 > 0",
    "x // c2 == c1 && x % c2 <= c3 ~ x % c2 <= c3 && x // c2 == c1 => "
    "c1 * c2 <= x && x <= c1 * c2 + c3 ; c3 < c2",
    "x // c2 == c1 && c3 <= x % c2 ~ c3 <= x % c2 && x // c2 == c1 => "
    "c1 * c2 + c3 <= x && x < (c1 + 1) * c2 ; c3 >= 0 && c2 > 0",
    "x // c2 == c1 && c3 < x % c2 ~ c3 < x % c2 && x // c2 == c1 => "
    "c1 * c2 + c3 < x && x < (c1 + 1) * c2 ; c3 >= 0 && c2 > 0",
    "x && (y && z) => x && y && z",
};
inline constexpr std::string_view or_lines[] = {
    "x == y || x != y -> true",
    "x != y || x == y -> true",
    "x || !x -> true",
    "x <= y || y < x -> true",
    "y < x || x <= y -> true",
    "x < y || y < x -> x != y",
    "x < c1 || c2 < x -> true ; c2 < c1",
    "c2 < x || x < c1 -> true ; c2 < c1",
    "x <= c1 || c2 < x -> true ; c2 <= c1",
    "c2 < x || x <= c1 -> true ; c2 <= c1",
    "x < c1 || c2 <= x -> true ; c2 <= c1",
    "c2 <= x || x < c1 -> true ; c2 <= c1",
    "x <= c1 || c2 <= x -> true ; c2 <= c1 + 1",
    "c2 <= x || x <= c1 -> true ; c2 <= c1 + 1",
    "x != c1 || x != c2 -> x != c1 || c1 != c2",
    "x != c1 || x == c2 -> x != c1 || c1 == c2",
    "x == c2 || x != c1 -> x != c1 || c1 == c2",
    "x < y || x == y => x <= y",
    "x < y || y == x => x <= y",
    "x == y || x < y => x <= y",
    "y == x || x < y => x <= y",
    "x || (y || z) => x || y || z",
};

}  // namespace tensorsmith::algebra::rules
