package openinfer

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// allText is a program with every construct of the text language, in the form of WriteText.
const allText = `dynamic {
  x: f32[B, D*2];
}

volatile {
  W(l, m): f32[D, 4] @pattern("W.{l}.{m}");
  h: f16 @init(-0.5);
  i: i4[3] @init(-8);
  t: t1 @init(-1);
  u: u64 @init(18446744073709551615);
  n: i64 @init(-9223372036854775808);
  e: f64 @init(1e-300);
  z: f32 @init(inf);
}

constant {
  b: bool @init(true);
  s: bitset[2] @init(255) @ref("other-name.0");
}

persistent {
  K(i, j): f32[D] @table @fixed(i=4, j=2);
  M(r, c): f32[D, D] @auto_dim(r, c) @fixed(r=8);
  c: i32;
}

block entry {
  assign a: i8[B, 2];
  assign one: u1;
  op add(x, W[l,0]) >> x;
  op relu(x, alpha=0.25, clamp_max=inf) >> x;
  op clamp(x, min=-3, max=limit) >> x;
  op sum_axis(x, axes=[0, -1], keepdims=true, acc=i32) >> x;
  op cast(x, to=f16, rounding_mode="nearest") >> x;
  branch other;
  branch b other other;
  loop outer (l in 0..num) {
    loop inner (m in 1..4) {
      cache.read K[l, m..-1] >> x;
    }
    cache.read K[..3, m] >> x;
  }
  cache.read K >> x;
  cache.read K[] >> x;
  cache.read K[, 0..] >> x;
  cache.write x >> K[0, -2];
  cache.increment c;
  cache.decrement 3 c;
  cache.reset K[l];
  barrier;
  dep after(add) before(mul);
  transfer x >> h;
  yield x, h;
  await x;
  return;
}

block other {
}
`

// TestText checks that a parsed text is written as the same text.
func TestText(t *testing.T) {
	p, err := Parse(allText)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := p.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if text.String() != allText {
		t.Errorf("got\n%s\nwant\n%s", text.String(), allText)
	}
	loose := strings.NewReplacer(", ", " ", "\n", " // comment\n", ";", " ; ").Replace(allText)
	loose = strings.ReplaceAll(loose, "K[ 0..]", "K[, 0..]")
	q, err := Parse(loose)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(p, q) {
		t.Error("commas, comments or white space make a difference")
	}
}

// TestJSON checks that a program is unchanged after writing and reading JSON.
func TestJSON(t *testing.T) {
	p, err := Parse(allText)
	if err != nil {
		t.Fatal(err)
	}
	var data bytes.Buffer
	if err := p.WriteJSON(&data); err != nil {
		t.Fatal(err)
	}
	q, err := ParseJSON(data.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var before, after bytes.Buffer
	if err := p.WriteText(&before); err != nil {
		t.Fatal(err)
	}
	if err := q.WriteText(&after); err != nil {
		t.Fatal(err)
	}
	if before.String() != after.String() {
		t.Errorf("got\n%s\nwant\n%s", after.String(), before.String())
	}
}

// TestFixtureJSON checks that graphs of the fixtures are written as they were read.
func TestFixtureJSON(t *testing.T) {
	dir := fixtures.Dir(t, "oinf")
	var files []string
	for _, pattern := range []string{"generated/graphs/*.graph.json", "upstream/graphs/minimal-graph.json"} {
		list, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	if files == nil {
		testenv.SkipSamples(t, "no graphs in ", dir)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !Probe(data) {
				t.Error("it is not found to be a program")
			}
			p, err := ParseJSON(data)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := p.WriteJSON(&out); err != nil {
				t.Fatal(err)
			}
			var want, got any
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %s, want %s", out.Bytes(), data)
			}
			var text bytes.Buffer
			if err := p.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			if _, err := Parse(text.String()); err != nil || !Probe(text.Bytes()) {
				t.Errorf("the text of it: %v\n%s", err, text.String())
			}
		})
	}
}

// TestTextErrors checks that errors have the line and the column.
func TestTextErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                          "",
		"volatil { }":                                               `1:1: "volatil" is no section`,
		"volatile { x f32; }":                                       `1:14: "f32" stands where ":" is needed`,
		"volatile {\n\tx: f33;\n}":                                  `2:5: "f33" is no element type`,
		"volatile { x: f32 @init(1); }":                             `1:25: "1" stands where a number with a point`,
		"volatile { x: i8 @init(128); }":                            `1:24: "128" is out of the range of i8`,
		"volatile { x: i8 @init(-129); }":                           `1:24: "129" is out of the range of i8`,
		"volatile { x: t1 @init(0); }":                              `1:24: "0" is out of the range of t1`,
		"volatile { x: u8 @init(-1); }":                             `1:24: "1" is out of the range of u8`,
		"volatile { x: f32 @table @table; }":                        `1:27: attribute "table" is there twice`,
		"volatile { x: f32; x: f32; }":                              `1:20: variable "x" is there twice`,
		"block a { } block a { }":                                   `1:19: block "a" is there twice`,
		"block a { branch x y; }":                                   `1:18: branch takes a block`,
		"block a { op add(x=1, y) >> z; }":                          `1:23: input "y" follows attributes`,
		"block a { return }":                                        `1:18: "}" stands where ";" is needed`,
		"block a { return;":                                         `1:18: the end stands where a node or "}" is needed`,
		"block a { ü }":                                             `1:11: 'ü' is no character of the language`,
		"block a {\n  op relu(x, m=\"abc) >> y;\n}":                 `2:16: the text has no closing quote`,
		"block a { cache.incremen t; }":                             `1:17: "incremen" is no access`,
		"block a { cache.increment 99999999999999999999 t; }":       `1:27: 99999999999999999999 takes more than 64 bits`,
		"block a { " + strings.Repeat("loop l (i in 0..1) { ", 100): "loops are nested more than 64 deep",
	} {
		_, err := Parse(text)
		if want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: error %v, want %q", text, err, want)
		}
	}
}

// TestJSONErrors checks that errors name the place.
func TestJSONErrors(t *testing.T) {
	const node = `{"vars":{},"blocks":{"entry":{"name":"entry","nodes":[%]}},"next_index":0}`
	const decl = `{"vars":{"x":{"name":"x","kind":"Volatile","dtype":"F32","dims":[],"init":%}},"blocks":{},"next_index":0}`
	deep := strings.Repeat(`{"index":0,"uuid":"","kind":{"Loop":{"name":"l","index":"i","start":"0","end":"1","body":[`, 100)
	deep += strings.Repeat(`]}}}`, 100)
	for _, c := range []struct{ data, want string }{
		{`{"vars":{},"blocks":{}`, "this is no JSON"},
		{`{"vars":{},"blocks":{},"next_index":0} 1`, "follows the value"},
		{`[]`, "the top level: an object is needed"},
		{`{"vars":{},"next_index":0}`, `"blocks" is missing`},
		{`{"vars":{},"blocks":{},"next_index":0,"more":1}`, `"more" is not known`},
		{`{"vars":{},"vars":{},"blocks":{},"next_index":0}`, `"vars" is there twice`},
		{strings.Replace(decl, "%", `{"F64":1}`, 1), `vars.x.init: "F64" is not the type of the variable, F32`},
		{strings.Replace(decl, "%", `{"F32":"a"}`, 1), `vars.x.init.F32`},
		{strings.Replace(strings.Replace(decl, "F32", "F33", 1), "%", "null", 1), `"F33" is no element type`},
		{strings.Replace(strings.Replace(decl, `"F32"`, `"I8"`, 1), "%", `{"I8":200}`, 1), "out of the range of i8"},
		{strings.Replace(strings.Replace(decl, `"F32"`, `"F16"`, 1), "%", `{"F16":{"bits":65536}}`, 1), "more than the 16 bits"},
		{strings.Replace(node, "%", `{"index":0,"uuid":"","kind":"Jump"}`, 1), `blocks.entry.nodes[0].kind.Jump`},
		{strings.Replace(node, "%", `{"index":0,"kind":"Return"}`, 1), `blocks.entry.nodes[0]: "uuid" is missing`},
		{strings.Replace(node, "%", `{"index":0,"uuid":"","kind":{"CacheRead":{"src":{"base":"K","indices":[{"Many":1}]},"dst":"x"}}}`, 1), `"Many" is neither Single nor Slice`},
		{strings.Replace(node, "%", deep, 1), "loops are nested more than 64 deep"},
		{strings.Repeat("[", 100000), "this is no JSON"},
	} {
		if _, err := ParseJSON([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: error %v, want %q", c.data, err, c.want)
		}
	}
}

// FuzzText parses texts, writes the programs and parses them again.
func FuzzText(f *testing.F) {
	f.Add(allText)
	f.Add("block a { op relu(x[1], a=-inf) >> y; }")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := p.WriteText(&first); err != nil {
			t.Fatal(err)
		}
		q, err := Parse(first.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, first.String())
		}
		if err := q.WriteText(&second); err != nil || first.String() != second.String() {
			t.Fatalf("%v\n%s\n%s", err, first.String(), second.String())
		}
		lowerAll(t, p)
	})
}

// FuzzJSON parses JSON, writes the programs and parses them again.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"vars":{"x":{"name":"x","kind":"Volatile","dtype":"F32","dims":["2"],"init":null}},"blocks":{"entry":{"name":"entry","nodes":[
		{"index":0,"uuid":"u","kind":{"Op":{"op":"relu","attrs":{"items":[{"name":"alpha","value":{"Double":0.5}}]},"inputs":["x"],"output":"x"}}}]}},"next_index":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseJSON(data)
		if err != nil {
			return
		}
		var first bytes.Buffer
		if err := p.WriteJSON(&first); err != nil {
			return // JSON has no such number
		}
		if _, err := ParseJSON(first.Bytes()); err != nil {
			t.Fatalf("%v\n%s", err, first.Bytes())
		}
		lowerAll(t, p)
	})
}

// lowerAll lowers a program without tensors, with a size for some names.
func lowerAll(t *testing.T, p *Program) {
	m := &graph.Model{Format: Name, Graph: &graph.Graph{}, Source: p}
	for _, name := range []string{"A", "B", "D", "x", "n"} {
		m.Sizes = append(m.Sizes, graph.Size{Name: name, Value: 2})
	}
	if n, err := Lower(m, container.Lowering{}); err == nil {
		if err := graph.Validate(n); err != nil {
			t.Fatal(err)
		}
	}
}
