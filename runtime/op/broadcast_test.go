package op

import (
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
)

func TestBroadcast(t *testing.T) {
	n, m, u, k := graph.Symbol("n"), graph.Symbol("m"), graph.Unknown(), graph.Known
	tests := []struct {
		name string
		in   []graph.Dims
		want string // empty for an error
	}{
		{"equal", []graph.Dims{{k(2), k(3)}, {k(2), k(3)}}, "[2,3]"},
		{"scalar", []graph.Dims{{}, {k(2), k(3)}}, "[2,3]"},
		{"scalars", []graph.Dims{{}, {}}, "[]"},
		{"both stretch", []graph.Dims{{k(2), k(1)}, {k(1), k(3)}}, "[2,3]"},
		{"shorter stretches", []graph.Dims{{k(5)}, {k(4), k(1)}}, "[4,5]"},
		{"empty axis", []graph.Dims{{k(0)}, {k(1)}}, "[0]"},
		{"empty against many", []graph.Dims{{k(0)}, {k(2)}}, ""},
		{"mismatch", []graph.Dims{{k(2)}, {k(3)}}, ""},
		{"same symbol", []graph.Dims{{n}, {n}}, "[n]"},
		{"two symbols", []graph.Dims{{n}, {m}}, "[?]"},
		{"symbol and one", []graph.Dims{{n}, {k(1)}}, "[n]"},
		{"symbol and number", []graph.Dims{{n}, {k(4)}}, "[4]"},
		{"unknown twice", []graph.Dims{{u}, {u}}, "[?]"},
		{"unknown and number", []graph.Dims{{k(7)}, {u}}, "[7]"},
		{"unknown rank", []graph.Dims{nil, {k(2)}}, "[...]"},
		{"three", []graph.Dims{{k(3)}, {k(2), k(1)}, {n, k(1), k(1)}}, "[n,2,3]"},
		{"one", []graph.Dims{{n}}, "[n]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Broadcast(tt.in...)
			if (err == nil) != (tt.want != "") {
				t.Fatalf("error %v", err)
			}
			if err == nil && got.String() != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
