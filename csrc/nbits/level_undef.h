// Undefines the macros that a level defines for f32_nbits.inc and i8_panels.inc.
#undef F
#undef LANES
#undef LANES_N
#undef V
#undef I
#undef WORDS
#undef BYTES
#undef WIDENED
#undef PERMUTED
