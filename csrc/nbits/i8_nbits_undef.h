// Undefines the macros that a level defines for i8_nbits.inc alone.
#undef K
#undef WIDE_COLS
#undef SELF
#undef CENTRED
#undef LOWEST
#undef NEXT
#undef DOT
#undef FLOATS
