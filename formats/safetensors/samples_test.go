package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sample is a case of the samples that come with the format loom.
type sample struct {
	ID, Kind string
	Files    map[string]string
}

func samples(t *testing.T, kinds string) (dir string, list []sample) {
	t.Helper()
	dir = fixtures.Dir(t, "loom")
	var m struct{ Cases []sample }
	parse(t, filepath.Join(dir, "manifest.json"), &m)
	for _, s := range m.Cases {
		if strings.Contains(kinds, s.Kind) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		t.Fatalf("the manifest has no case of %s", kinds)
	}
	return dir, list
}

func parse(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSamples reads files and, where they are given, compares the values of their
// tensors. Files are written as they were.
func TestSamples(t *testing.T) {
	dir, list := samples(t, "safetensors universal")
	for _, s := range list {
		t.Run(s.ID, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, s.Files["safetensors"]))
			if err != nil {
				t.Fatal(err)
			}
			m, err := Read(s.ID, data)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(write(t, m, container.Options{}), data) {
				t.Error("written otherwise than it was")
			}
			if s.Kind != "safetensors" {
				return
			}
			var want struct {
				Skipped []string
				Tensors map[string]struct {
					DType  string
					Shape  []int
					Values []any
				}
			}
			parse(t, filepath.Join(dir, s.Files["expected"]), &want)
			if len(m.Graph.Initializers) != len(want.Tensors)+len(want.Skipped) {
				t.Errorf("%d tensors, want %d and %d that Loom skips", len(m.Graph.Initializers), len(want.Tensors), len(want.Skipped))
			}
			for _, x := range m.Graph.Initializers {
				w, ok := want.Tensors[x.Name]
				if !ok {
					continue
				}
				if x.Stored.DType != w.DType || !x.Tensor.Shape().Equal(w.Shape) || len(w.Values) != x.Tensor.Len() {
					t.Errorf("tensor %s is %s%v, want %s%v", x.Name, x.Stored.DType, x.Tensor.Shape(), w.DType, w.Shape)
					continue
				}
				for i, v := range w.Values {
					if got, want := value(t, x.Tensor, i), number(t, v); math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
						t.Errorf("tensor %s, element %d is %v, want %v", x.Name, i, got, want)
					}
				}
			}
		})
	}
}

// loomF4 is what the codes of F4 are to Loom.
var loomF4 = []float64{0, 0.75, 1, 1.5, 2, 3, math.Inf(1), math.NaN(), math.Copysign(0, -1), -0.75, -1, -1.5, -2, -3, math.Inf(-1), math.NaN()}

func value(t *testing.T, x *tensor.Tensor, i int) float32 {
	t.Helper()
	if x.DType() == tensor.F4E2M1 {
		return float32(loomF4[x.Bytes()[i/2]>>(i%2*4)&15])
	}
	v, err := strconv.ParseFloat(x.Text(i), 64)
	if err != nil {
		t.Fatal(err)
	}
	return float32(v)
}

func number(t *testing.T, v any) float32 {
	t.Helper()
	f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil {
		t.Fatal(err)
	}
	return float32(f)
}

// TestFolderSamples opens folders of Hugging Face, describes the decoders in them and
// compares every matrix and norm with the files that Loom made of the same folder.
func TestFolderSamples(t *testing.T) {
	dir, list := samples(t, "hf_import")
	for _, s := range list {
		t.Run(s.ID, func(t *testing.T) {
			folder := filepath.Join(dir, s.Files["dir"])
			m, err := OpenFolder(folder)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if p := VerifyFolder(folder); len(p) > 0 {
				t.Error(p)
			}
			d, err := DecoderOf(m)
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Unused) > 0 {
				t.Errorf("not used: %v", d.Unused)
			}
			compared := 0
			for key, path := range s.Files {
				if strings.HasSuffix(path, ".entity") {
					compared += compareEntity(t, d, key, filepath.Join(dir, path))
				}
			}
			if compared == 0 {
				t.Error("nothing was compared")
			}
			for key, path := range s.Files {
				if !strings.HasPrefix(key, "safetensors_") {
					continue
				}
				f, err := binio.Open(filepath.Join(dir, path))
				if err != nil {
					t.Fatal(err)
				}
				if m, err := Read(path, f.Data); err != nil || !bytes.Equal(write(t, m, container.Options{}), f.Data) {
					t.Errorf("%s is written otherwise than it was (%v)", path, err)
				}
				f.Close()
			}
		})
	}
}

// entity is the header of a file that Loom made.
type entity struct {
	Transformer struct {
		Hidden int  `json:"hidden_size"`
		Vocab  int  `json:"vocab_size"`
		Tied   bool `json:"lm_head_tied"`
		Norm   bool `json:"has_final_norm"`
		Dims   struct {
			Layers       int     `json:"num_layers"`
			Heads        int     `json:"num_heads"`
			KVHeads      int     `json:"num_kv_heads"`
			HeadDim      int     `json:"head_dim"`
			QueryDim     int     `json:"query_dim"`
			KVDim        int     `json:"kv_dim"`
			Intermediate int     `json:"intermediate_size"`
			Eps          float64 `json:"rms_norm_eps"`
			Base         float64 `json:"rope_freq_base"`
			Activation   string
		}
	}
	Blobs []struct {
		Path, DType    string
		Offset, Length int
	}
}

// compareEntity compares dimensions and what is stored as float32 or ternary; it
// returns how many blobs that were.
func compareEntity(t *testing.T, d *Decoder, key, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(data[12:])
	var e entity
	if err := json.Unmarshal(data[20:20+n], &e); err != nil {
		t.Fatal(err)
	}
	g, w := e.Transformer, e.Transformer.Dims
	got := fmt.Sprint(d.Hidden, d.Vocab, d.Head == nil, d.FinalNorm != nil, len(d.Blocks), d.Heads, d.KVHeads, d.HeadDim, d.QueryDim, d.KVDim, d.Intermediate, d.NormEps, d.RopeTheta, d.Activation)
	if want := fmt.Sprint(g.Hidden, g.Vocab, g.Tied, g.Norm, w.Layers, w.Heads, w.KVHeads, w.HeadDim, w.QueryDim, w.KVDim, w.Intermediate, w.Eps, w.Base, strings.ToLower(w.Activation)); got != want {
		t.Errorf("%s: dimensions %s, want %s", key, got, want)
	}
	compared := 0
	for _, b := range e.Blobs {
		blob := data[20+int(n)+b.Offset:][:b.Length]
		var want []byte
		switch parts := strings.Split(b.Path, "."); {
		case b.DType == "BITNET_TERNARY":
			compareTernary(t, d, parts, blob)
			compared++
			continue
		case b.DType != "float32":
			continue
		case parts[0] == "transformer":
			want = floats(t, map[string]*graph.Initializer{"embeddings": d.Embedding, "lm_head": d.Head, "final_norm": d.FinalNorm}[parts[1]])
		default:
			want = layer(t, d, parts)
		}
		compared++
		if !bytes.Equal(blob, want) {
			t.Errorf("%s: %s has %d bytes that are not the %d of the folder", key, b.Path, len(blob), len(want))
		}
	}
	return compared
}

// layer is what Loom stores of a layer: parts are "layers", its number and, for a
// part of the layer, its name.
func layer(t *testing.T, d *Decoder, parts []string) []byte {
	t.Helper()
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	b := &d.Blocks[n/4]
	if len(parts) == 3 {
		switch part := fmt.Sprint(n%4, parts[2]); part {
		case "1q_norm":
			return floats(t, b.QNorm)
		case "1k_norm":
			return floats(t, b.KNorm)
		case "1inner_norm":
			return floats(t, b.AttnNorm)
		case "3inner_norm":
			return floats(t, b.MLPNorm)
		case "3biases":
			return biases(t, &b.Gate, &b.Up, &b.Down)
		default:
			t.Fatalf("unknown part %s", part)
		}
	}
	switch n % 4 {
	case 0:
		return floats(t, b.Norm1)
	case 1:
		return append(weights(t, &b.Q, &b.K, &b.V, &b.O), biases(t, &b.Q, &b.K, &b.V, &b.O)...)
	case 2:
		return floats(t, b.Norm2)
	}
	return append(weights(t, &b.Gate, &b.Up, &b.Down), biases(t, &b.Gate, &b.Up, &b.Down)...)
}

func weights(t *testing.T, list ...*Matrix) []byte {
	t.Helper()
	var b []byte
	for _, m := range list {
		b = append(b, floats(t, m.Weight)...)
	}
	return b
}

func biases(t *testing.T, list ...*Matrix) []byte {
	t.Helper()
	var b []byte
	for _, m := range list {
		if m.Bias == nil {
			b = append(b, make([]byte, 4*m.Rows)...)
		} else {
			b = append(b, floats(t, m.Bias)...)
		}
	}
	return b
}

// floats is a tensor as float32.
func floats(t *testing.T, x *graph.Initializer) []byte {
	t.Helper()
	if x == nil {
		return nil
	}
	p, err := container.Options{DType: tensor.F32}.For(x.Tensor)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := p.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// compareTernary compares one matrix: rows, columns, its place among the matrices of
// the layer, scale, words in a row, words; then words of sixteen codes.
func compareTernary(t *testing.T, d *Decoder, parts []string, blob []byte) {
	t.Helper()
	u32 := func(i int) int { return int(binary.LittleEndian.Uint32(blob[4*i:])) }
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	b := &d.Blocks[n/4]
	list := []*Matrix{&b.Q, &b.K, &b.V, &b.O}
	if n%4 == 3 {
		list = []*Matrix{&b.Gate, &b.Up, &b.Down}
	}
	at := 0
	for _, m := range list {
		if at != u32(2) {
			at += m.Rows * m.Cols
			continue
		}
		if !m.Packed || m.Rows != u32(0) || m.Cols != u32(1) {
			t.Errorf("%v is [%d,%d], want [%d,%d]", parts, m.Rows, m.Cols, u32(0), u32(1))
			return
		}
		if scale := binary.LittleEndian.Uint32(floats(t, m.Scale)); scale != uint32(u32(3)) {
			t.Errorf("%v is scaled by %v, want %v", parts, math.Float32frombits(scale), math.Float32frombits(uint32(u32(3))))
		}
		for i, c := range m.Codes() {
			r, j := i/m.Cols, i%m.Cols
			if want := int8(u32(6+r*u32(4)+j/16)>>(2*(j%16))&3) - 1; c != want {
				t.Errorf("%v: code [%d,%d] is %d, want %d", parts, r, j, c, want)
			}
		}
		return
	}
	t.Errorf("%v has the offset %d of no matrix", parts, u32(2))
}
