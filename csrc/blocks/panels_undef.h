// Undefines the macros of a level for panels_f32.inc and panels_i8.inc.
#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K
#undef W
#undef STEP_BYTES
#undef ALL
#undef WIDENED
#undef LOOKUP
#undef FAR
#undef R
#undef SIZES
#undef MOST
#undef CENTRED
#undef WIDES
#undef DOT
