// Undefines the macros that a level defines for f32_nbits.inc alone.
#undef K
#undef WIDE_COLS
#undef SIZES
#undef MOST
#undef SAME
#undef T
#undef CENTRED
#undef TOP
#undef ENTRY
#undef NEXT
#undef TABLE
#undef GATHER
