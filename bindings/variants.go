package bindings

import (
	"fmt"
	"sync"
)

// table is the rows of every family, read once: a row has one address.
var table = sync.OnceValue(families)

// byOp maps an op to its rows.
var byOp = sync.OnceValue(func() map[string][]Kernel {
	m := map[string][]Kernel{}
	for _, f := range table() {
		for _, k := range f {
			op := k.Op()
			m[op] = append(m[op], k)
		}
	}
	return m
})

// Variants returns the kernel rows of the named ops, or of all ops without names. The rows of an op
// are ordered best first, scalar last.
func Variants(ops ...string) []Kernel {
	var list []Kernel
	for _, op := range ops {
		list = append(list, byOp()[op]...)
	}
	if len(ops) == 0 {
		for _, f := range table() {
			list = append(list, f...)
		}
	}
	return list
}

// Select returns the best kernel of op within the levels in mask. Kernels that can be parts come
// first. An op without a row is an error: the table and its user disagree.
func Select(op string, mask ISA) (Kernel, error) {
	if err := Available(); err != nil {
		return Kernel{}, err
	}
	var best Kernel
	for _, k := range Variants(op) {
		switch {
		case k.ISA()&^mask != 0:
		case k.IsPart():
			return k, nil
		case !best.Valid():
			best = k
		}
	}
	if best.Valid() {
		return best, nil
	}
	return Kernel{}, fmt.Errorf("no kernel %q for instruction-set levels %s", op, mask)
}
