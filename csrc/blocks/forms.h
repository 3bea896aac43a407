// The forms of panels.
#ifndef NACRE_BLOCKS_FORMS_H
#define NACRE_BLOCKS_FORMS_H

#include "blocks/panels.h"

// Entries of tables, plus the middle of their forms. Those of grids have the sign in the top bit.
static const uint8_t block_table_signs[16] = {0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2};
static const uint8_t block_table_nl[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};
static const uint8_t block_table_fp4[16] = {16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4};
static const uint8_t block_table_iq2[16] = {56, 73, 91, 0, 40, 23, 5, 0, 56, 73, 91, 0, 40, 23, 5, 0};
static const uint8_t block_table_iq1[16] = {17, 25, 16, 9, 15, 23, 16, 7, 17, 25, 16, 9, 15, 23, 16, 7};
static const uint8_t block_table_iq3_xxs[16] = {66, 74, 82, 90, 98, 106, 114, 124, 58, 50, 42, 34, 26, 18, 10, 0};
static const uint8_t block_table_iq3_s[16] = {17, 19, 21, 23, 25, 27, 29, 31, 15, 13, 11, 9, 7, 5, 3, 1};

// The places of a table.
static const uint8_t block_table_places[32] __attribute__((unused)) = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                                      16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

// The forms by type. Kernels take them as constants.
static const nacre_block_form nacre_block_forms[NACRE_BLOCK_TYPES] __attribute__((unused)) = {
    [NACRE_BLOCK_q4_0] = {4, 0, 1, 32, 8, NACRE_SCALES_HALF, NULL, 0},
    [NACRE_BLOCK_q4_1] = {4, 0, 1, 32, 0, NACRE_SCALES_LEAST, NULL, 0},
    [NACRE_BLOCK_q5_0] = {4, 1, 1, 32, 16, NACRE_SCALES_HALF, NULL, 0},
    [NACRE_BLOCK_q5_1] = {4, 1, 1, 32, 0, NACRE_SCALES_LEAST, NULL, 0},
    [NACRE_BLOCK_q8_0] = {8, 0, 1, 32, 128, NACRE_SCALES_HALF, NULL, 0},
    [NACRE_BLOCK_q2_k] = {2, 0, 8, 16, 0, NACRE_SCALES_NIBBLES, NULL, 0},
    [NACRE_BLOCK_q3_k] = {2, 1, 8, 16, 4, NACRE_SCALES_SIGNED, NULL, 0},
    [NACRE_BLOCK_q4_k] = {4, 0, 8, 32, 0, NACRE_SCALES_PAIRS, NULL, 0},
    [NACRE_BLOCK_q5_k] = {4, 1, 8, 32, 0, NACRE_SCALES_PAIRS, NULL, 0},
    [NACRE_BLOCK_q6_k] = {4, 2, 8, 16, 32, NACRE_SCALES_SIGNED, NULL, 0},
    [NACRE_BLOCK_iq2_xxs] = {2, 1, 8, 32, 48, NACRE_SCALES_EIGHTHS, block_table_iq2, 0},
    [NACRE_BLOCK_iq2_xs] = {2, 1, 8, 16, 48, NACRE_SCALES_EIGHTHS, block_table_iq2, 0},
    [NACRE_BLOCK_iq2_s] = {2, 1, 8, 16, 48, NACRE_SCALES_EIGHTHS, block_table_iq2, 0},
    [NACRE_BLOCK_iq3_xxs] = {4, 0, 8, 32, 62, NACRE_SCALES_EIGHTHS, block_table_iq3_xxs, 0},
    [NACRE_BLOCK_iq3_s] = {4, 0, 8, 32, 16, NACRE_SCALES_SIGNED, block_table_iq3_s, 0},
    [NACRE_BLOCK_iq4_nl] = {4, 0, 1, 32, 128, NACRE_SCALES_HALF, block_table_nl, 0},
    [NACRE_BLOCK_iq4_xs] = {4, 0, 8, 32, 128, NACRE_SCALES_SIGNED, block_table_nl, 0},
    [NACRE_BLOCK_iq1_s] = {2, 1, 8, 32, 16, NACRE_SCALES_EIGHTHS, block_table_iq1, 0},
    [NACRE_BLOCK_iq1_m] = {2, 1, 8, 16, 16, NACRE_SCALES_EIGHTHS, block_table_iq1, 0},
    [NACRE_BLOCK_q1_0] = {1, 0, 4, 32, 1, NACRE_SCALES_HALF, block_table_signs, 0},
    [NACRE_BLOCK_tq1_0] = {2, 0, 8, 32, 1, NACRE_SCALES_HALF, NULL, 0},
    [NACRE_BLOCK_tq2_0] = {2, 0, 8, 32, 1, NACRE_SCALES_HALF, NULL, 0},
    [NACRE_BLOCK_mxfp4] = {4, 0, 1, 32, 16, NACRE_SCALES_BFLOAT, block_table_fp4, 0},
    [NACRE_BLOCK_nvfp4] = {4, 0, 2, 16, 16, NACRE_SCALES_E4M3, block_table_fp4, 0},
    [NACRE_BLOCK_q2_0] = {2, 0, 2, 32, 1, NACRE_SCALES_HALF, NULL, 0},
};

#endif
