package openinfer

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/jsonobject"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// members is a JSON object with its members in order.
type members []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the members in order.
func (m members) MarshalJSON() ([]byte, error) {
	return jsonobject.Marshal(len(m), func(i int) (string, any) { return m[i].key, m[i].value })
}

// variantOf is a value of an enumeration.
func variantOf(word string, value any) members { return members{{word, value}} }

// WriteJSON writes the program in its JSON form. Infinite numbers become null, as in the format. It
// fails for an attribute that is NaN or negative infinity.
func (p *Program) WriteJSON(w io.Writer) (err error) {
	defer guard.At("").End(&err)
	vars, blocks := members{}, members{}
	for _, v := range p.vars {
		vars = append(vars, member{v.name, v.json()})
	}
	for _, b := range p.blocks {
		nodes, err := nodesJSON(b.nodes)
		if err != nil {
			return fmt.Errorf("block %q: %w", b.name, err)
		}
		blocks = append(blocks, member{b.name, members{{"name", b.name}, {"nodes", nodes}}})
	}
	data, err := json.MarshalIndent(members{{"vars", vars}, {"blocks", blocks}, {"next_index", p.next}}, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

func (v *decl) json() members {
	kind := v.memory.String()
	fixed := [][2]any{}
	for _, f := range v.fixed {
		fixed = append(fixed, [2]any{f.name, f.size})
	}
	var init any
	if v.init != nil {
		init = variantOf(jsonWord(v.dtype), scalarJSON(v.dtype, v.init))
	}
	return members{
		{"name", v.name}, {"kind", string(kind[0]-'a'+'A') + kind[1:]}, {"dtype", jsonWord(v.dtype)}, {"dims", some(v.dims)}, {"init", init},
		{"ref_name", orNull(v.ref)}, {"pattern", orNull(v.pattern)}, {"table", v.table}, {"table_indices", some(v.indices)},
		{"auto_dim", some(v.auto)}, {"fixed", fixed},
	}
}

// some returns a copy of the list that is not nil.
func some(list []string) []string { return append([]string{}, list...) }

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func scalarJSON(d dtype, t *tensor.Tensor) any {
	switch {
	case d == dtF32 || d == dtF64:
		return number(tensor.Numbers(t)(0))
	case d == dtBool:
		return bitsOf(t) != 0
	case d.isFloat() || d.isPacked() || d == dtBitset:
		return members{{"bits", bitsOf(t)}}
	}
	return json.RawMessage(scalarText(d, t))
}

// number returns x, or nil if JSON has no such number.
func number(x float64) any {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return x
}

func nodesJSON(nodes []*node) ([]members, error) {
	list := []members{}
	for _, n := range nodes {
		kind, err := kindJSON(n.kind)
		if err != nil {
			return nil, fmt.Errorf("node %d: %w", n.index, err)
		}
		list = append(list, members{{"index", n.index}, {"uuid", n.uuid}, {"kind", kind}})
	}
	return list, nil
}

func kindJSON(k nodeKind) (any, error) {
	switch n := k.(type) {
	case assignNode:
		return variantOf("Assign", members{{"name", n.name}, {"dtype", jsonWord(n.dtype)}, {"dims", some(n.dims)}}), nil
	case opNode:
		return opJSON(n)
	case branchNode:
		return variantOf("Branch", members{{"cond", orNull(n.cond)}, {"then_block", n.then}, {"else_block", orNull(n.otherwise)}}), nil
	case loopNode:
		body, err := nodesJSON(n.body)
		return variantOf("Loop", members{{"name", n.name}, {"index", n.index}, {"start", n.start}, {"end", n.end}, {"body", body}}), err
	case readNode:
		return variantOf("CacheRead", members{{"src", accessJSON(n.src)}, {"dst", n.dst}}), nil
	case writeNode:
		return variantOf("CacheWrite", members{{"src", n.src}, {"dst", accessJSON(n.dst)}}), nil
	case countNode:
		word := "CacheIncrement"
		if n.down {
			word = "CacheDecrement"
		}
		return variantOf(word, members{{"target", n.target}, {"amount", n.amount}}), nil
	case resetNode:
		return variantOf("CacheReset", members{{"target", accessJSON(n.target)}}), nil
	case transferNode:
		return variantOf("Transfer", members{{"src", n.src}, {"dst", n.dst}}), nil
	case yieldNode:
		return variantOf("Yield", members{{"vars", some(n.vars)}}), nil
	case awaitNode:
		return variantOf("Await", members{{"vars", some(n.vars)}}), nil
	case depNode:
		return variantOf("Dep", members{{"after", n.after}, {"before", n.before}}), nil
	case barrierNode:
		return "Barrier", nil
	}
	return "Return", nil
}

func opJSON(n opNode) (any, error) {
	attrs := []members{}
	for _, a := range n.attrs {
		v, err := attrJSON(a)
		if err != nil {
			return nil, err
		}
		attrs = append(attrs, members{{"name", a.name}, {"value", v}})
	}
	return variantOf("Op", members{{"op", n.op}, {"attrs", members{{"items", attrs}}}, {"inputs", some(n.inputs)}, {"output", n.output}}), nil
}

func attrJSON(a attribute) (any, error) {
	switch v := a.value.(type) {
	case float32:
		return floatJSON(a.name, "Float", float64(v), v)
	case float64:
		return floatJSON(a.name, "Double", v, v)
	case int64:
		return variantOf("Int", v), nil
	case uint64:
		return variantOf("UInt", v), nil
	case bool:
		return variantOf("Bool", v), nil
	case string:
		return variantOf("Str", v), nil
	case []int64:
		return variantOf("IntList", append([]int64{}, v...)), nil
	case dtype:
		return variantOf("DType", jsonWord(v)), nil
	}
	return variantOf("Var", fmt.Sprint(a.value)), nil
}

// floatJSON writes a number; null means infinity.
func floatJSON(name, word string, x float64, v any) (any, error) {
	switch {
	case math.IsInf(x, 1):
		return variantOf(word, nil), nil
	case math.IsInf(x, -1) || math.IsNaN(x):
		return nil, fmt.Errorf("attribute %q is %v, which the JSON form has no number for", name, x)
	}
	return variantOf(word, v), nil
}

func accessJSON(a access) members {
	list := []members{}
	for _, x := range a.indices {
		switch {
		case x.slice:
			list = append(list, variantOf("Slice", members{{"start", indexJSON(x.start)}, {"end", indexJSON(x.end)}}))
		default:
			list = append(list, variantOf("Single", indexJSON(x.start)))
		}
	}
	return members{{"base", a.base}, {"indices", list}, {"bracketed", a.bracketed}}
}

func indexJSON(v *indexValue) any {
	switch {
	case v == nil:
		return nil
	case v.name != "":
		return variantOf("Ident", v.name)
	}
	return variantOf("Lit", v.n)
}
