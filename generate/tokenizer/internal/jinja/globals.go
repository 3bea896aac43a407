package jinja

// globals returns the functions that every template has.
func globals() map[string]any {
	return map[string]any{
		"range": call(rangeOf),
		"dict":  call(func(r *run, a *arguments) any { return r.dictOf(a) }),
		"namespace": call(func(r *run, a *arguments) any {
			return namespace{r.dictOf(a)}
		}),
		"raise_exception": call(func(r *run, a *arguments) any {
			if len(a.list) != 1 {
				fail("raise_exception takes a text")
			}
			fail("%.1000s", r.text(a.list[0]))
			return nil
		}),
	}
}

func (r *run) dictOf(a *arguments) *Dict {
	d := r.object()
	for _, v := range a.list {
		from, ok := v.(*Dict)
		if !ok {
			fail("%s is not an object", kindOf(v))
		}
		for _, key := range from.keys {
			r.set(d, key, from.fields[key])
		}
	}
	for _, key := range sortedKeys(a.names) {
		r.set(d, key, a.names[key])
	}
	return d
}

// rangeOf is the function range.
func rangeOf(r *run, a *arguments) any {
	from, to, step := 0, 0, 1
	switch len(a.list) {
	case 1:
		to = whole(a.list[0], 0)
	case 2, 3:
		from, to = whole(a.list[0], 0), whole(a.list[1], 0)
		if len(a.list) == 3 {
			step = whole(a.list[2], 0)
		}
	}
	if len(a.list) < 1 || len(a.list) > 3 || step == 0 {
		fail("range takes one to three integers, of which the third is not 0")
	}
	n := max(0, (to-from+step)/step)
	if (to-from)%step == 0 {
		n = max(0, (to-from)/step)
	}
	if n > maxWeight {
		fail("a range of more than %d numbers", maxWeight)
	}
	r.steps(n)
	r.hold(itemBytes * n)
	list := make([]any, n)
	for i := range list {
		list[i] = from + i*step
	}
	return r.list(list)
}
