// Convolutions by 3 x 3 filters in tiles of 4 x 4 pixels, with fewer products (Winograd,
// "Arithmetic complexity of computations", 1980; Lavin and Gray, "Fast algorithms for convolutional
// neural networks", 2015). The interpolation points are 0, +-2/3, +-3/2 and infinity.
#ifndef WINOGRAD_GLSL
#define WINOGRAD_GLSL

const uint SIDE = 6; // points along an axis
const uint POINTS = SIDE * SIDE;
const uint TILE = 4; // pixels of the result along an axis

// A B = 1.
const float A = 2.0 / 3.0, B = 1.5;
const float A2 = A * A, B2 = B * B, A3 = A2 * A, B3 = B2 * B;

// points_of transforms six pixels to points.
void points_of(inout float v[SIDE]) {
    float even_a = v[4] - B2 * v[2], odd_a = A * (v[3] - B2 * v[1]);
    float even_b = v[4] - A2 * v[2], odd_b = B * (v[3] - A2 * v[1]);
    float first = v[0] + (v[4] - (A2 + B2) * v[2]), last = v[1] + (v[5] - (A2 + B2) * v[3]);
    v = float[SIDE](first, even_a + odd_a, even_a - odd_a, even_b + odd_b, even_b - odd_b, last);
}

// points_of_filter transforms three taps of a filter to points.
void points_of_filter(inout float v[SIDE]) {
    const float by_a = 1.0 / (2.0 * A2 * (A2 - B2)), by_b = 1.0 / (2.0 * B2 * (B2 - A2));
    float even_a = (v[0] + A2 * v[2]) * by_a, odd_a = A * v[1] * by_a;
    float even_b = (v[0] + B2 * v[2]) * by_b, odd_b = B * v[1] * by_b;
    v = float[SIDE](v[0], even_a + odd_a, even_a - odd_a, even_b + odd_b, even_b - odd_b, v[2]);
}

// pixels_of transforms six points to four pixels.
void pixels_of(inout float v[SIDE]) {
    float p = v[1] + v[2], q = v[1] - v[2], r = v[3] + v[4], s = v[3] - v[4];
    v = float[SIDE](v[0] + (p + r), A * q + B * s, A2 * p + B2 * r, v[5] + (A3 * q + B3 * s), 0.0, 0.0);
}

#endif
