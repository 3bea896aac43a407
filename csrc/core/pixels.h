// The pixels of a tile of convolutions, at most 14. The address of pixel i is one of a few pointers
// plus 0, 1, 2, 4 or 8 times the pitch, as x86 addressing can express.
#ifndef NACRE_CORE_PIXELS_H
#define NACRE_CORE_PIXELS_H

// NACRE_PIXELS expands X(i) for all pixels. NACRE_PIXEL_BASES expands it for the pointers besides
// x0: x<i> = x0 + i*pitch.
#define NACRE_PIXELS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
#define NACRE_PIXEL_BASES(X) X(3) X(6) X(9) X(12)
#define NACRE_PIXEL_AT0 x0
#define NACRE_PIXEL_AT1 x0 + pitch
#define NACRE_PIXEL_AT2 x0 + 2 * pitch
#define NACRE_PIXEL_AT3 x3
#define NACRE_PIXEL_AT4 x0 + 4 * pitch
#define NACRE_PIXEL_AT5 x3 + 2 * pitch
#define NACRE_PIXEL_AT6 x6
#define NACRE_PIXEL_AT7 x3 + 4 * pitch
#define NACRE_PIXEL_AT8 x0 + 8 * pitch
#define NACRE_PIXEL_AT9 x9
#define NACRE_PIXEL_AT10 x6 + 4 * pitch
#define NACRE_PIXEL_AT11 x3 + 8 * pitch
#define NACRE_PIXEL_AT12 x12
#define NACRE_PIXEL_AT13 x9 + 4 * pitch

#endif
