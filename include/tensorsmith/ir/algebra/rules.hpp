// SPDX-License-Identifier: Apache-2.0
// The rules of the reference's rewriting, by the operation at the root of what they rewrite.
//
// Floor 1. Facts about the Ansor reference 0.16, stated in the notation of rule_parser.hpp: which
// equalities it uses, in which order, and whether it goes on with the result. Divisions are those
// that round down. Where one of its steps is no rule of this form, the list is in parts and the
// step is in rewriter.hpp. Every rule is true: the tests try each of them on random numbers.
#pragma once

#include <string_view>

namespace tensorsmith::algebra::rules {

inline constexpr std::string_view sum_lines[] = {
    "(x - y) + y -> x",
    "x + (y - x) -> y",
    "(x - y) + (y - z) -> x - z",
    "(x - y) + (z - x) -> z - y",
    "min(x, y - z) + z -> min(x + z, y)",
    "min(x - z, y) + z -> min(x, y + z)",
    "max(x, y - z) + z -> max(x + z, y)",
    "max(x - z, y) + z -> max(x, y + z)",
    "min(x, y + z * c1) + z * c2 -> min(x + z * c2, y) ; c1 == 0 - c2",
    "max(x, y + z * c1) + z * c2 -> max(x + z * c2, y) ; c1 == 0 - c2",
    "min(y + z * c1, x) + z * c2 -> min(x + z * c2, y) ; c1 == 0 - c2",
    "max(y + z * c1, x) + z * c2 -> max(x + z * c2, y) ; c1 == 0 - c2",
    "max(x, y) + min(x, y) ~ min(x, y) + max(x, y) ~ max(x, y) + min(y, x) ~ "
    "min(x, y) + max(y, x) -> x + y",
    "min(x, y + c1) + c2 -> min(x + c2, y) ; c1 == 0 - c2",
    "min(x + c1, y) + c2 -> min(x, y + c2) ; c1 == 0 - c2",
    "max(x, y + c1) + c2 -> max(x + c2, y) ; c1 == 0 - c2",
    "max(x + c1, y) + c2 -> max(x, y + c2) ; c1 == 0 - c2",
    "(x + c1) + c2 -> x + (c1 + c2)",
    "x + x -> x * 2",
    "x * y + x ~ y * x + x ~ x + y * x ~ x + x * y -> x * (y + 1)",
    "x * y + x * z ~ y * x + x * z ~ x * y + z * x ~ y * x + z * x -> x * (y + z)",
    "x // y * y + x % y ~ y * (x // y) + x % y ~ x % y + x // y * y ~ x % y + y * (x // y) -> x",
    "(x % c2 + c1) // c2 + x // c2 -> (x + c1) // c2 ; c2 > 0",
    "x // 2 + x % 2 => (x + 1) // 2",
    "(x + c1) % 2 + x % 2 -> 1 ; c1 % 2 == 1",
    "x % 2 + (x + c1) % 2 -> 1 ; c1 % 2 == 1",
    "x + (c1 - y) ~ (c1 - y) + x => (x - y) + c1",
    "(x + c1) + y ~ x + (c1 + y) ~ x + (y + c1) => (x + y) + c1",
    "x + max(y, z) => max(y, z) + x",
    "x + min(y, z) => min(y, z) + x",
    "y % c1 + x * c1 => x * c1 + y % c1",
};
inline constexpr std::string_view difference_lines[] = {
    "(x + y) - y ~ (y + x) - y -> x",
    "x - (y + x) ~ x - (x + y) -> 0 - y",
    "min(x, y) - y ~ x - max(y, x) -> min(x - y, 0)",
    "x - max(x, y) ~ min(y, x) - y -> min(0, x - y)",
    "max(x, y) - y ~ x - min(y, x) -> max(x - y, 0)",
    "x - min(x, y) ~ max(y, x) - y -> max(0, x - y)",
    "x - x -> 0",
    "x * y - x ~ y * x - x -> x * (y - 1)",
    "x - y * x ~ x - x * y -> x * (1 - y)",
    "x * y - x * z ~ y * x - x * z ~ x * y - z * x ~ y * x - z * x -> x * (y - z)",
    "(x + c1) - c2 -> x + (c1 - c2)",
    "(c1 - x) - (c2 - y) -> (y - x) + (c1 - c2)",
    "(x + y) - (x + z) ~ (x + y) - (z + x) ~ (y + x) - (z + x) ~ (y + x) - (x + z) -> y - z",
    "min(x + y, z) - x ~ min(y + x, z) - x -> min(y, z - x)",
    "min(z, x + y) - x ~ min(z, y + x) - x -> min(z - x, y)",
    "max(x + y, z) - x ~ max(y + x, z) - x -> max(y, z - x)",
    "max(z, x + y) - x ~ max(z, y + x) - x -> max(z - x, y)",
    "x - min(x + y, z) ~ x - min(y + x, z) -> max(0 - y, x - z)",
    "x - min(z, x + y) ~ x - min(z, y + x) -> max(x - z, 0 - y)",
    "x - max(x + y, z) ~ x - max(y + x, z) -> min(0 - y, x - z)",
    "x - max(z, x + y) ~ x - max(z, y + x) -> min(x - z, 0 - y)",
    "min(x, y) - min(y, x) -> 0",
    "max(x, y) - max(y, x) -> 0",
    "min(p, q) - min(s, t) ~ min(p, q) - min(t, s) -> p - s ; prove0((p - s) - (q - t))",
    "max(p, q) - max(s, t) ~ max(p, q) - max(t, s) -> p - s ; prove0((p - s) - (q - t))",
    "x - x // c1 * c1 -> x % c1 ; c1 != 0",
    "x // c1 * c1 - x -> 0 - x % c1 ; c1 != 0",
    "x - (x + y) // c1 * c1 -> (x + y) % c1 - y ; c1 != 0",
    "(x + y) // c1 * c1 - x -> y - (x + y) % c1 ; c1 != 0",
    "x - (x - y) // c1 * c1 -> (x - y) % c1 + y ; c1 != 0",
    "(x - y) // c1 * c1 - x -> 0 - (x - y) % c1 - y ; c1 != 0",
    "(x + c1) // 2 - (x + c2) // 2 => x % 2 * (c1 % 2 - c2 % 2) + (c1 // 2 - c2 // 2)",
    "x // 2 - (x + c2) // 2 => x % 2 * (0 - c2 % 2) - c2 // 2",
    "(x + c1) // 2 - x // 2 => x % 2 * (c1 % 2) + c1 // 2",
    "x * c2 - x // c1 * c3 -> x % c1 * c2 ; c1 != 0 && c3 == c1 * c2",
    "x // c1 * c3 - x * c2 -> 0 - x % c1 * c2 ; c1 != 0 && c3 == c1 * c2",
    "x * c2 - (x + y) // c1 * c3 -> ((x + y) % c1 - y) * c2 ; c1 != 0 && c3 == c1 * c2",
    "(x + y) // c1 * c3 - x * c2 -> (y - (x + y) % c1) * c2 ; c1 != 0 && c3 == c1 * c2",
    "x * c2 - (x - y) // c1 * c3 -> ((x - y) % c1 + y) * c2 ; c1 != 0 && c3 == c1 * c2",
    "(x - y) // c1 * c3 - x * c2 -> (0 - (x - y) % c1 - y) * c2 ; c1 != 0 && c3 == c1 * c2",
    "(x + 1) // 2 - x % 2 => x // 2",
    "(x + c1) // c3 - (x + c2) // c3 -> ((x + c2 % c3) % c3 + (c1 - c2)) // c3 ; c3 > 0",
    "(x + c1) // c3 - x // c3 -> (x % c3 + c1) // c3 ; c3 > 0",
    "x - c1 -> x + (0 - c1)",
    "(x + c1) - y => (x - y) + c1",
    "x - (y + c1) => (x - y) + (0 - c1)",
    "x - (y - z) => (x + z) - y",
    "x - y * c1 => x + y * (0 - c1)",
};
/// Of numbers that are no integers.
inline constexpr std::string_view real_difference_lines[] = {
    "x - x -> 0",           "(x + y) - y -> x",     "(x + y) - x -> y",
    "x - (y + x) -> 0 - y", "x - (x + y) -> 0 - y",
};
inline constexpr std::string_view product_lines[] = {
    "(x + c1) * c2 -> x * c2 + c1 * c2",
    "x * c1 * c2 -> x * (c1 * c2)",
    "min(x, y) * max(x, y) ~ max(x, y) * min(x, y) -> x * y",
    "(x - x % c2) // c1 * c1 -> x - x % c2 ; c1 == 0 - c2",
    "x * (c1 * y) => x * y * c1",
    "c1 * x => x * c1",
    "(x - y) * c1 => (y - x) * (0 - c1) ; c1 < 0",
};
/// Before and after the step for (x * c1 + y) // c2.
inline constexpr std::string_view quotient_first_lines[] = {
    "x // c1 // c2 -> x // (c1 * c2) ; c1 > 0 && c2 > 0",
    "(x // c1 + c2) // c3 -> (x + c1 * c2) // (c1 * c3) ; c1 > 0 && c3 > 0",
};
inline constexpr std::string_view quotient_lines[] = {
    "x // x -> 1",
    "x * c1 // x ~ c1 * x // x -> c1",
    "(x % 2 + 1) // 2 -> x % 2",
    "min(x * c1, y) // c2 -> min(x * (c1 // c2), y // c2) ; c2 > 0 && c1 % c2 == 0",
    "max(x * c1, y) // c2 -> max(x * (c1 // c2), y // c2) ; c2 > 0 && c1 % c2 == 0",
    "min(y, x * c1) // c2 -> min(y // c2, x * (c1 // c2)) ; c2 > 0 && c1 % c2 == 0",
    "max(y, x * c1) // c2 -> max(y // c2, x * (c1 // c2)) ; c2 > 0 && c1 % c2 == 0",
    "(x * c1 + y + z) // c2 -> x * (c1 // c2) + (y + z) // c2 ; c2 > 0 && c1 % c2 == 0",
    "(x * c1 + y + z) // c2 -> x // (c2 // c1) ; "
    "c1 > 0 && c2 > 0 && c2 % c1 == 0 && prove0((y + z) // c1)",
    "(x * c1 - y + z) // c2 ~ (x * c1 + z - y) // c2 -> x * (c1 // c2) + (z - y) // c2 ; "
    "c2 > 0 && c1 % c2 == 0",
    "(y + x * c1 + z) // c2 -> x * (c1 // c2) + (y + z) // c2 ; c2 > 0 && c1 % c2 == 0",
    "(x + c1) // c2 -> x // c2 + c1 // c2 ; c2 > 0 && c1 % c2 == 0",
    "x * c1 // (x * c2) -> c1 // c2 ; c2 > 0",
    "(x + y) // x ~ (y + x) // x -> y // x + 1 ; ge(x, 0)",
    "(x + y + z) // x ~ (y + x + z) // x ~ (y + (z + x)) // x ~ (y + (x + z)) // x -> "
    "(y + z) // x + 1 ; ge(x, 0)",
    "x * y // y ~ y * x // y -> x ; ge(y, 0)",
    "(x * z + y) // z ~ (z * x + y) // z -> x + y // z ; ge(z, 0)",
    "(y + x * z) // z ~ (y + z * x) // z -> y // z + x ; ge(z, 0)",
    "(x - x % c1) // c1 -> x // c1 ; c1 != 0",
};
inline constexpr std::string_view remainder_lines[] = {
    "x * c1 % c2 -> x * (c1 % c2) % c2 ; c2 != 0",
    "(x * c1 + y) % c2 -> x % (c2 // c1) * c1 + y ; "
    "c1 > 0 && c2 > 0 && c2 % c1 == 0 && prove0(y // c1)",
    "(x * c1 + y) % c2 -> (x * (c1 % c2) + y) % c2 ; c2 > 0",
    "(x + c1) % c2 -> (x + c1 % c2) % c2 ; c2 > 0 && (c1 >= c2 || c1 < 0)",
    "(x + y * c1) % c2 -> (x + y * (c1 % c2)) % c2 ; c2 > 0",
    "x * c1 % (x * c2) -> x * (c1 % c2) ; c2 != 0",
    "x * y % y ~ y * x % y -> 0",
    "(x + z % y) % y ~ (z % y + x) % y -> 0 ; prove0((x + z) % y)",
    "(x - x % z) % y ~ (x % z - x) % y -> 0 ; prove0(y - z) || prove0(y + z)",
};
/// After both sides were compared by their bounds.
inline constexpr std::string_view min_lines[] = {
    "min(x + c1, x + c2) -> x + c1 ; c1 < c2",
    "min(x + c1, x + c2) -> x + c2 ; c1 >= c2",
    "min(x + c1, x) ~ min(x, x + c1) -> x + c1 ; c1 < 0",
    "min(x + c1, x) ~ min(x, x + c1) -> x ; c1 >= 0",
    "min(c1 - x, c2 - x) -> c1 - x ; c1 < c2",
    "min(c1 - x, c2 - x) -> c2 - x ; c1 >= c2",
    "min((x + c1) // c2 * c2, x) ~ min(x, (x + c1) // c2 * c2) -> x ; c2 > 0 && c1 + 1 == c2",
    "min((x + c1) // c2 * c2, max(x, c2)) ~ min(max(x, c2), (x + c1) // c2 * c2) -> max(x, c2) ; "
    "c2 > 0 && c1 + 1 == c2 && ge(x, 1)",
    "min(x, x // c2 * c2) ~ min(x // c2 * c2, x) -> x // c2 * c2 ; c2 > 0",
    "min(max(x, y), min(x, y)) ~ min(max(x, y), min(y, x)) ~ min(min(x, y), max(x, y)) ~ "
    "min(min(x, y), max(y, x)) ~ min(min(x, y), x) ~ min(min(x, y), y) ~ min(x, min(x, y)) ~ "
    "min(y, min(x, y)) -> min(x, y)",
    "min(max(x, y), x) ~ min(max(y, x), x) ~ min(x, max(x, y)) ~ min(x, max(y, x)) -> x",
    "min(min(min(x, y), z), y) -> min(min(x, y), z)",
    "min(min(min(min(x, y), z), s), y) -> min(min(min(x, y), z), s)",
    "min(min(min(min(min(x, y), z), s), t), y) -> min(min(min(min(x, y), z), s), t)",
    "min(max(x, y), max(x, z)) ~ min(max(x, y), max(z, x)) ~ min(max(y, x), max(x, z)) ~ "
    "min(max(y, x), max(z, x)) -> max(min(y, z), x)",
    "min(min(x, y), min(x, z)) ~ min(min(x, y), min(z, x)) ~ min(min(y, x), min(x, z)) ~ "
    "min(min(y, x), min(z, x)) -> min(min(y, z), x)",
    "min(y + x, z + x) ~ min(y + x, x + z) ~ min(x + y, x + z) ~ min(x + y, z + x) -> "
    "min(y, z) + x",
    "min(y - x, z - x) -> min(y, z) - x",
    "min(x - y, x - z) -> x - max(y, z)",
    "min(min(x, c1), c2) -> min(x, min(c1, c2))",
    "min(x // c1, y // c1) -> min(x, y) // c1 ; c1 > 0",
    "min(x // c1, y // c1) -> max(x, y) // c1 ; c1 < 0",
    "min(x * c1, y * c1) -> min(x, y) * c1 ; c1 > 0",
    "min(x * c1, y * c1) -> max(x, y) * c1 ; c1 < 0",
    "min(x * c1, c2) -> min(x, c2 // c1) * c1 ; c1 > 0 && c2 % c1 == 0",
    "min(x * c1, c2) -> max(x, c2 // c1) * c1 ; c1 < 0 && c2 % c1 == 0",
    "min(min(x, c1), y) => min(min(x, y), c1)",
    "min(c1 - x, c2) => c1 - max(x, c1 - c2) ; c2 != 0",
};
inline constexpr std::string_view max_lines[] = {
    "max(x + c1, x + c2) -> x + c1 ; c1 > c2",
    "max(x + c1, x + c2) -> x + c2 ; c1 <= c2",
    "max(x + c1, x) ~ max(x, x + c1) -> x + c1 ; c1 > 0",
    "max(x + c1, x) ~ max(x, x + c1) -> x ; c1 <= 0",
    "max(c1 - x, c2 - x) -> c1 - x ; c1 > c2",
    "max(c1 - x, c2 - x) -> c2 - x ; c1 <= c2",
    "max((x + c1) // c2 * c2, x) ~ max(x, (x + c1) // c2 * c2) -> (x + c1) // c2 * c2 ; "
    "c2 > 0 && c1 + 1 == c2",
    "max(x // c2 * c2, x) ~ max(x, x // c2 * c2) -> x ; c2 > 0",
    "max(min(x, y), x) ~ max(min(y, x), x) ~ max(x, min(x, y)) ~ max(x, min(y, x)) -> x",
    "max(min(x, y), max(x, y)) ~ max(min(x, y), max(y, x)) ~ max(max(x, y), min(x, y)) ~ "
    "max(max(x, y), min(y, x)) ~ max(max(x, y), x) ~ max(max(x, y), y) ~ max(x, max(x, y)) ~ "
    "max(y, max(x, y)) -> max(x, y)",
    "max(max(max(x, y), z), y) -> max(max(x, y), z)",
    "max(max(max(max(x, y), z), s), y) -> max(max(max(x, y), z), s)",
    "max(max(max(max(max(x, y), z), s), t), y) -> max(max(max(max(x, y), z), s), t)",
    "max(max(x, y), max(x, z)) ~ max(max(x, y), max(z, x)) ~ max(max(y, x), max(x, z)) ~ "
    "max(max(y, x), max(z, x)) -> max(max(y, z), x)",
    "max(min(x, y), min(x, z)) ~ max(min(x, y), min(z, x)) ~ max(min(y, x), min(x, z)) ~ "
    "max(min(y, x), min(z, x)) -> min(max(y, z), x)",
    "max(y + x, z + x) ~ max(y + x, x + z) ~ max(x + y, x + z) ~ max(x + y, z + x) -> "
    "max(y, z) + x",
    "max(y - x, z - x) -> max(y, z) - x",
    "max(x - y, x - z) -> x - min(y, z)",
    "max(max(x, c1), c2) -> max(x, max(c1, c2))",
    "max(x // c1, y // c1) -> max(x, y) // c1 ; c1 > 0",
    "max(x // c1, y // c1) -> min(x, y) // c1 ; c1 < 0",
    "max(x * c1, y * c1) -> max(x, y) * c1 ; c1 > 0",
    "max(x * c1, y * c1) -> min(x, y) * c1 ; c1 < 0",
    "max(x * c1, c2) -> max(x, c2 // c1) * c1 ; c1 > 0 && c2 % c1 == 0",
    "max(x * c1, c2) -> min(x, c2 // c1) * c1 ; c1 < 0 && c2 % c1 == 0",
    "max(max(x, c1), y) => max(max(x, y), c1)",
    "max(c1 - x, c2) => c1 - min(x, c1 - c2) ; c2 != 0",
};
/// Of any type, after the others.
inline constexpr std::string_view choice_sum_lines[] = {
    "select(x, p, q) + select(x, s, t) -> select(x, p + s, q + t)",
};
inline constexpr std::string_view choice_difference_lines[] = {
    "select(x, p, q) - select(x, s, t) -> select(x, p - s, q - t)",
    "select(x, y, z) - z -> select(x, y - z, 0)",
    "select(x, y, z) - y -> select(x, 0, z - y)",
};
inline constexpr std::string_view choice_min_lines[] = {
    "min(select(x, y, z), select(x, s, t)) -> select(x, min(y, s), min(z, t))",
};
inline constexpr std::string_view choice_max_lines[] = {
    "max(select(x, y, z), select(x, s, t)) -> select(x, max(y, s), max(z, t))",
};

}  // namespace tensorsmith::algebra::rules
