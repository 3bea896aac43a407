package loom

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sample is one case of the manifest.
type sample struct {
	ID, Kind, Category string
	Files              map[string]string
	Upstream           map[string]bool `json:"upstream_behaviour"`
}

// samples calls f for every case of a kind.
func samples(t *testing.T, kind string, f func(t *testing.T, dir string, s sample)) {
	dir := fixtures.Dir(t, "loom")
	var manifest struct{ Cases []sample }
	decode(t, filepath.Join(dir, "manifest.json"), &manifest)
	n := 0
	for _, s := range manifest.Cases {
		if s.Kind == kind {
			n++
			t.Run(s.ID, func(t *testing.T) { f(t, dir, s) })
		}
	}
	if n == 0 {
		testenv.SkipSamples(t, "no samples of kind ", kind)
	}
}

func decode(t *testing.T, path string, v any) {
	t.Helper()
	if err := json.Unmarshal(load(t, path), v); err != nil {
		t.Fatal(path, err)
	}
}

func load(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// file reads a file of either format.
func file(name string, data []byte) (*graph.Model, error) {
	if ProbeEntity(data) || strings.HasSuffix(name, ".entity") {
		return ReadEntity(nil, name, data)
	}
	return Read(nil, name, data)
}

func asJSON(t *testing.T, m *graph.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, m, container.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asEntity(t *testing.T, m *graph.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteEntity(&b, m, container.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func same4(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// number is a float32 of the manifest.
type number float32

func (n *number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 32)
	*n = number(f)
	return err
}

func equal(t *testing.T, what string, got []float32, want []number) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, not %d", what, len(got), len(want))
	}
	for i := range got {
		if !same4(got[i], float32(want[i])) {
			t.Fatalf("%s: number %d is %g, not %g", what, i, got[i], want[i])
		}
	}
}

func TestNetworkSamples(t *testing.T) {
	samples(t, "network", func(t *testing.T, dir string, s sample) {
		var io struct {
			Layers []struct {
				Path, Type, DType string
				Scale             number
				Count             int      `json:"weight_count"`
				Weights           []number `json:"effective_weights"`
			}
		}
		decode(t, filepath.Join(dir, s.Files["io"]), &io)
		models := map[string]*graph.Model{}
		for kind, name := range s.Files {
			if kind == "io" {
				continue
			}
			data := load(t, filepath.Join(dir, name))
			m, err := file(name, data)
			if err != nil {
				t.Fatal(err)
			}
			if err := graph.Validate(m); err != nil {
				t.Error(err)
			}
			models[kind] = m
			n := m.Source.(*Network)
			i := 0
			n.Walk(func(path string, l *Layer) {
				want := io.Layers[i]
				i++
				count, err := l.Count()
				if path != want.Path || l.Type.String() != want.Type || count != want.Count || err != nil {
					t.Errorf("%s is %v of %d weights (%v), not %s, %s, %d", path, l.Type, count, err, want.Path, want.Type, want.Count)
				}
				if want.Weights == nil {
					return
				}
				// An ENTITY file holds the float32 weights that norms were made from.
				if kind == "entity" && l.Type == RMSNorm && l.DType != Float32 {
					return
				}
				w, err := l.Weights.Float32()
				if err != nil || l.Weights.DType.String() != want.DType || !same4(l.Weights.Scale, float32(want.Scale)) {
					t.Fatalf("%s: %v, %g (%v), not %s, %g", path, l.Weights.DType, l.Weights.Scale, err, want.DType, want.Scale)
				}
				equal(t, path, w, want.Weights)
			})
			if i != len(io.Layers) {
				t.Errorf("%d layers, not %d", i, len(io.Layers))
			}
			switch {
			case kind == "entity":
				if !bytes.Equal(asEntity(t, m), data) {
					t.Errorf("entity is written as %q", asEntity(t, m))
				}
			case s.Upstream["json_resave_identical"]:
				if !bytes.Equal(asJSON(t, m), data) {
					t.Errorf("JSON is written as %s", asJSON(t, m))
				}
			default:
				again, err := Read(nil, "again", asJSON(t, m))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(asJSON(t, m), asJSON(t, again)) {
					t.Error("JSON is written in another way when read again")
				}
			}
		}
		if models["json"] == nil || models["entity"] == nil || !s.Upstream["entity_resave_identical"] {
			return
		}
		if got, want := asEntity(t, models["json"]), load(t, filepath.Join(dir, s.Files["entity"])); !bytes.Equal(got, want) {
			t.Errorf("JSON became the entity\n%q, not\n%q", got, want)
		}
		if got, want := asJSON(t, models["entity"]), load(t, filepath.Join(dir, s.Files["json"])); !bytes.Equal(got, want) && s.Upstream["json_resave_identical"] {
			t.Errorf("the entity became\n%s, not\n%s", got, want)
		}
	})
}

func TestNegativeSamples(t *testing.T) {
	samples(t, "negative", func(t *testing.T, dir string, s sample) {
		name := s.Files["file"]
		data := load(t, filepath.Join(dir, name))
		m, err := file(name, data)
		if (err != nil) != (s.Category == "invalid") {
			t.Errorf("%s: got %v", s.Category, err)
		}
		if err != nil {
			if problems := verify(name, data); len(problems) == 0 || problems[0].Error() != err.Error() {
				t.Errorf("verify finds %v, read %v", problems, err)
			}
			return
		}
		again, err := ReadEntity(nil, "again", asEntity(t, m))
		if err != nil || !bytes.Equal(asEntity(t, again), asEntity(t, m)) {
			t.Error(err)
		}
	})
}

func verify(name string, data []byte) []error {
	if ProbeEntity(data) || strings.HasSuffix(name, ".entity") {
		return VerifyEntity(nil, name, data)
	}
	return Verify(nil, name, data)
}

func TestTransformerSamples(t *testing.T) {
	samples(t, "transformer", func(t *testing.T, dir string, s sample) {
		data := load(t, filepath.Join(dir, s.Files["entity"]))
		m, err := ReadEntity(nil, "x", data)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(asEntity(t, m), data) {
			t.Errorf("written as %q", asEntity(t, m))
		}
		var io struct {
			Hidden int    `json:"hidden_size"`
			Vocab  int    `json:"vocab_size"`
			DType  string `json:"resolved_weight_dtype"`
		}
		decode(t, filepath.Join(dir, s.Files["io"]), &io)
		n := m.Source.(*Network)
		if tr := n.Transformer; tr == nil || tr.HiddenSize != io.Hidden || tr.VocabSize != io.Vocab || n.WeightDType().String() != io.DType {
			t.Errorf("%+v, %v", tr, n.WeightDType())
		}
		if err := Write(new(bytes.Buffer), m, container.Options{}); err == nil {
			t.Error("JSON took a bundle")
		}
		if n.WeightDType() > BFloat16 {
			return
		}
		var half bytes.Buffer
		if err := WriteEntity(&half, m, container.Options{DType: tensor.F16}); err != nil {
			t.Fatal(err)
		}
		if m, err = ReadEntity(nil, "half", half.Bytes()); err != nil || m.Source.(*Network).WeightDType() != Float16 || m.Source.(*Network).Layers[1].Weights.DType != Float16 {
			t.Errorf("in half precision: %v", err)
		}
	})
}

func TestArchitectureSamples(t *testing.T) {
	samples(t, "architecture", func(t *testing.T, dir string, s sample) {
		m, err := Read(nil, "x", load(t, filepath.Join(dir, s.Files["spec"])))
		if err != nil {
			t.Fatal(err)
		}
		n := m.Source.(*Network)
		var want struct {
			Depth, Rows, Cols int
			PerCell           int `json:"layers_per_cell"`
			Layers            []map[string]any
		}
		decode(t, filepath.Join(dir, s.Files["expected"]), &want)
		for _, n := range []*Network{n, again(t, m).Source.(*Network)} {
			if n.Depth != want.Depth || n.Rows != want.Rows || n.Cols != want.Cols || n.LayersPerCell != want.PerCell || !n.Spec {
				t.Errorf("grid %+v", n)
			}
			i := 0
			n.Walk(func(path string, l *Layer) {
				count, err := l.Count()
				if err != nil {
					t.Error(err)
				}
				got := map[string]any{"path": path, "weight_count": count, "is_remote_link": l.Remote, "target": l.Target[:], "type_id": int(l.Type), "dtype_id": int(l.DType), "activation_id": int(l.Activation)}
				for _, f := range fields {
					if f.in&inCheckpoint != 0 && f.at(l) != nil {
						var b bytes.Buffer
						e := newEmitter(&b, false)
						e.within("{}", func() { e.member(f.key, true, f.at(l)) })
						e.w.Flush()
						if json.Unmarshal(b.Bytes(), &got) != nil {
							continue // only numbers and texts are compared
						}
					}
				}
				for k, v := range want.Layers[i] {
					if fmt.Sprint(got[k]) != fmt.Sprint(v) {
						t.Errorf("%s: %s is %v, not %v", path, k, got[k], v)
					}
				}
				i++
			})
			if i != len(want.Layers) {
				t.Errorf("%d layers, not %d", i, len(want.Layers))
			}
		}
		weights := 0
		for _, v := range m.Graph.Values {
			d := 1
			for _, x := range v.Type.Dims {
				k, _ := x.Value()
				d *= k
			}
			weights += d
		}
		total := 0
		for _, l := range want.Layers {
			total += int(l["weight_count"].(float64))
		}
		if weights != total {
			t.Errorf("%d weights are declared, not %d", weights, total)
		}
	})
}

// again writes a model, reads the file, and checks that it is written the same.
func again(t *testing.T, m *graph.Model) *graph.Model {
	t.Helper()
	first := asJSON(t, m)
	a, err := Read(nil, "again", first)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, asJSON(t, a)) {
		t.Errorf("%s is written as %s when read again", first, asJSON(t, a))
	}
	return a
}

func TestQuantSamples(t *testing.T) {
	samples(t, "quant", func(t *testing.T, dir string, s sample) {
		var v struct {
			Cases []struct {
				DType, Vector, Packed_base64 string
				Codes                        []string
				Input, Dequantized           []number
				Reloaded_dequantized         []number
				Reloaded_element_count       int
				Scale_before, Scale_after    number
			}
			Tables map[string][]number `json:"decode_tables_scale_1"`
			Q4     []struct {
				Block_scales, Dequantized, Input []number
				Leading_words                    []uint32
				Packed_word_count                int
			} `json:"q4_0"`
		}
		decode(t, filepath.Join(dir, s.Files["vectors"]), &v)
		for _, c := range v.Cases {
			name := fmt.Sprintf("%s %s, scale %g", c.DType, c.Vector, c.Scale_before)
			d, ok := ParseDType(c.DType)
			codes, scale := Morph(d, plain(c.Input), float32(c.Scale_before))
			want, err := base64.StdEncoding.DecodeString(c.Packed_base64)
			if !ok || err != nil || !bytes.Equal(codes, want) || !same4(scale, float32(c.Scale_after)) {
				t.Fatalf("%s: %x, scale %g, not %x, %g", name, codes, scale, want, c.Scale_after)
			}
			w, err := Restore(d, codes, scale, len(c.Input))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, name, w, c.Dequantized)
			if w, err = Restore(d, codes, scale, c.Reloaded_element_count); err != nil {
				t.Fatal(err)
			}
			equal(t, name+", all codes", w[:min(len(w), len(c.Reloaded_dequantized))], c.Reloaded_dequantized)
		}
		for name, want := range v.Tables {
			word, bits, _ := strings.Cut(name, " byte ")
			d, _ := ParseDType(word)
			codes := make([]byte, d.Bytes(len(want)))
			for i := range want {
				d.setBits(codes, i, uint64(i))
			}
			if bits != "" {
				b, err := strconv.ParseUint(bits, 0, 8)
				if err != nil {
					t.Fatal(err)
				}
				codes = []byte{byte(b)}
			}
			w, err := Restore(d, codes, 1, len(want))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, name, w, want)
		}
		for i, c := range v.Q4 {
			b := PackQ4_0(plain(c.Input))
			w, err := RestoreQ4_0(b, len(c.Input))
			if err != nil || int(order.Uint32(b[4:])) != c.Packed_word_count {
				t.Fatalf("Q4_0 %d: %d words, %v", i, order.Uint32(b[4:]), err)
			}
			equal(t, "Q4_0", w, c.Dequantized)
			scales, codes, _ := q4(b, len(c.Input))
			for j, s := range c.Block_scales {
				if math.Float32bits(float32(s)) != order.Uint32(scales[4*j:]) {
					t.Errorf("Q4_0 %d: scale %d", i, j)
				}
			}
			for j, word := range c.Leading_words {
				if order.Uint32(codes[4*j:]) != word {
					t.Errorf("Q4_0 %d: word %d", i, j)
				}
			}
		}
	})
}

func plain(list []number) []float32 {
	w := make([]float32, len(list))
	for i, n := range list {
		w[i] = float32(n)
	}
	return w
}
