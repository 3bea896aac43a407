package openinfer

import "math"

// kind reads the kind of a node and its members.
func (r *jsonReader) kind(word string, v jsonValue, depth int) (nodeKind, error) {
	switch word {
	case "Barrier":
		return barrierNode{}, nil
	case "Return":
		return returnNode{}, nil
	}
	o, err := v.object()
	if err != nil {
		return nil, err
	}
	k, err := r.members(word, v, o, depth)
	if err != nil {
		return nil, err
	}
	return k, o.done()
}

// texts reads text members, in the order of names.
func texts(o *jsonObject, names ...string) ([]string, error) {
	list := make([]string, len(names))
	for i, name := range names {
		var err error
		if list[i], err = needs[string](o, name); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (r *jsonReader) members(word string, v jsonValue, o *jsonObject, depth int) (nodeKind, error) {
	switch word {
	case "Assign":
		return readAssign(o)
	case "Op":
		return readOp(o)
	case "Branch":
		return readBranch(o)
	case "Loop":
		return r.readLoop(o, depth)
	case "CacheRead", "CacheWrite", "CacheIncrement", "CacheDecrement", "CacheReset":
		return readCache(word, o)
	case "Dep":
		s, err := texts(o, "after", "before")
		if err != nil {
			return nil, err
		}
		return depNode{s[0], s[1]}, nil
	case "Transfer":
		s, err := texts(o, "src", "dst")
		if err != nil {
			return nil, err
		}
		return transferNode{s[0], s[1]}, nil
	case "Yield":
		s, err := needs[[]string](o, "vars")
		return yieldNode{s}, err
	case "Await":
		s, err := needs[[]string](o, "vars")
		return awaitNode{s}, err
	}
	return nil, v.errorf("%q is no kind of nodes", word)
}

func readAssign(o *jsonObject) (nodeKind, error) {
	var n assignNode
	var err error
	if n.name, err = needs[string](o, "name"); err != nil {
		return nil, err
	}
	if n.dtype, err = needsType(o); err != nil {
		return nil, err
	}
	n.dims, err = needs[[]string](o, "dims")
	return n, err
}

func readOp(o *jsonObject) (nodeKind, error) {
	s, err := texts(o, "op", "output")
	if err != nil {
		return nil, err
	}
	n := opNode{op: s[0], output: s[1]}
	if n.inputs, err = needs[[]string](o, "inputs"); err != nil {
		return nil, err
	}
	attrs, err := o.need("attrs")
	if err != nil {
		return nil, err
	}
	outer, err := attrs.object()
	if err != nil {
		return nil, err
	}
	items, err := outer.need("items")
	if err != nil {
		return nil, err
	}
	list, err := items.list(maxIndices)
	if err != nil {
		return nil, err
	}
	for _, item := range list {
		a, err := readAttribute(item)
		if err != nil {
			return nil, err
		}
		n.attrs = append(n.attrs, a)
	}
	return n, outer.done()
}

func readAttribute(v jsonValue) (a attribute, err error) {
	o, err := v.object()
	if err != nil {
		return a, err
	}
	if a.name, err = needs[string](o, "name"); err != nil {
		return a, err
	}
	value, err := o.need("value")
	if err != nil {
		return a, err
	}
	if a.value, err = readValue(value); err != nil {
		return a, err
	}
	return a, o.done()
}

func readValue(v jsonValue) (any, error) {
	word, inner, err := v.variant()
	if err != nil {
		return nil, err
	}
	switch word {
	case "Float", "Double":
		x := math.Inf(1) // null means infinity
		if !inner.isNull() {
			if x, err = scalarOf[float64](inner); err != nil {
				return nil, err
			}
		}
		if word == "Float" {
			return float32(x), nil
		}
		return x, nil
	case "Int":
		return scalarOf[int64](inner)
	case "UInt":
		return scalarOf[uint64](inner)
	case "Bool":
		return scalarOf[bool](inner)
	case "Str":
		return scalarOf[string](inner)
	case "IntList":
		return scalarOf[[]int64](inner)
	case "Var":
		s, err := scalarOf[string](inner)
		return varName(s), err
	case "DType":
		s, err := scalarOf[string](inner)
		if err != nil {
			return nil, err
		}
		if d, ok := jsonType(s); ok {
			return d, nil
		}
		return nil, inner.errorf("%q is no element type", s)
	}
	return nil, v.errorf("%q is no kind of attributes", word)
}

func readBranch(o *jsonObject) (nodeKind, error) {
	then, err := needs[string](o, "then_block")
	if err != nil {
		return nil, err
	}
	cond, err := may[string](o, "cond")
	if err != nil {
		return nil, err
	}
	otherwise, err := may[string](o, "else_block")
	return branchNode{cond, then, otherwise}, err
}

func (r *jsonReader) readLoop(o *jsonObject, depth int) (nodeKind, error) {
	s, err := texts(o, "name", "index", "start", "end")
	if err != nil {
		return nil, err
	}
	body, err := r.nodeList(o, "body", depth+1)
	return loopNode{s[0], s[1], s[2], s[3], body}, err
}

func readCache(word string, o *jsonObject) (nodeKind, error) {
	switch word {
	case "CacheRead":
		dst, err := needs[string](o, "dst")
		if err != nil {
			return nil, err
		}
		src, err := readAccess(o, "src")
		return readNode{src, dst}, err
	case "CacheWrite":
		src, err := needs[string](o, "src")
		if err != nil {
			return nil, err
		}
		dst, err := readAccess(o, "dst")
		return writeNode{src, dst}, err
	case "CacheReset":
		target, err := readAccess(o, "target")
		return resetNode{target}, err
	}
	target, err := needs[string](o, "target")
	if err != nil {
		return nil, err
	}
	amount, err := needs[int64](o, "amount")
	return countNode{target, amount, word == "CacheDecrement"}, err
}

func readAccess(o *jsonObject, key string) (a access, err error) {
	v, err := o.need(key)
	if err != nil {
		return a, err
	}
	inner, err := v.object()
	if err != nil {
		return a, err
	}
	if a.base, err = needs[string](inner, "base"); err != nil {
		return a, err
	}
	if a.bracketed, err = may[bool](inner, "bracketed"); err != nil {
		return a, err
	}
	indices, err := inner.need("indices")
	if err != nil {
		return a, err
	}
	list, err := indices.list(maxIndices)
	if err != nil {
		return a, err
	}
	for _, item := range list {
		x, err := readIndex(item)
		if err != nil {
			return a, err
		}
		a.indices = append(a.indices, x)
	}
	return a, inner.done()
}

func readIndex(v jsonValue) (x index, err error) {
	word, inner, err := v.variant()
	if err != nil {
		return x, err
	}
	switch word {
	case "Single":
		x.start, err = readIndexValue(inner)
		return x, err
	case "Slice":
		x.slice = true
		o, err := inner.object()
		if err != nil {
			return x, err
		}
		for _, end := range []struct {
			key string
			to  **indexValue
		}{{"start", &x.start}, {"end", &x.end}} {
			if e, ok := o.take(end.key); ok && !e.isNull() {
				if *end.to, err = readIndexValue(e); err != nil {
					return x, err
				}
			}
		}
		return x, o.done()
	}
	return x, v.errorf("%q is neither Single nor Slice", word)
}

func readIndexValue(v jsonValue) (*indexValue, error) {
	word, inner, err := v.variant()
	if err != nil {
		return nil, err
	}
	switch word {
	case "Ident":
		name, err := scalarOf[string](inner)
		return &indexValue{name: name}, err
	case "Lit":
		n, err := scalarOf[int64](inner)
		return &indexValue{n: n}, err
	}
	return nil, v.errorf("%q is neither Ident nor Lit", word)
}
