package shaders

// placed is the one variant of shaders that move places.
var placed = []Variant{{Name: "place"}}

var countKernels = []Kernel{
	{"count/boxes", 8, 3, 1<<5 | 1<<6 | 1<<7, []string{"center", "given"}, []Variant{{Name: "f32"}}},
	{"count/groups", 9, 1, 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8, []string{"sorted", "wants"}, placed},
	{"count/heads", 3, 3, 1 << 2, []string{"kind"}, widths(0)},
	{"count/list", 4, 2, 1<<1 | 1<<2 | 1<<3, nil, placed},
	{"count/order", 2, 6, 1 << 1, []string{"kind"}, widths(0)},
	{"count/picked", 4, 3, 1<<2 | 1<<3, nil, placed},
	{"count/places", 3, 10, 1 << 2, nil, placed},
	{"count/set", 2, 1, 1 << 1, []string{"bits", "mask"}, []Variant{{Name: "packed"}}},
	{"count/starts", 4, 1, 1<<2 | 1<<3, []string{"sorted"}, placed},
	{"count/sums", 2, 2, 1 << 1, nil, placed},
	{"count/take", 4, 4, 1 << 3, nil, widths(0)},
}
