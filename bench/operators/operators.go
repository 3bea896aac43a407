// Package operators is a table with a model of every operator, to compare runs of them.
//
// A line of a .txt file is the name of a row, inputs and attributes, separated by spaces:
//
//	Conv/1x1  float32[1,64,56,56] =float32[64,64,1,1]  strides=[1,1]
//
// The name is an operator, with its domain before it unless that is the standard domain. If the
// model needs another version of the domain than the newest that ONNX Runtime has, @N follows. If
// the operator has several rows, /FORM follows. The other words:
//
//	float32[2,3]        an input of random elements: floats in -1..1, any integers
//	float32[2,3](0,5)   of elements from 0 up to 5
//	int64[9]%4*3        of elements 0, 3, 2, 1, 0, ...: indices times 3, modulo 4
//	int64{1,2}          of these elements; int64[9]{1,2} repeats them, int64[]{1} is a scalar
//	=float32[2,3]       a constant
//	-                   an input that is left out
//	$ or $2             the first output of the node before, or the second
//	axis=1 x=[1,2]      attributes: integers, numbers with a point, words, and lists of these
//	x=[1,2]*64          a list of 64 times these elements
//	->2                 how many outputs the node has; 1 if the line does not say
//	|                   ends a node; the operator that follows takes its results by $
//	~                   results are drawn at random: only types and shapes are compared
//	~0.001              results may differ by that part of the largest
//
// A row of several nodes has a colon after its name, and the name of the first node follows.
//
// A function in graphs.go builds the rows with subgraphs.
package operators

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

//go:embed *.txt
var files embed.FS

// Row is an operator with inputs.
type Row struct {
	Name  string  // of the operator, and its form
	Drawn bool    // results are random numbers
	Share float64 // how far results may be from the peer's, as a part of the largest; 0 for rounding only

	text  string
	chain bool // the text has the names of all nodes
	built func(m *Model)
}

// Op returns the operator with its domain.
func (r *Row) Op() string {
	name, _, _ := strings.Cut(r.Name, "/")
	name, _, _ = strings.Cut(name, "@")
	return name
}

// Model is a model with its inputs.
type Model struct {
	graph.Model
	Feeds []*tensor.Tensor // of the graph's inputs

	rand  *rand.Rand
	next  int
	given []string // outputs of the last node
}

// Rows returns the table.
func Rows() ([]Row, error) {
	list, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, f := range list {
		data, err := files.ReadFile(f.Name())
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(data)) {
			name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
			if name == "" || name == "#" {
				continue
			}
			name, chain := strings.CutSuffix(name, ":")
			r := Row{Name: name, chain: chain}
			var share string
			r.text, share, r.Drawn = strings.Cut(text, " ~")
			if share != "" {
				r.Drawn = false
				if r.Share, err = strconv.ParseFloat(share, 64); err != nil {
					return nil, fmt.Errorf("%s: row %s: %w", f.Name(), name, err)
				}
			}
			rows = append(rows, r)
		}
	}
	for _, g := range graphs {
		rows = append(rows, Row{Name: g.name, built: g.build})
	}
	return rows, nil
}

// The newest versions that ONNX Runtime 1.31 takes.
const (
	opset = 24
	ir    = 11
)

// versions are the versions by domain.
var versions = map[string]int{"": opset, "com.microsoft": 1, "ai.onnx.ml": 5, "ai.onnx.preview.training": 1}

// Build returns the model of the row.
func (r *Row) Build() (m *Model, err error) {
	m = &Model{rand: rand.New(rand.NewPCG(1, 2))}
	m.Producer, m.IR, m.Graph = "nacre bench", ir, &graph.Graph{Name: "operator"}
	for domain, v := range versions {
		m.Opsets = append(m.Opsets, graph.Opset{Domain: domain, Version: v})
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("row %s: %w", r.Name, err)
		}
	}()
	if r.built != nil {
		r.built(m)
	} else if err := m.line(r); err != nil {
		return nil, err
	}
	for _, name := range m.given {
		m.Graph.Outputs = append(m.Graph.Outputs, &graph.Value{Name: name})
	}
	return m, nil
}

// line adds the nodes of a line.
func (m *Model) line(r *Row) error {
	text := r.text
	if !r.chain {
		text = r.Name + " " + text
	}
	for part := range strings.SplitSeq(text, " | ") {
		words := strings.Fields(part)
		if err := m.node(words[0], words[1:]); err != nil {
			return err
		}
	}
	return nil
}

// node adds a node of words.
func (m *Model) node(name string, words []string) error {
	name, _, _ = strings.Cut(name, "/")
	name, version, _ := strings.Cut(name, "@")
	domain, op := "", name
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		domain, op = name[:at], name[at+1:]
	}
	n := &graph.Node{Name: fmt.Sprint("node", len(m.Graph.Nodes)), Domain: domain, Op: op, Version: versions[domain]}
	if version != "" {
		if _, err := fmt.Sscan(version, &n.Version); err != nil {
			return fmt.Errorf("version %q: %w", version, err)
		}
		m.imports(n)
	}
	outputs := 1
	for _, w := range words {
		var err error
		switch key, value, isAttr := attribute(w); {
		case isAttr:
			var a *graph.Attr
			a, err = parseAttr(key, value)
			n.Attrs = append(n.Attrs, a)
		case strings.HasPrefix(w, "->"):
			_, err = fmt.Sscan(w[2:], &outputs)
		default:
			var in string
			in, err = m.operand(w)
			n.Inputs = append(n.Inputs, in)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
	}
	m.add(n, outputs)
	return nil
}

// imports sets the version of a node's domain that the model imports to the node's.
func (m *Model) imports(n *graph.Node) {
	for i := range m.Opsets {
		if m.Opsets[i].Domain == n.Domain {
			m.Opsets[i].Version = n.Version
		}
	}
}

// add adds a node with the given number of outputs.
func (m *Model) add(n *graph.Node, outputs int) {
	m.given = nil
	for range outputs {
		m.given = append(m.given, m.name("y"))
	}
	n.Outputs = m.given
	m.Graph.Nodes = append(m.Graph.Nodes, n)
}

func (m *Model) name(kind string) string {
	m.next++
	return fmt.Sprint(kind, m.next)
}

// operand returns the name of an input of a node.
func (m *Model) operand(w string) (string, error) {
	switch {
	case w == "-":
		return "", nil
	case w == "$":
		return m.given[0], nil
	case w[0] == '$':
		at := 0
		if _, err := fmt.Sscan(w[1:], &at); err != nil || at < 1 || at > len(m.given) {
			return "", fmt.Errorf("the node before has %d outputs", len(m.given))
		}
		return m.given[at-1], nil
	}
	t, err := m.tensor(strings.TrimPrefix(w, "="))
	if err != nil {
		return "", err
	}
	if w[0] == '=' {
		return m.constant(t), nil
	}
	return m.input(t), nil
}

func (m *Model) constant(t *tensor.Tensor) string {
	name := m.name("w")
	m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: t})
	return name
}

func (m *Model) input(t *tensor.Tensor) string {
	name := m.name("x")
	of := graph.TensorOf(t.DType(), graph.DimsOf(t.Shape()))
	m.Graph.Inputs = append(m.Graph.Inputs, &graph.Value{Name: name, Type: of})
	m.Feeds = append(m.Feeds, t)
	return name
}
