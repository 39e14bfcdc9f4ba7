@% if "floorDiv" in plugin.static_helpers or "ceilDiv" in plugin.static_helpers %@
//! a / b, rounded down; -1, which is no dimension, where b is no divisor.
int64_t floorDiv(int64_t a, int64_t b) noexcept
{
    return b <= 0 ? -1 : (a >= 0 ? a / b : -((b - 1 - a) / b));
}

@% endif %@
@% if "ceilDiv" in plugin.static_helpers %@
//! The same, rounded up.
int64_t ceilDiv(int64_t a, int64_t b) noexcept
{
    return floorDiv(a + b - 1, b);
}

@% endif %@
