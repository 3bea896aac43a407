package vulkan

import (
	"math"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/shaders"
)

// mergeNorm makes the products of the row that command i normalises do that themselves.
func (v *versions) mergeNorm(u *uses, i int) error {
	list := v.normed(u, i)
	if list == nil {
		return nil
	}
	for _, j := range list {
		if _, ok := work[*rowProduct](v, j); ok {
			if err := v.join([]int{j}); err != nil {
				return err
			}
		}
	}
	return v.normalise(i, list)
}

// normed lists the products that alone read the row that command i normalises, if they can do that;
// nil for none.
func (v *versions) normed(u *uses, i int) []int {
	r, ok := work[*rows](v, i)
	if !ok || r.rows != 1 || r.centred || v.commands[i].kernel.Variant() != "f32" ||
		r.scale.Place == device.None {
		return nil
	}
	for _, o := range []device.Operand{r.bias, r.shift, r.mean, r.inverse} {
		if o.Place != device.None {
			return nil
		}
	}
	y := v.of[i][5]
	if y == nil || y.stays || y.writers != 1 || y.same != nil {
		return nil
	}
	list := u.readers[y]
	for n, j := range list {
		if n > 0 && list[n-1] == j || v.of[j][0] != y || v.commands[j].planned[0].Offset != y.planned.Offset || !v.normalises(j) {
			return nil
		}
		moved := []int{0, 1, 3} // the row, what is added, and the weights
		if n == 0 {
			moved = append(moved, 8) // the sum
		}
		if !v.isFree(i, moved, i, j, nil) {
			return nil
		}
		for k := range v.commands[j].planned {
			for _, from := range moved {
				if v.conflicts(site{j, k}, site{i, from}) {
					return nil
				}
			}
		}
	}
	return list
}

// normalises reports whether there is a shader for the products of command j that normalises their row.
func (v *versions) normalises(j int) bool {
	var form *joinForm
	p, ok := work[*rowProduct](v, j)
	if ok && v.isJoinable([]int{j}) {
		form = joinForms[v.commands[j].kernel.Op()]
	} else if x, ok := work[*joinedProducts](v, j); ok {
		p, form = &x.rowProduct, x.form
	}
	if form == nil || p.rows != 1 || !strings.HasPrefix(v.commands[j].kernel.Variant(), "f32") {
		return false
	}
	m, err := shaders.Find(form.shader, normedVariant(v.commands[j].kernel))
	if err != nil {
		return false
	}
	shared, err := m.SharedBytes(v.commands[j].kernel.constants)
	return err == nil && shared <= v.acc.dev.info.Caps.MaxShared
}

// normedVariant returns the name of the variant of a kernel for float32 that normalises its row.
func normedVariant(k *kernel) string { return strings.Replace(k.Variant(), "f32", "f32_normed", 1) }

// normalise makes joined products normalise the row themselves, as command i does. The first of them
// stores the sum.
func (v *versions) normalise(i int, products []int) error {
	r, _ := work[*rows](v, i)
	for n, j := range products {
		k := *v.commands[j].kernel
		m, err := shaders.Find(k.Op(), normedVariant(&k))
		if err != nil {
			return err
		}
		has, sum := kit.Btoi(r.skipped.Place != device.None), site{i: -1}
		if n == 0 && r.sum.Place != device.None {
			has, sum = has|2, site{i, 8}
		}
		k.module, k.constants = m, slices.Clone(k.constants)
		at := 1 + slices.Index(m.Kernel.Constants, "norm has")
		k.constants[at], k.constants[at+1] = uint32(has), math.Float32bits(float32(r.epsilon))
		operands := []site{{i, 0}}
		for l := joinedWeights; l < joinedOwn; l++ {
			operands = append(operands, site{j, l})
		}
		v.replace(j, &k, v.commands[j].push, append(operands, site{i, 1}, site{i, 3}, sum))
	}
	v.commands[i].drop(products...)
	return nil
}
