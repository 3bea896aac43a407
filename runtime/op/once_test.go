package op

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// TestOnce binds nodes from many goroutines and checks that each is bound once, even if binding
// fails, and that another registry binds them again.
func TestOnce(t *testing.T) {
	var made atomic.Int32
	broken := errors.New("broken")
	r := &Registry{}
	err := r.Register(Row{Domain: "d", Name: "Op", Since: []int{1}, In: [2]int{0, Any}, Out: [2]int{0, Any},
		New: func(n *Node) (Op, error) {
			made.Add(1)
			if n.Int("fails", 0) == 1 {
				return nil, broken
			}
			return &struct{ Op }{}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	good := &graph.Node{Domain: "d", Op: "Op", Version: 1}
	bad := &graph.Node{Domain: "d", Op: "Op", Version: 1,
		Attrs: []*graph.Attr{{Name: "fails", Kind: graph.AttrInt, Int: 1}}}
	once := r.Once()
	first, _, err := once.New(good)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if o, row, err := once.New(good); err != nil || o != first || row == nil {
				t.Errorf("another operator: %v, %v", o, err)
			}
			if _, _, err := once.New(bad); !errors.Is(err, broken) {
				t.Errorf("a node that fails: %v", err)
			}
		})
	}
	all.Wait()
	if n := made.Load(); n != 2 {
		t.Errorf("%d operators were made of two nodes", n)
	}
	if o, _, err := r.New(good); err != nil || o == first {
		t.Errorf("the registry itself remembers: %v", err)
	}
}
