package vulkan

import (
	"slices"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/shaders"
)

// rowProduct is the work of a dispatch that multiplies rows by a matrix.
type rowProduct struct {
	rows    int
	columns int    // of a workgroup
	element string // of results, as in variants
}

// joinedProducts is the work of a dispatch of up to mostJoined products of the same rows.
type joinedProducts struct {
	rowProduct
	form *joinForm
	n    []int // columns of each product
}

const mostJoined = 3

// joinForm says how products of a shader become those of a shader that joins them, by
// include/joined.glsl. That one's push constants are those of all products, those of each with the
// places of its weights, and a parameter.
type joinForm struct {
	shader  string
	same    []int // push constants of all products
	own     []int // push constants of each; the columns come first
	weights []int // operands that become operand 1
	out     int   // operand for the result
	units   bool  // weights are in units
}

// unitsAlone has the types of devices where each product by weights in units is a command, and so is
// the norm of its row. For a device in software, barriers cost less than what joined products add to
// each invocation.
var unitsAlone = map[string]bool{"cpu": true}

var joinForms = map[string]*joinForm{
	"matmul/gemv":  {"matmul/gemv_joined", []int{0, 2, 3, 4, 6, 19, 24}, []int{1, 5, 15, 16, 20}, []int{1, 2}, 3, false},
	"quant/blocks": {"quant/blocks_joined", []int{0, 2, 6}, []int{1, 3, 4, 7}, []int{1, 2}, 3, true},
	"quant/nbits4": {"quant/nbits4_joined", []int{0, 2, 4, 5, 6}, []int{1}, []int{1, 2, 3, 4}, 5, true},
}

// The operands of shaders that join products: the rows, the weights, and the results.
const (
	joinedRows = iota
	joinedWeights
	joinedOut
	joinedOwn = joinedOut + mostJoined // the first of the shader's own
)

// mergeRows joins command i with the next products of the same rows.
func (v *versions) mergeRows(u *uses, i int) error {
	if _, ok := work[*rowProduct](v, i); !ok || v.of[i][0] == nil {
		return nil
	}
	list := []int{i}
	for _, j := range u.readers[v.of[i][0].root()] {
		if j > list[len(list)-1] && len(list) < mostJoined && v.isJoinable(append(list, j)) {
			list = append(list, j)
		}
	}
	if len(list) == 1 {
		return nil
	}
	return v.join(list)
}

// isJoinable reports whether one dispatch, in the place of the first product, can compute products. All
// but the last are known to be joinable.
func (v *versions) isJoinable(list []int) bool {
	i, j := list[0], list[len(list)-1]
	if _, ok := work[*rowProduct](v, j); !ok {
		return false
	}
	x, y := &v.commands[i], &v.commands[j]
	form := joinForms[x.kernel.Op()]
	if form == nil || form.units && unitsAlone[v.acc.dev.info.Type] || x.kernel.module != y.kernel.module ||
		!slices.Equal(x.kernel.constants, y.kernel.constants) || !v.isSame(i, j, 0) {
		return false
	}
	for _, n := range form.same {
		if x.push[n] != y.push[n] {
			return false
		}
	}
	m, err := shaders.Find(form.shader, x.kernel.Variant())
	if err != nil || m.Kernel.Operands > v.acc.dev.info.Caps.MaxBuffers {
		return false
	}
	if _, ok := v.allWeights(list, form); !ok {
		return false
	}
	all := v.operands(j)
	for _, other := range list[:len(list)-1] {
		for k := range v.commands[other].planned {
			for _, l := range all {
				if v.conflicts(site{other, k}, site{j, l}) {
					return false
				}
			}
		}
	}
	return v.isFree(j, all, i, j, list)
}

// allWeights returns memory that contains the weights of products. It reports false if they are not
// constants of the model, or too far apart.
func (v *versions) allWeights(list []int, form *joinForm) (all vk.Operand, ok bool) {
	const word = 16 // bytes that shaders read at a time
	for _, i := range list {
		c := &v.commands[i]
		for _, k := range form.weights {
			r, o := &c.recorded.Operands[k], c.planned[k]
			switch {
			case r.Place == device.None:
				continue
			case r.Place == device.Const || len(r.Data) == 0:
				return all, false
			case all.Buffer == nil:
				all = o
			case all.Buffer != o.Buffer || (o.Offset-all.Offset)%word != 0:
				return all, false
			}
			from, to := min(all.Offset, o.Offset), max(all.Offset+all.Bytes, o.Offset+o.Bytes)
			all.Offset, all.Bytes = from, to-from
		}
	}
	return all, all.Bytes <= v.acc.dev.info.Caps.MaxRange
}

// join makes the first of products compute all of them.
func (v *versions) join(list []int) error {
	i := list[0]
	from := v.commands[i].kernel
	form := joinForms[from.Op()]
	m, err := shaders.Find(form.shader, from.Variant())
	if err != nil {
		return err
	}
	all, _ := v.allWeights(list, form)
	p, _ := work[*rowProduct](v, i)
	joined := &joinedProducts{*p, form, nil}
	var w words
	for _, n := range form.same {
		w = append(w, v.commands[i].push[n])
	}
	operands := make([]site, m.Kernel.Operands)
	for k := range operands {
		operands[k].i = -1
	}
	operands[joinedRows] = site{i, 0}
	multiplyAdds := 0
	for n, j := range list {
		c := &v.commands[j]
		for _, k := range form.own {
			w = append(w, c.push[k])
		}
		for _, k := range form.weights {
			at := -1
			if c.planned[k].Buffer != nil {
				at = c.planned[k].Offset - all.Offset
			}
			w.int(at)
		}
		joined.n = append(joined.n, int(c.push[form.own[0]]))
		operands[joinedOut+n] = site{j, form.out}
		multiplyAdds += c.kernel.work
	}
	w = append(w, make(words, m.Kernel.Push-len(w))...)
	v.replace(i, &kernel{
		module: m, constants: append(slices.Clone(from.constants), 0), groups: v.joinedGroups(joined, from.groups[1]),
		work: multiplyAdds, does: joined,
	}, w, operands)
	v.commands[i].planned[joinedWeights] = all
	for _, j := range list[1:] {
		v.commands[j].drop(i)
	}
	return nil
}

// joinedGroups returns the grid of joined products: axes x and z count workgroups of columns, axis y
// those of rows.
func (v *versions) joinedGroups(p *joinedProducts, rows int) [3]int {
	n := 0
	for _, columns := range p.n {
		n += (columns + p.columns - 1) / p.columns
	}
	flat := v.acc.dev.flatGroups(n)
	return [3]int{flat[0], rows, flat[1]}
}
