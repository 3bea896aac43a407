package openinfer

import (
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Program is a program of OpenInfer: variables, and blocks of nodes. Parse and ParseJSON return
// one.
type Program struct {
	vars   []*decl
	blocks []*block
	next   int64 // index of the next node
}

// memory is the lifetime of a variable's value.
type memory uint8

const (
	memDynamic    memory = iota // an input of every step
	memVolatile                 // reset in every step
	memConstant                 // never changes
	memPersistent               // kept between steps
)

var memories = [...]string{"dynamic", "volatile", "constant", "persistent"}

// String returns the name in the text language.
func (m memory) String() string { return memories[m] }

// decl is a declaration of a variable.
type decl struct {
	name    string
	memory  memory
	dtype   dtype
	dims    []string       // extents: a number, a size variable, or the product of two
	init    *tensor.Tensor // one element; nil for none
	ref     string         // name of the model's tensor; empty for the variable's name
	pattern string         // for the names of the model's tensors
	table   bool
	indices []string // of a prefix table or a table
	auto    []string // indices that the extents grow with
	fixed   []fixedIndex
}

// fixedIndex is an index with a constant size.
type fixedIndex struct {
	name string
	size int64
}

// prefix reports whether the variable is a table of tensors of the model.
func (v *decl) prefix() bool { return v.memory != memPersistent && len(v.indices) > 0 }

// cached reports whether the variable is persistent and accessed by indices.
func (v *decl) cached() bool { return v.table || len(v.auto) > 0 }

// limit returns the fixed size of an index; false if it has none.
func (v *decl) limit(index string) (int64, bool) {
	for _, f := range v.fixed {
		if f.name == index {
			return f.size, true
		}
	}
	return 0, false
}

// block is a list of nodes with a name.
type block struct {
	name  string
	nodes []*node
}

// node is one node of a block.
type node struct {
	index int64
	uuid  string
	kind  nodeKind
}

// nodeKind is the action of a node: one of the types below.
type nodeKind interface{ text() string }

type assignNode struct {
	name  string
	dtype dtype
	dims  []string
}

type opNode struct {
	op     string
	attrs  []attribute
	inputs []string
	output string
}

// attribute is a setting of an operator. Its value is a float32, float64, int64, uint64,
// bool, string, []int64, dtype or varName.
type attribute struct {
	name  string
	value any
}

// varName is an attribute value read from a variable or from metadata.
type varName string

type branchNode struct{ cond, then, otherwise string } // cond and otherwise may be empty

type loopNode struct {
	name, index, start, end string
	body                    []*node
}

type readNode struct {
	src access
	dst string
}

type writeNode struct {
	src string
	dst access
}

// countNode adds to a persistent scalar.
type countNode struct {
	target string
	amount int64
	down   bool
}

type resetNode struct{ target access }

type transferNode struct{ src, dst string }

type yieldNode struct{ vars []string }

type awaitNode struct{ vars []string }

type depNode struct{ after, before string }

type barrierNode struct{}

type returnNode struct{}

// access is a persistent variable, or a part of one.
type access struct {
	base      string
	indices   []index
	bracketed bool
}

// index is one index of an access: a value, or a range of values.
type index struct {
	slice      bool
	start, end *indexValue // a single index uses start; nil is an open end
}

// indexValue is a number or a name.
type indexValue struct {
	name string
	n    int64
}

func (v indexValue) String() string {
	if v.name != "" {
		return v.name
	}
	return fmt.Sprint(v.n)
}

func (i index) String() string {
	var b strings.Builder
	if i.start != nil {
		b.WriteString(i.start.String())
	}
	if i.slice && (i.start != nil || i.end != nil) {
		b.WriteString("..")
	}
	if i.slice && i.end != nil {
		b.WriteString(i.end.String())
	}
	return b.String()
}

func (a access) String() string {
	if !a.bracketed && len(a.indices) == 0 {
		return a.base
	}
	list := make([]string, len(a.indices))
	for i, x := range a.indices {
		list[i] = x.String()
	}
	return a.base + "[" + strings.Join(list, ", ") + "]"
}

// variable returns a declaration, or nil.
func (p *Program) variable(name string) *decl {
	for _, v := range p.vars {
		if v.name == name {
			return v
		}
	}
	return nil
}

// block returns a block, or nil.
func (p *Program) block(name string) *block {
	for _, b := range p.blocks {
		if b.name == name {
			return b
		}
	}
	return nil
}

// Bounds of a program.
const (
	maxBytes   = 64 << 20 // of a file
	maxNesting = 64       // of loops
	maxNodes   = 1 << 20
	maxVars    = 1 << 16
)
