package loom

import (
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
)

func FuzzRead(f *testing.F) {
	seeds(f, false)
	f.Fuzz(func(t *testing.T, data []byte) {
		bounded(t, len(data), func() {
			if m, err := Read(nil, "x", data); err == nil {
				stable(t, m)
			} else if problems := Verify(nil, "x", data); len(problems) == 0 || problems[0].Error() != err.Error() {
				t.Errorf("verify finds %v, read %v", problems, err)
			}
			Probe(data)
		})
	})
}

func FuzzReadEntity(f *testing.F) {
	seeds(f, true)
	f.Fuzz(func(t *testing.T, data []byte) {
		bounded(t, len(data), func() {
			if m, err := ReadEntity(nil, "x", data); err == nil {
				stable(t, m)
			} else if problems := VerifyEntity(nil, "x", data); len(problems) == 0 || problems[0].Error() != err.Error() {
				t.Errorf("verify finds %v, read %v", problems, err)
			}
		})
	})
}

// FuzzLower lowers networks. The graphs are valid, or Lower returns an error.
func FuzzLower(f *testing.F) {
	seeds(f, false)
	seeds(f, true)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := file("x", data)
		if err != nil {
			return
		}
		n := m.Source.(*Network)
		large := false // making the weights takes long
		n.walk(func(_ func() string, l *Layer) {
			k, _ := l.Count()
			large = large || n.Spec && k > 1<<20
		})
		if large {
			return
		}
		for _, o := range []container.Lowering{{}, {Quirks: true, Ranks: true}} {
			if lowered, err := Lower(m, o); err == nil {
				err = graph.Validate(lowered)
				if err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// seeds adds files of every layer type.
func seeds(f *testing.F, entity bool) {
	r := rand.New(rand.NewPCG(11, 12))
	t := new(testing.T)
	for _, kind := range LayerTypes() {
		m := model(t, grid(layer(t, r, kind, DType(r.IntN(int(dtypeCount))))))
		if entity {
			f.Add(asEntity(t, m))
		} else {
			f.Add(asJSON(t, m))
		}
	}
	if entity {
		for _, d := range []DType{Int4, Ternary} {
			n, _, err := Import([]byte(smallConfig), packedTiny(t), d)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(asEntity(t, model(t, n)))
		}
	} else {
		f.Add([]byte(`{"depth":1,"rows":1,"cols":1,"layers_per_cell":2,"layers":[{"type":"parallel","parallel_branches":[{"is_remote_link":true,"target_l":1}]},{"l":1,"softmax_type":9,"mask":[true],"hierarchy_levels":[2]}]}`))
	}
}
