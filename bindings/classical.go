package bindings

// MLPad is what the rows of the transposed support vectors of RBFF32 are padded
// to a multiple of.
const MLPad = 16
