package openinfer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/formats/oinf"
)

// fact is the samples' description of an operator.
type fact struct {
	Op         string
	Inputs     int
	Attributes []struct{ Name, Kind string }
	Broadcast  bool
	Inplace    bool
	Accumulate bool
	Output     string `json:"output_dtype"`
	DTypes     []string
	Pairs      [][2]string `json:"accumulate_pairs"`
	Targets    []string    `json:"output_dtypes"`
}

// TestOps compares the table with the samples' facts.
func TestOps(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(fixtures.Dir(t, oinf.Name), "op_facts.json"))
	if err != nil {
		t.Fatal(err)
	}
	var facts struct{ Ops []fact }
	if err := json.Unmarshal(data, &facts); err != nil {
		t.Fatal(err)
	}
	if len(facts.Ops) != len(ops) {
		t.Errorf("%d operators, want %d", len(ops), len(facts.Ops))
	}
	for _, f := range facts.Ops {
		row, ok := lookupOp(f.Op)
		if !ok {
			t.Errorf("no operator %s", f.Op)
			continue
		}
		row.compare(t, f)
	}
}

func (r *opRow) compare(t *testing.T, f fact) {
	if r.inputs != f.Inputs || r.has(inPlace) != f.Inplace || r.has(accumulate) != f.Accumulate {
		t.Errorf("%s: %d inputs, flags %b; want %+v", r.word, r.inputs, r.flags, f)
	}
	if got, want := words(r.types.list()), slices.Sorted(slices.Values(f.DTypes)); !slices.Equal(got, want) {
		t.Errorf("%s takes %v, want %v", r.word, got, want)
	}
	var pairs [][2]string
	for _, d := range r.types.list() {
		for _, to := range r.accumulators(d) {
			pairs = append(pairs, [2]string{d.String(), to.String()})
		}
	}
	if !slices.Equal(pairs, sortedPairs(f.Pairs)) {
		t.Errorf("%s widens %v, want %v", r.word, pairs, f.Pairs)
	}
	kinds := map[attrKind]string{kindNumber: "scalar", kindWhole: "scalar", kindFlag: "scalar", kindAxis: "scalar", kindAxes: "int_list", kindType: "dtype", kindRound: "string"}
	var got, want []string
	for _, a := range r.attrs {
		got = append(got, a.name+" "+kinds[a.kind])
	}
	for _, a := range f.Attributes {
		want = append(want, a.Name+" "+a.Kind)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s has attributes %v, want %v", r.word, got, want)
	}
	r.compareResult(t, f)
}

// compareResult compares the type and the extents of the output.
func (r *opRow) compareResult(t *testing.T, f fact) {
	result := "input0"
	switch {
	case r.result != noType:
		result = r.result.String()
	case slices.ContainsFunc(r.attrs, func(a attrRule) bool { return a.name == "to" }):
		result = "attribute:to"
	}
	if result != f.Output {
		t.Errorf("%s makes %s, want %s", r.word, result, f.Output)
	}
	if f.Targets != nil {
		if got, want := words((floats | integers).list()), slices.Sorted(slices.Values(f.Targets)); !slices.Equal(got, want) {
			t.Errorf("%s makes %v, want %v", r.word, got, want)
		}
	}
	if r.inputs != 2 || r.word == "matmul" {
		return
	}
	c := &call{opRow: r, inputs: []operand{{dims: []int{2, 3}}, {dims: []int{3}}}}
	if _, err := r.extents(c); (err == nil) != f.Broadcast {
		t.Errorf("%s of shapes [2,3] and [3]: %v, broadcasts: %v", r.word, err, f.Broadcast)
	}
}

func words(list []dtype) (words []string) {
	for _, d := range list {
		words = append(words, d.String())
	}
	slices.Sort(words)
	return words
}

// sortedPairs sorts the pairs by their element types.
func sortedPairs(pairs [][2]string) [][2]string {
	order := func(p [2]string) int {
		from, _ := parseDType(p[0])
		to, _ := parseDType(p[1])
		return int(from)<<8 | int(to)
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return order(a) - order(b) })
	return pairs
}

// TestDTypes compares the names with the names of the container's types.
func TestDTypes(t *testing.T) {
	for d := noType + 1; d < dtypeCount; d++ {
		if got, ok := parseDType(d.String()); !ok || got != d {
			t.Errorf("the word %q is of %v", d, got)
		}
	}
	if _, ok := parseDType("f128"); ok {
		t.Error("f128 is a type")
	}
	if dtI1.bits() != 1 || !dtI1.isPacked() || dtF8.isPacked() || !dtU1.isUnsigned() || dtBool.isInt() || !dtF8.isFloat() {
		t.Error("the sets of types are wrong")
	}
}
