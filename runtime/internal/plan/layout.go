package plan

import (
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
)

// assignment decides the layouts of the nodes of a stage. Values that exist have the layout base. If a
// node computes or reads a value in another layout, the plan adds a value for it.
type assignment struct {
	*builder
	choices [][]device.LayoutChoice // by index in todo: in base, then another; nil for only base
	vertex  []int                   // by index in todo: the node's vertex in the cut
	base    device.Layout
	other   device.Layout // base before a node offers another
	blocked map[int]int   // by value id: the added value with the same elements
	missing map[int]bool  // values computed so far only in the other layout
}

// assignLayouts decides which nodes an accelerator computes, then their layouts and the layouts of
// the other nodes, and inserts copies between layouts. It minimises the estimated time of nodes and
// copies.
func (b *builder) assignLayouts() {
	if a := b.Program.device.Accelerator(); a != nil {
		b.findOpening(a)
		b.assign(device.Plain, func(x *inferred) []device.LayoutChoice { return b.offload(a, x) })
		b.assign(device.Offloaded, func(x *inferred) []device.LayoutChoice { return b.order(a, x) })
	}
	b.assign(device.Plain, b.block)
}

// assign lets each node with operands in layout base compute in one of the two layouts that ask
// offers.
func (b *builder) assign(base device.Layout, ask func(x *inferred) []device.LayoutChoice) {
	a := &assignment{builder: b, choices: make([][]device.LayoutChoice, len(b.todo)), base: base, other: base,
		blocked: map[int]int{}, missing: map[int]bool{}}
	for i := range a.todo {
		x := &a.todo[i]
		plain := x.inLayouts == nil && x.outLayouts == nil
		if !x.needed || plain != (base == device.Plain) {
			continue
		}
		if list := ask(x); len(list) > 1 {
			a.choices[i] = list[:2]
			a.other = max(a.other, layoutIn(&list[1]))
		}
	}
	if a.other != base {
		a.rewrite(a.decide())
	}
}

// block returns the choices of the session's device.
func (b *builder) block(x *inferred) []device.LayoutChoice {
	if x.dynamic || x.Row.View {
		return nil
	}
	d := b.binding(x)
	if !d.OnlyNumbers() || b.Lengths.inRoom(x) {
		return nil
	}
	return b.Program.device.Layouts(d)
}

// layoutIn returns the layout of a choice that is neither Plain nor the layout before the choice.
func layoutIn(c *device.LayoutChoice) device.Layout {
	return slices.Max(append(slices.Clone(c.In), c.Out...))
}

// valueUse has the vertices of the node that computes a value and of the nodes that read it. The
// vertex is sink for a node that can use only the layout base.
type valueUse struct {
	from int
	to   []int
}

// decide reports, per node, whether it uses the other layout. It minimises the cost of nodes and
// copies by a minimum cut.
func (a *assignment) decide() []bool {
	c := newCut()
	a.vertex = make([]int, len(a.todo))
	for i, list := range a.choices {
		if a.vertex[i] = sink; list != nil {
			a.vertex[i] = c.vertex()
			base, other := int(list[0].Cost), int(list[1].Cost)
			c.edge(source, a.vertex[i], base-min(base, other))
			c.edge(a.vertex[i], sink, other-min(base, other))
		}
	}
	for id, u := range a.uses() {
		if u != nil && !a.isInState(id) {
			a.copies(c, id, u)
		}
	}
	if a.other == device.Offloaded {
		a.holdTogether(c)
	}
	side := c.solve()
	chosen := make([]bool, len(a.todo))
	for i, v := range a.vertex {
		chosen[i] = v != sink && side[v]
	}
	return chosen
}

// uses returns the uses, by id, of values that a node may read or compute in another layout.
func (a *assignment) uses() []*valueUse {
	uses := make([]*valueUse, len(a.values))
	at := func(id int) *valueUse {
		if uses[id] == nil {
			uses[id] = &valueUse{from: sink}
		}
		return uses[id]
	}
	for i, list := range a.choices {
		if list == nil {
			continue
		}
		x := &a.todo[i]
		for k, l := range list[1].In {
			if l == a.other && a.values[x.In[k]].Const == nil {
				at(x.In[k]).to = append(at(x.In[k]).to, a.vertex[i])
			}
		}
		for k, l := range list[1].Out {
			if l == a.other {
				at(x.Out[k]).from = a.vertex[i]
			}
		}
	}
	a.eachBase(a.choices, func(id int) {
		if uses[id] != nil {
			uses[id].to = append(uses[id].to, sink)
		}
	})
	return uses
}

// eachBase calls f for every value that is read in layout base under any decision. It omits the
// results of an accelerator: a run copies them in any case.
func (a *assignment) eachBase(choices [][]device.LayoutChoice, f func(id int)) {
	for i := range a.todo {
		for k, id := range a.todo[i].In {
			if id >= 0 && a.todo[i].needed && !a.todo[i].unread &&
				(choices[i] == nil || k >= len(choices[i][1].In) || choices[i][1].In[k] != a.other) {
				f(id)
			}
		}
	}
	if a.other != device.Offloaded {
		a.eachLeft(f)
	}
}

// eachLeft calls f for every value that is read after the stage.
func (b *builder) eachLeft(f func(id int)) {
	for _, n := range b.rest {
		for _, id := range n.In {
			if id >= 0 {
				f(id)
			}
		}
	}
	for _, id := range b.Program.Outputs {
		f(id)
	}
	for id := range b.expose {
		f(id)
	}
}

// copies adds the cost of copying a value. If any node reads the value in a layout other than the
// computed one, the cost is paid once. A value from outside the stage is copied to an accelerator
// in any case, and its copy adds no cost, unless the opening may replace it. What the opening computes
// is copied with these values.
func (a *assignment) copies(c *cut, id int, u *valueUse) {
	cost := a.copyCost(id)
	if u.from != sink {
		out := c.vertex()
		c.edge(u.from, out, cost)
		for _, v := range u.to {
			c.edge(out, v, unbounded)
		}
	}
	opens, ok := a.opening[id]
	switch {
	case ok && a.other == device.Offloaded:
		cost = opens
	case a.other == device.Offloaded && !a.computes(id):
		return
	}
	in := c.vertex()
	c.edge(in, u.from, cost)
	for _, v := range u.to {
		if v != sink {
			c.edge(v, in, unbounded)
		}
	}
}

// copyCost returns the time to copy a value between the two layouts.
func (a *assignment) copyCost(id int) int {
	v := a.values[id]
	reorder := device.Reordering(v, a.base, a.other, "", "")
	switch a.other {
	case device.Offloaded:
		shape, _ := a.Lengths.most(v.Dims)
		return int(a.Program.device.Accelerator().Transfer(v.DType.Bytes(shape.Len())))
	case device.ChannelsLast:
		return int(a.Program.device.Accelerator().Layouts(reorder)[0].Cost)
	}
	return int(a.Program.device.Layouts(reorder)[0].Cost)
}

// computes reports whether a node of the stage computes the value.
func (b *builder) computes(id int) bool {
	return slices.ContainsFunc(b.todo, func(x inferred) bool { return x.needed && slices.Contains(x.Out, id) })
}

// rewrite makes the chosen nodes compute in the other layout, and inserts each copy before the
// first node that needs it.
func (a *assignment) rewrite(chosen []bool) {
	if !slices.Contains(chosen, true) {
		return
	}
	if a.other == device.Offloaded {
		a.holdFixed(chosen)
	}
	todo, order := a.todo, a.openingFirst(chosen)
	a.todo = make([]inferred, 0, len(todo))
	for _, i := range order {
		x := todo[i]
		if !x.needed {
			a.todo = append(a.todo, x)
			continue
		}
		if x.unread {
			x.forgetInputs()
		}
		if chosen[i] {
			a.relayout(&x, &a.choices[i][1])
			if x.most != nil {
				a.count(&x)
				continue
			}
		} else {
			switch {
			case a.other != device.Offloaded || a.choices[i] == nil:
			case x.opens:
				x.stays = "its few numbers are copied with the inputs, which takes fewer commands"
			default:
				x.stays = "copies of its operands take longer than it saves"
			}
			for _, id := range x.In {
				a.needBase(id)
			}
		}
		a.todo = append(a.todo, x)
	}
	a.replaceFixed()
	a.eachLeft(a.needBase)
}

// forgetInputs removes the inputs of a node.
func (x *inferred) forgetInputs() {
	n := *x.Node
	n.In = make([]int, len(x.In))
	for k := range n.In {
		n.In[k] = -1
	}
	x.Node = &n
}

// relayout makes a node compute in the layouts of a choice.
func (a *assignment) relayout(x *inferred, c *device.LayoutChoice) {
	n := *x.Node
	n.In, n.Out = slices.Clone(n.In), slices.Clone(n.Out)
	for k, id := range n.In {
		switch {
		case k >= len(c.In) || c.In[k] != a.other:
			a.needBase(id)
		case a.isInState(id):
			a.Slots[id].Layout = a.other
		case a.values[id].Const == nil:
			n.In[k] = a.needOther(id)
		}
	}
	for k, id := range n.Out {
		switch {
		case k >= len(c.Out) || c.Out[k] != a.other:
		case a.isInState(id):
			a.Slots[id].Layout = a.other
		default:
			n.Out[k] = a.add(id)
			a.missing[id] = true
		}
	}
	x.Node, x.inLayouts, x.outLayouts = &n, c.In, c.Out
	if a.base == device.Offloaded {
		x.offloaded = nil // made for other layouts
	}
}

// add adds a value for the elements of value id in the other layout.
func (a *assignment) add(id int) int {
	name := strings.TrimSuffix(a.Name(id), " ("+a.base.String()+")")
	a.blocked[id] = a.extra(a.values[id].Type, name+" ("+a.other.String()+")")
	return a.blocked[id]
}

// extra adds a value in the other layout.
func (a *assignment) extra(t graph.Type, name string) int {
	added := len(a.values)
	a.values = append(a.values, &op.Value{Type: t})
	a.ready = append(a.ready, true)
	a.Slots = append(a.Slots, Slot{Layout: a.other})
	a.added = append(a.added, name)
	return added
}

// needBase copies value id out of the other layout if it exists only there.
func (a *assignment) needBase(id int) {
	if id >= 0 && a.missing[id] {
		delete(a.missing, id)
		a.reorder(a.blocked[id], id, a.other, a.base)
	}
}

// needOther returns the value with the elements of value id in the other layout.
func (a *assignment) needOther(id int) int {
	if _, ok := a.blocked[id]; !ok {
		a.add(id)
		a.reorder(id, a.blocked[id], a.base, a.other)
	}
	return a.blocked[id]
}

// reorder adds a node that copies a value to another layout.
func (a *assignment) reorder(from, to int, f, t device.Layout) {
	d := device.Reordering(a.values[from], f, t, a.Name(from), a.Name(to))
	n := &Node{Node: d.Node, Op: d.Op, Row: d.Row, In: []int{from}, Out: []int{to}}
	a.todo = append(a.todo, inferred{Node: n, in: d.In, out: d.Out, needed: true, inLayouts: d.InLayouts,
		outLayouts: d.OutLayouts})
}

// Name returns the name of value id, of the program or added by the plan.
func (pl *Plan) Name(id int) string {
	if n := len(pl.Program.Names); id >= n {
		return pl.added[id-n]
	}
	return pl.Program.Names[id]
}
