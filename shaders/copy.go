package shaders

// Elements moved as they are, by their width.
var copyKernels = []Kernel{
	{Name: "copy/strided", Operands: 2, Push: 27, Writes: 1 << 1, Variants: widths(0)},
	{Name: "copy/fill", Operands: 1, Push: 20, Writes: 1 << 0, Variants: widths(0)},
	{Name: "copy/turn", Operands: 2, Push: 2, Writes: 1 << 1, Variants: widths(0)},
	{Name: "copy/triangle", Operands: 3, Push: 4, Writes: 1 << 2, Constants: []string{"upper", "given"}, Variants: widths(0)},
}
