package shaders

var scatterKernels = []Kernel{
	{"scatter/note", 3, 20, 1<<0 | 1<<2, []string{"index words", "tuples"}, []Variant{{Name: "index"}}},
	{"scatter/rows", 4, 5, 1<<2 | 1<<3, []string{"circular", "index words"}, widths(0)},
	{"scatter/write", 5, 20, 1<<3 | 1<<4, []string{"index words", "tuples"}, widths(0)},
	{"scatter/reduce", 4, 22, 1<<2 | 1<<3, []string{"index words", "tuples", "reduce"}, elements("f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64")},
}
