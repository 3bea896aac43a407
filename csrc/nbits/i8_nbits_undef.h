// Undefines the macros that a level defines for i8_panels.inc alone.
#undef K
#undef SIZES
#undef MOST
#undef SAME
#undef ZERO
#undef SELF
#undef CENTRED
#undef LOWEST
#undef NEXT
#undef DOT
#undef FLOATS
#undef SHIFTED
