package shaders

var poolKernels = []Kernel{
	{"pool/fold", 2, 20, 1 << 1, nil, elements("f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64")},
	{"pool/pool", 3, 25, 1<<1 | 1<<2, []string{"kind", "indices", "last"}, elements("f32 f16 bf16")},
	{"pool/unpool", 5, 12, 1<<2 | 1<<3 | 1<<4, []string{"note", "index words"}, widths(0)},
}
