package exchange

import (
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// rule is a tensor and its bias on both sides.
type rule struct {
	// gguf is the name in a file without suffix, with N for the number of the layer. Names with a + in
	// between are tensors that a folder has in one.
	gguf string
	// folder is the name in a folder. A * counts tensors that a file has in one.
	folder string
	by     *change // nil for none
	joined *joined // of a name with a +
	bare   bool    // the folder's name has no suffix, and its bias the suffix _bias
	wide   bool    // files have float32
	beside string  // a file has it only beside this tensor; "" for any file
}

// joined is how a folder has several tensors of a file in one.
type joined struct {
	join  func(x *exchange, list []*tensor.Tensor) (*tensor.Tensor, error)
	split func(x *exchange, t *tensor.Tensor) ([]*tensor.Tensor, error)
}

// folderName returns the name in a folder.
func (r rule) folderName(name, suffix string) string {
	switch {
	case r.bare && suffix == weight:
		return name
	case r.bare:
		return name + "_bias"
	}
	return name + suffix
}

// outward moves the tensors of a rule from a file to a folder.
func (x *exchange) outward(r rule, files []string, folder string) {
	if r.beside != "" && x.from[strings.Replace(files[0], strings.TrimPrefix(r.gguf, "blk.N."), strings.TrimPrefix(r.beside, "blk.N."), 1)+weight] == nil {
		return
	}
	for _, suffix := range []string{weight, bias} {
		var list []*tensor.Tensor
		for _, name := range files {
			if t := x.taken(name + suffix); t != nil {
				list = append(list, t.Tensor)
			}
		}
		if len(list) == 0 || x.err != nil {
			continue
		}
		if len(list) < len(files) {
			x.fail(graph.Errorf(graph.ErrFormat, "of the tensors %s, some are missing", strings.Join(files, ", ")))
			return
		}
		t, err := list[0], whole(list...)
		if err == nil && r.joined != nil {
			t, err = r.joined.join(x, list)
		}
		if err == nil && r.by != nil {
			t, err = r.by.outward(x, t, suffix)
		}
		if err == nil && strings.Contains(folder, "*") {
			if list, err = parts(t, t.Shape()[0], true); err == nil {
				for i, part := range list {
					x.add(r.folderName(strings.Replace(folder, "*", fmt.Sprint(i), 1), suffix), part)
				}
				continue
			}
		}
		if err != nil {
			x.fail(named(files[0]+suffix, err))
			return
		}
		x.add(r.folderName(folder, suffix), t)
	}
}

// inward moves the tensors of a rule from a folder to a file.
func (x *exchange) inward(r rule, files []string, folder string) {
	for _, suffix := range []string{weight, bias} {
		t, err := x.gathered(r, folder, suffix)
		if t == nil && err == nil {
			continue
		}
		list := []*tensor.Tensor{t}
		if err == nil {
			err = whole(t)
		}
		if err == nil && r.by != nil {
			list[0], err = r.by.inward(x, t, suffix)
		}
		if err == nil && r.joined != nil {
			list, err = r.joined.split(x, list[0])
		}
		for i := range list {
			if err == nil && list[i].DType() != tensor.F32 && (r.wide || len(list[i].Shape()) < 2 || list[i].DType() == tensor.F64) {
				list[i], err = x.floats(list[i])
			}
		}
		if err != nil {
			x.fail(named(r.folderName(folder, suffix), err))
			return
		}
		for i, name := range files {
			x.add(name+suffix, list[i])
			x.to[len(x.to)-1].Stored = &graph.Stored{Name: r.folderName(folder, suffix), DType: list[i].DType().String(), Offset: -1}
		}
	}
}

// whole returns an error for tensors without axes.
func whole(list ...*tensor.Tensor) error {
	for _, t := range list {
		if len(t.Shape()) == 0 {
			return graph.Errorf(graph.ErrFormat, "has no axes")
		}
	}
	return nil
}

// gathered takes a tensor of a folder, or stacks the tensors of a name with a *. It is nil if there
// is none.
func (x *exchange) gathered(r rule, folder, suffix string) (*tensor.Tensor, error) {
	if !strings.Contains(folder, "*") {
		t := x.taken(r.folderName(folder, suffix))
		if t == nil {
			return nil, nil
		}
		return t.Tensor, nil
	}
	var list []*tensor.Tensor
	for {
		t := x.taken(r.folderName(strings.Replace(folder, "*", fmt.Sprint(len(list)), 1), suffix))
		if t == nil {
			break
		}
		list = append(list, t.Tensor)
	}
	if list == nil {
		return nil, nil
	}
	return x.stack(list)
}

// add adds a tensor to the results.
func (x *exchange) add(name string, t *tensor.Tensor) {
	x.to = append(x.to, &graph.Initializer{Name: name, Tensor: t})
}

// sides returns the names of a rule's tensors in files and in folders.
func (r rule) sides() (gguf, folder string) { return r.gguf, r.folder }

// changed returns rules with a change for the tensors of these names in a file.
func changed(rules []rule, by *change, names ...string) []rule {
	list := make([]rule, len(rules))
	for i, r := range rules {
		for _, name := range names {
			if strings.TrimPrefix(r.gguf, "blk.N.") == name {
				r.by = by
			}
		}
		list[i] = r
	}
	return list
}

// Two tensors of experts, [experts,rows,...] each, as one [experts,2·rows,...].
var (
	stacked = pairs(func(half, row, rows int) int { return half*rows + row })
	woven   = pairs(func(half, row, _ int) int { return 2*row + half })
)

// pairs returns a joining by the places of rows.
func pairs(place func(half, row, rows int) int) *joined {
	join := func(x *exchange, list []*tensor.Tensor) (*tensor.Tensor, error) {
		a, b := list[0], list[1]
		if a.DType() != b.DType() || !a.Shape().Equal(b.Shape()) || len(a.Shape()) < 2 {
			return nil, graph.Errorf(graph.ErrFormat, "and its sibling are %v and %v, where equal types and shapes are wanted", a, b)
		}
		if err := x.take(a.Size() + b.Size()); err != nil {
			return nil, err
		}
		n, rows := a.Shape()[0], a.Shape()[1]
		out := tensor.New(a.DType(), append([]int{n, 2 * rows}, a.Shape()[2:]...)...)
		size := a.Size() / max(n*rows, 1)
		for i := range n * rows {
			for half, t := range list {
				copy(out.Bytes()[(i/rows*2*rows+place(half, i%rows, rows))*size:][:size], t.Bytes()[i*size:])
			}
		}
		return out, nil
	}
	split := func(x *exchange, t *tensor.Tensor) ([]*tensor.Tensor, error) {
		shape := t.Shape()
		if len(shape) < 2 || shape[1]%2 != 0 {
			return nil, graph.Errorf(graph.ErrFormat, "is %v, and gates and ups of experts are expected", t)
		}
		if err := x.take(t.Size()); err != nil {
			return nil, err
		}
		n, rows := shape[0], shape[1]/2
		half := append([]int{n, rows}, shape[2:]...)
		list := []*tensor.Tensor{tensor.New(t.DType(), half...), tensor.New(t.DType(), half...)}
		size := t.Size() / max(2*n*rows, 1)
		for i := range n * rows {
			for half, to := range list {
				copy(to.Bytes()[i*size:][:size], t.Bytes()[(i/rows*2*rows+place(half, i%rows, rows))*size:])
			}
		}
		return list, nil
	}
	return &joined{join, split}
}
