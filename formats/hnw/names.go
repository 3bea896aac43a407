package hnw

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// reserved has the identifiers that Chelis reserves.
var reserved = set(`def sig type dim macro match with fn module import export if then else grad vmap jit
	realize copy tensor cast cast_trunc par do quote unquote splice true false effect handler perform resume borrow
	reshape permute insert expand pad shrink stride concat split gather scatter_replace scatter_elements where clamp
	cumsum add sub mul div max_elem min_elem neg recip exp log sqrt abs sin cos tan atan floor ceil round relu sigmoid
	tanh silu gelu softmax layer_norm sum mean max_reduce min_reduce prod_reduce argmax_reduce argmin_reduce matmul lt gt gte lte eq neq cmplt and or not mod count floor_div trunc_div const load dropout sort diagonal trace rank numel index len map filter fold scan take drop range append zip inputs
	einsum conv reduce_window_max reduce_window_min reduce_window_sum reduce_window_mean shape tensor_to_scalar
	scalar_to_tensor to_tensor bool string f32 f64 bf16 f16 i8 i16 i32 i64 forward main`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// identifier returns name as the name of a Chelis value. It adds a digit where Chelis would refuse
// the name: after a first part of two to four letters, because Chelis takes it for a namespace;
// after a type at the end; and after a reserved word.
func identifier(name string) string {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !alphanumeric(r) })
	if len(parts) == 0 {
		return "w0"
	}
	if c := parts[0][0]; '0' <= c && c <= '9' {
		parts[0] = "w" + parts[0]
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) > 1 {
		if len(first) >= 2 && len(first) <= 4 && !strings.ContainsAny(first, "0123456789") {
			parts[0] += "0"
		}
		if last == "int" || last == "f32" || last == "f64" || last == "bool" || last == "string" {
			parts[len(parts)-1] += "_0"
		}
	}
	id := strings.Join(parts, "_")
	if reserved[id] {
		id += "0"
	}
	return id
}

func alphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// Identifiers gives out names for values of Chelis, each once.
type Identifiers struct {
	taken map[string]bool
	next  map[string]int // by identifier, the last number tried after it
}

// NewIdentifiers returns the names of a module, with none taken.
func NewIdentifiers() *Identifiers {
	return &Identifiers{taken: map[string]bool{}, next: map[string]int{}}
}

// Of returns a name for a value that a graph calls name. An archive and the module beside it give
// the same names to the same initialisers.
func (ids *Identifiers) Of(name string) string {
	base := identifier(name)
	id := base
	for ids.taken[id] {
		ids.next[base]++
		id = base + "_" + strconv.Itoa(ids.next[base]+1)
	}
	ids.taken[id] = true
	return id
}

// ModuleName returns the module of a model without one in its metadata. It is named after the file
// or, if that gives no name, after the graph.
func ModuleName(m *graph.Model) string {
	base := filepath.Base(m.File)
	for _, name := range []string{strings.TrimSuffix(base, filepath.Ext(base)), m.Graph.Name} {
		if s := pascal(name); s != "" {
			return "Hydronnx." + s
		}
	}
	return "Hydronnx.Model"
}

// pascal returns a name in PascalCase. Words begin as in the name, and at capital letters after
// small ones.
func pascal(name string) string {
	var b strings.Builder
	before := ' ' // the rune before
	for _, r := range name {
		if !alphanumeric(r) {
			before = ' '
			continue
		}
		upper := 'A' <= r && r <= 'Z'
		switch {
		case before == ' ' || upper && 'a' <= before && before <= 'z':
			b.WriteString(strings.ToUpper(string(r)))
		default:
			b.WriteString(strings.ToLower(string(r)))
		}
		before = r
	}
	s := b.String()
	if s != "" && s[0] <= '9' {
		s = "M" + s
	}
	return s
}
