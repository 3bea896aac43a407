package optimize_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/optimize"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestPasses runs one pass on small graphs and compares the results. A file
// testdata/passes/PASS.txt holds cases: a line "== name", the graph, a line "->", and the dump of
// the graph after the pass. A graph is lines such as
//
//	in x float32[n,3]
//	const c float32[2] 1 2
//	y, z = Split(x) axis=1 split=[1,2]
//	v = If-21(c) then_branch={
//	out t
//	t = com.microsoft.Gelu-1(y)
//	} else_branch={
//	out e
//	e = Relu(y)
//	}
//	out v
//
// Operators without a version have version 18. The listed elements of a constant repeat as often as
// it takes.
func TestPasses(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "passes", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		pass := strings.TrimSuffix(filepath.Base(file), ".txt")
		i := slices.IndexFunc(optimize.Passes(), func(p optimize.Pass) bool { return p.Name == pass })
		if i < 0 {
			t.Errorf("%s: there is no such pass", file)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var made strings.Builder
		for _, c := range strings.Split(string(text), "== ")[1:] {
			name, rest, _ := strings.Cut(c, "\n")
			source, want, _ := strings.Cut(rest, "->\n")
			got := want // for cases that -run leaves out
			t.Run(pass+"/"+name, func(t *testing.T) { got = golden(t, source, optimize.Passes()[i]) })
			if !*update && got != want {
				t.Errorf("%s, %s: got\n%swant\n%s", pass, name, got, want)
			}
			fmt.Fprintf(&made, "== %s\n%s->\n%s", name, source, got)
		}
		if *update {
			if err := os.WriteFile(file, []byte(made.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// golden returns the dump of a graph after one pass.
func golden(t *testing.T, source string, pass optimize.Pass) string {
	t.Helper()
	m := &graph.Model{Format: "test", Graph: parseGraph(t, source)}
	if err := graph.Validate(m); err != nil {
		t.Fatal(err)
	}
	before := dump(t, m)
	opt, err := optimize.Run(m, []optimize.Pass{pass}, contextOf(operators()))
	if err != nil {
		t.Fatal(err)
	}
	if dump(t, m) != before {
		t.Error("the model passed in was changed")
	}
	if err := graph.Validate(opt); err != nil {
		t.Errorf("the graph is not valid any more: %v", err)
	}
	var b bytes.Buffer
	if err := graph.DumpGraph(&b, opt.Graph); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// parser reads graphs in the language of TestPasses.
type parser struct {
	t     *testing.T
	lines []string
}

func parseGraph(t *testing.T, source string) *graph.Graph {
	t.Helper()
	p := &parser{t, strings.Split(strings.TrimSpace(source), "\n")}
	g, _ := p.graph()
	g.Name = "g"
	return g
}

// graph reads lines up to one that starts with "}", and returns the rest of that line.
func (p *parser) graph() (g *graph.Graph, rest string) {
	g = &graph.Graph{}
	for len(p.lines) > 0 {
		line := strings.TrimSpace(p.lines[0])
		p.lines = p.lines[1:]
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "}":
			return g, rest
		case "in":
			name, typ, _ := strings.Cut(rest, " ")
			v := &graph.Value{Name: name}
			if typ != "" {
				v.Type = graph.TensorOf(p.typ(typ))
			}
			g.Inputs = append(g.Inputs, v)
		case "out":
			for _, name := range strings.Fields(rest) {
				g.Outputs = append(g.Outputs, &graph.Value{Name: name})
			}
		case "const":
			f := strings.Fields(rest)
			g.Initializers = append(g.Initializers, &graph.Initializer{Name: f[0], Tensor: p.constant(f[1], f[2:])})
		default:
			g.Nodes = append(g.Nodes, p.node(line))
		}
	}
	return g, ""
}

func (p *parser) typ(s string) (tensor.DType, graph.Dims) {
	name, list, ok := strings.Cut(strings.TrimSuffix(s, "]"), "[")
	d, err := tensor.ParseDType(name)
	if err != nil {
		p.t.Fatal(err)
	}
	if !ok {
		return d, nil
	}
	dims := graph.Dims{}
	for _, s := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		dims = append(dims, graph.ParseDim(s))
	}
	return d, dims
}

func (p *parser) constant(typ string, values []string) *tensor.Tensor {
	d, dims := p.typ(typ)
	shape, _ := dims.Concrete()
	t := tensor.New(d, shape...)
	list := make([]float64, t.Len())
	for i := range list {
		v, err := strconv.ParseFloat(values[i%len(values)], 64)
		if err != nil {
			p.t.Fatal(err)
		}
		list[i] = v
	}
	kit.SetNumbers(t, list)
	return t
}

func (p *parser) node(line string) *graph.Node {
	outs, call, ok := strings.Cut(line, " = ")
	name, args, ok2 := strings.Cut(call, "(")
	args, rest, ok3 := strings.Cut(args, ")")
	if !ok || !ok2 || !ok3 {
		p.t.Fatalf("no node: %s", line)
	}
	n := &graph.Node{Version: 18, Outputs: names(outs), Inputs: names(args)}
	name, version, ok := strings.Cut(name, "-")
	if ok {
		n.Version, _ = strconv.Atoi(version)
	}
	if i := strings.LastIndex(name, "."); i >= 0 {
		n.Domain, name = name[:i], name[i+1:]
	}
	n.Op = name
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		key, after, _ := strings.Cut(rest, "=")
		value, more, _ := strings.Cut(after, " ")
		a := &graph.Attr{Name: key}
		switch {
		case value == "{":
			a.Kind = graph.AttrGraph
			a.Graph, more = p.graph()
		case strings.HasPrefix(value, `"`):
			a.Kind, a.Str = graph.AttrString, []byte(strings.Trim(value, `"`))
		case strings.HasPrefix(value, "["):
			p.list(a, strings.Trim(value, "[]"))
		case strings.ContainsAny(value, ".e"):
			f, err := strconv.ParseFloat(value, 32)
			if err != nil {
				p.t.Fatal(err)
			}
			a.Kind, a.Float = graph.AttrFloat, float32(f)
		default:
			i, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			a.Kind, a.Int = graph.AttrInt, i
		}
		n.Attrs = append(n.Attrs, a)
		rest = more
	}
	return n
}

// list reads a list attribute: floats if there is a point, else integers.
func (p *parser) list(a *graph.Attr, s string) {
	a.Kind = graph.AttrInts
	if strings.Contains(s, ".") {
		a.Kind = graph.AttrFloats
	}
	for _, s := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' }) {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			p.t.Fatal(err)
		}
		if a.Kind == graph.AttrFloats {
			a.Floats = append(a.Floats, float32(f))
		} else {
			a.Ints = append(a.Ints, int64(f))
		}
	}
}

// names reads a list of names. _ stands for a name left out.
func names(s string) []string {
	var list []string
	for _, name := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		if name == "_" {
			name = ""
		}
		list = append(list, name)
	}
	return list
}
