package standard_test

import (
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op/standard"
)

// TestNearNames looks for operators with names near those of operators that passes insert. The errors
// suggest none of these.
func TestNearNames(t *testing.T) {
	r := standard.Registry()
	suggestions := 0
	for _, row := range r.Rows() {
		if row.Domain != kit.Internal {
			continue
		}
		_, _, err := r.Find(&graph.Node{Op: row.Name + "s", Version: 1})
		if err == nil || strings.Contains(err.Error(), kit.Internal+".") {
			t.Errorf("%ss: %v", row.Name, err)
		}
		if err != nil && strings.Contains(err.Error(), "near it: ") {
			suggestions++
		}
	}
	if suggestions == 0 {
		t.Error("no error has suggestions")
	}
}
