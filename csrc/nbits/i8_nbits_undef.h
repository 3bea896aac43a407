// What the files of i8_nbits define for i8_nbits.inc.
#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K
#undef WIDE_COLS
#undef I
#undef WORDS
#undef SAME
#undef WIDENED
#undef SPREAD
#undef SELF
#undef CENTRED
#undef LOWEST
#undef NEXT
#undef DOT
#undef FLOATS
