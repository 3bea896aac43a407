package nacre

import (
	"context"
	"maps"
	"slices"
)

// Warm makes the plans, and memory for one run of each, of runs of one row up to MaxRows rows, so that
// the first runs take no longer than later ones. Sizes are as for Session.Warm without the rows: for
// each of sizes these plans are made, of which the session keeps 32 in all. A size that names the rows
// stands for this number of rows alone. The error is as for Session.Warm.
func (b *Batcher) Warm(ctx context.Context, sizes ...map[string]int) (err error) {
	defer b.enter().end(&err)
	names := b.rowNames()
	if len(sizes) == 0 {
		sizes = []map[string]int{nil}
	}
	for _, list := range sizes {
		if slices.ContainsFunc(names, func(name string) bool { _, ok := list[name]; return ok }) {
			if err := b.s.Warm(ctx, list); err != nil {
				return err
			}
			continue
		}
		for n := range b.options.MaxRows {
			all := maps.Clone(list)
			if all == nil {
				all = map[string]int{}
			}
			for _, name := range names {
				all[name] = n + 1
			}
			if err := b.s.Warm(ctx, all); err != nil {
				return err
			}
		}
	}
	return nil
}

// rowNames returns the names of the rows in sizes.
func (b *Batcher) rowNames() []string {
	var list []string
	inputs := b.s.Inputs()
	for i, v := range b.s.engine.Inputs() {
		for _, in := range inputs {
			if axis := b.rows.in[i]; in.Name == v.Name && in.Required && axis >= 0 && in.Shape[axis].Open() {
				list = append(list, in.sizeName(axis))
			}
		}
	}
	return list
}
