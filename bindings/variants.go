package bindings

import "fmt"

// Variants returns every kernel row of every family; with op names, only those
// of the named ops. Rows of one op stand best first, scalar last.
func Variants(ops ...string) []Kernel {
	var list []Kernel
	for _, f := range families() {
		for _, k := range f {
			if len(ops) == 0 {
				list = append(list, k)
			}
			for _, op := range ops {
				if k.Op() == op {
					list = append(list, k)
				}
			}
		}
	}
	return list
}

// Select returns the best kernel of op whose levels all lie in mask. An op
// without a row is an error: it means the table and its user disagree.
func Select(op string, mask ISA) (Kernel, error) {
	if err := Available(); err != nil {
		return Kernel{}, err
	}
	for _, k := range Variants(op) {
		if k.ISA()&^mask == 0 {
			return k, nil
		}
	}
	return Kernel{}, fmt.Errorf("no kernel %q for instruction-set levels %s", op, mask)
}
