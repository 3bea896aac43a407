package exchange

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestForms gives tensors of a file other forms: fused, one for each expert, and with a scale
// beside them. The folder is the same.
func TestForms(t *testing.T) {
	floats := func(shape []int, bytes ...[]byte) *tensor.Tensor {
		x, err := tensor.FromBytes(tensor.F32, shape, slices.Concat(bytes...))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	want := folderOf(t, files["llama 3"].model("llama"))
	for form, change := range map[string]func(list map[string]*tensor.Tensor, p string){
		"fused attention": func(list map[string]*tensor.Tensor, p string) {
			list[p+"attn_qkv.weight"] = floats([]int{32, 16}, list[p+"attn_q.weight"].Bytes(), list[p+"attn_k.weight"].Bytes(), list[p+"attn_v.weight"].Bytes())
			for _, name := range []string{"attn_q", "attn_k", "attn_v"} {
				delete(list, p+name+".weight")
			}
		},
		"fused experts": func(list map[string]*tensor.Tensor, p string) {
			var parts [][]byte
			for i := range 3 {
				for _, name := range []string{"ffn_gate_exps", "ffn_up_exps"} {
					parts = append(parts, list[p+name+".weight"].Bytes()[i*4*16*4:][:4*16*4])
				}
			}
			list[p+"ffn_gate_up_exps.weight"] = floats([]int{3, 8, 16}, parts...)
			delete(list, p+"ffn_gate_exps.weight")
			delete(list, p+"ffn_up_exps.weight")
		},
		"experts alone": func(list map[string]*tensor.Tensor, p string) {
			for _, name := range []string{"ffn_gate", "ffn_up", "ffn_down"} {
				all := list[p+name+"_exps.weight"]
				for i := range 3 {
					list[fmt.Sprintf("%s%s.%d.weight", p, name, i)] = floats(all.Shape()[1:], all.Bytes()[i*all.Size()/3:][:all.Size()/3])
				}
				delete(list, p+name+"_exps.weight")
			}
		},
		"scales": func(list map[string]*tensor.Tensor, p string) {
			for name, n := range map[string]int{"attn_v": 1, "ffn_up_exps": 3} {
				scale, of := tensor.New(tensor.F32, n), list[p+name+".weight"]
				x := tensor.New(tensor.F32, of.Shape()...)
				for i := range n {
					tensor.View[float32](scale)[i] = float32(int(2) << i)
				}
				for i, v := range tensor.View[float32](of) {
					tensor.View[float32](x)[i] = v / tensor.View[float32](scale)[i*n/x.Len()]
				}
				list[p+name+".weight"], list[p+name+".scale"], list[p+name+".input_scale"] = x, scale, tensor.New(tensor.F32, 1)
			}
		},
	} {
		m := files["llama 3"].model("llama")
		list := map[string]*tensor.Tensor{}
		for _, x := range m.Graph.Initializers {
			list[x.Name] = x.Tensor
		}
		for i := range 2 {
			change(list, fmt.Sprintf("blk.%d.", i))
		}
		m.Graph.Initializers = nil
		for name, x := range list {
			m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: x})
		}
		if got := folderOf(t, m); got != want {
			t.Errorf("%s: another folder", form)
		}
	}
}

// folderOf returns the contents of a file's folder.
func folderOf(t *testing.T, m *graph.Model) string {
	t.Helper()
	f, err := ToFolder(m, tensor.Invalid, container.Lowering{})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(f.Graph.Initializers, func(a, b *graph.Initializer) int { return strings.Compare(a.Name, b.Name) })
	var b bytes.Buffer
	b.WriteString(f.Meta[0].Value)
	for _, x := range f.Graph.Initializers {
		fmt.Fprintf(&b, "%s %v %x\n", x.Name, x.Tensor, x.Tensor.Bytes())
	}
	return b.String()
}
