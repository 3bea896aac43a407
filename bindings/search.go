package bindings

// Search computes sums of a search for scales with a kernel of op f32_search, as csrc/quant/search.h
// says. Without a table, table is nil.
func (k Kernel) Search(size, tries int, low, high float32, table, x, w, inverse, shift, sums []float32) {
	search(k.row, size, tries, low, high, table, x, w, inverse, shift, sums)
}

// Whole finds whole numbers of scales with a kernel of op f32_whole, as csrc/quant/search.h says.
func (k Kernel) Whole(size, reach int, low, high float32, table, x, w, unit, inverse []float32, least, most float32,
	whole, sums []float32) {
	wholeNumbers(k.row, size, reach, low, high, table, x, w, unit, inverse, least, most, whole, sums)
}
