package openinfer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// check returns the first fault of a program with its model: in the declarations, then in the
// nodes, block by block.
func (u *unit) check() error {
	for _, v := range u.Program.vars {
		if err := u.checkVariable(v); err != nil {
			return fmt.Errorf("variable %q: %w", v.name, err)
		}
	}
	if len(u.Program.blocks) == 0 {
		return fmt.Errorf("there is no block; a program begins in the block \"entry\"")
	}
	if u.blocks["entry"] == nil {
		return fmt.Errorf("there is no block \"entry\", in which a program begins; there are %v", sortedKeys(u.blocks))
	}
	for _, b := range u.Program.blocks {
		u.findTargets(b.nodes)
	}
	u.findOpen()
	for _, b := range u.Program.blocks {
		c := &checker{unit: u, block: b, locals: map[string]operand{}}
		if err := c.nodes(b.nodes); err != nil {
			return err
		}
		if err := c.ends(); err != nil {
			return fmt.Errorf("block %q: %w", b.name, err)
		}
	}
	return nil
}

func (u *unit) findTargets(nodes []*node) {
	for _, n := range nodes {
		switch k := n.kind.(type) {
		case branchNode:
			u.targets[k.then], u.targets[k.otherwise] = true, true
		case loopNode:
			u.findTargets(k.body)
		}
	}
}

func (u *unit) checkVariable(v *decl) error {
	if !isName(v.name) {
		return fmt.Errorf("a name takes letters, digits and underscores, and begins with no digit")
	}
	dims, err := u.extents(v.dims)
	if err != nil {
		return err
	}
	u.dims[v.name] = dims
	for _, check := range []func(*decl) error{u.checkIndices, u.checkPrefix, u.checkCached, u.checkFixed} {
		if err := check(v); err != nil {
			return err
		}
	}
	if v.prefix() || v.cached() {
		return nil
	}
	_, _, err = u.initial(v)
	return err
}

// checkIndices checks the names of indices.
func (u *unit) checkIndices(v *decl) error {
	for _, list := range [][]string{v.indices, v.auto} {
		for i, name := range list {
			if !isName(name) {
				return fmt.Errorf("index %q is no name", name)
			}
			if slices.Contains(list[:i], name) {
				return fmt.Errorf("index %q is there twice", name)
			}
		}
	}
	switch {
	case len(v.indices)+len(v.auto) > maxIndices || len(v.dims) > maxIndices:
		return fmt.Errorf("it has more than %d indices or extents", maxIndices)
	case v.memory == memPersistent && len(v.indices) > 0 && !v.cached():
		return fmt.Errorf("it is persistent and has indices; it needs @table or @auto_dim")
	}
	return nil
}

// checkPrefix checks a table of tensors of the model.
func (u *unit) checkPrefix(v *decl) error {
	if !v.prefix() {
		if v.pattern != "" {
			return fmt.Errorf("it has a @pattern and no indices; declare it as %s(index)", v.name)
		}
		return nil
	}
	switch {
	case v.memory == memDynamic:
		return fmt.Errorf("it is dynamic and has indices, which only volatile, constant and persistent variables may")
	case v.ref != "":
		return fmt.Errorf("it has indices and @ref; @pattern names its tensors")
	case v.pattern == "":
		return fmt.Errorf("it has indices and no @pattern to name its tensors")
	}
	holes := placeholders(v.pattern)
	slices.Sort(holes)
	holes = slices.Compact(holes)
	if want := slices.Sorted(slices.Values(v.indices)); !slices.Equal(holes, want) {
		return fmt.Errorf("its @pattern(%q) has the places %v, and its indices are %v; they must be the same", v.pattern, holes, want)
	}
	return nil
}

// checkCached checks a persistent variable with indices.
func (u *unit) checkCached(v *decl) error {
	if !v.cached() {
		return nil
	}
	switch {
	case v.memory != memPersistent:
		return fmt.Errorf("it is %v; @table and @auto_dim are for persistent variables", v.memory)
	case v.ref != "" || v.pattern != "":
		return fmt.Errorf("@ref and @pattern are not for persistent variables with indices")
	case v.dtype.isPacked():
		return fmt.Errorf("its elements of %v are narrower than a byte; tables and growing extents take whole bytes", v.dtype)
	case v.table && len(v.auto) > 0:
		return fmt.Errorf("@table and @auto_dim exclude each other")
	case v.table && len(v.indices) == 0:
		return fmt.Errorf("a @table needs indices; declare it as %s(index)", v.name)
	case !v.table && len(v.auto) != len(v.dims):
		return fmt.Errorf("it has %d extents, and @auto_dim names %d indices; there must be one for each", len(v.dims), len(v.auto))
	case !v.table && len(v.indices) > 0 && !slices.Equal(v.indices, v.auto):
		return fmt.Errorf("its indices are %v, and @auto_dim names %v; they must be the same", v.indices, v.auto)
	}
	return nil
}

func (u *unit) checkFixed(v *decl) error {
	if len(v.fixed) > 0 && !v.cached() {
		return fmt.Errorf("@fixed is for persistent variables with @table or @auto_dim")
	}
	names := v.accessed()
	for i, f := range v.fixed {
		switch {
		case !slices.Contains(names, f.name):
			return fmt.Errorf("@fixed names %q; the indices are %v", f.name, names)
		case f.size < 0:
			return fmt.Errorf("@fixed(%s=%d) is negative", f.name, f.size)
		case slices.ContainsFunc(v.fixed[:i], func(g fixedIndex) bool { return g.name == f.name }):
			return fmt.Errorf("@fixed names %q twice", f.name)
		}
	}
	if v.dense() {
		return u.denseShape(v).Check()
	}
	return nil
}

// accessed returns the indices of accesses to a persistent variable.
func (v *decl) accessed() []string {
	if len(v.auto) > 0 {
		return v.auto
	}
	return v.indices
}

// dense reports whether the variable is a table with all sizes fixed.
func (v *decl) dense() bool {
	if !v.table || len(v.indices) == 0 {
		return false
	}
	return !slices.ContainsFunc(v.indices, func(name string) bool { _, ok := v.limit(name); return !ok })
}

// denseShape returns the shape of all entries of a dense table.
func (u *unit) denseShape(v *decl) tensor.Shape {
	var shape tensor.Shape
	for _, name := range v.indices {
		n, _ := v.limit(name)
		shape = append(shape, int(n))
	}
	return append(shape, u.dims[v.name]...)
}

// findOpen finds the variables with extents known only at run time: results of reads of growing
// variables, and values computed from them.
func (u *unit) findOpen() {
	for more := true; more; {
		more = false
		for _, b := range u.Program.blocks {
			more = u.spread(b.nodes) || more
		}
	}
}

// spread adds to open the variables that nodes write from open ones. It reports whether it added
// any.
func (u *unit) spread(nodes []*node) (more bool) {
	for _, n := range nodes {
		dst, opens := "", false
		switch k := n.kind.(type) {
		case opNode:
			dst, opens = k.output, slices.ContainsFunc(k.inputs, func(s string) bool { return u.open[s] })
		case transferNode:
			dst, opens = k.dst, u.open[k.src]
		case readNode:
			dst = k.dst
			if v := u.vars[k.src.base]; v != nil {
				_, known := u.readShape(v, k.src)
				opens = !known
			}
		case loopNode:
			more = u.spread(k.body) || more
		}
		if opens && !u.open[dst] {
			u.open[dst], more = true, true
		}
	}
	return more
}

// readShape returns the shape of an access, if the program determines it.
func (u *unit) readShape(v *decl, a access) (shape tensor.Shape, known bool) {
	if !v.cached() {
		return u.dims[v.name], true
	}
	if len(v.auto) > 0 {
		return nil, false
	}
	for i, name := range v.indices {
		x := index{slice: true}
		if i < len(a.indices) {
			x = a.indices[i]
		}
		if !x.slice {
			continue
		}
		limit, fixed := v.limit(name)
		start, ok := u.literal(x.start, 0)
		if !ok {
			return nil, false
		}
		end, ok := u.literal(x.end, limit)
		if x.end == nil || ok && end < 0 {
			ok = fixed
		}
		if !ok {
			return nil, false
		}
		if end < 0 {
			end += limit
		}
		shape = append(shape, int(max(end-start, 0)))
	}
	return append(shape, u.dims[v.name]...), true
}

// literal returns an index that is a number or a size variable. If x is nil, it returns def.
func (u *unit) literal(x *indexValue, def int64) (int64, bool) {
	switch {
	case x == nil:
		return def, true
	case x.name == "":
		return x.n, true
	}
	n, err := u.size(x.name)
	return int64(n), err == nil
}

// describe adds the block and the node to an error.
func describe(block string, n *node, err error) error {
	return fmt.Errorf("block %q, node %d (%s): %w", block, n.index, short(n.kind.text()), err)
}

func short(s string) string {
	if len(s) > 120 {
		return strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}
