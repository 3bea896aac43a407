// Philox 4x32-10, a generator of numbers that depend only on a key and a counter (J. Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", 2011). Numbers 2i and 2i+1 of a stream come from
// counter i.
#ifndef PHILOX_GLSL
#define PHILOX_GLSL

// philox_pair returns two numbers of 53 random bits, each as the upper 21 and the lower 32.
uvec4 philox_pair(uint i, uvec2 key) {
    uvec4 c = uvec4(i, 0u, 0u, 0u);
    for (uint round = 0; round < 10; round++) {
        uint high0, low0, high1, low1;
        umulExtended(0xD2511F53u, c.x, high0, low0);
        umulExtended(0xCD9E8D57u, c.z, high1, low1);
        c = uvec4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
        key += uvec2(0x9E3779B9u, 0xBB67AE85u);
    }
    return uvec4(c.x >> 11, c.x << 21 | c.y >> 11, c.z >> 11, c.z << 21 | c.w >> 11);
}

// philox returns number i of a stream.
uvec2 philox(uint i, uvec2 key) {
    uvec4 c = philox_pair(i / 2, key);
    return i % 2 == 0 ? c.xy : c.zw;
}

#endif
