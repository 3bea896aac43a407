package gptrs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// kind is a kind of checkpoint.
type kind struct {
	check func(c *checker, f fields) error // checks configuration and tensors
	lower func(l *lowerer)                 // makes the nodes after check succeeded
}

// kinds holds the known kinds of checkpoints.
var kinds = map[string]kind{
	"gpt":          {(*checker).gpt, (*lowerer).gpt},
	"ministral":    {(*checker).ministral, (*lowerer).ministral},
	"resnet34":     {(*checker).resnet34, (*lowerer).resnet34},
	"mobilenet_v2": {(*checker).mobilenetV2, (*lowerer).mobilenetV2},
}

func (c config) known() bool {
	_, ok := kinds[c.kind]
	return ok
}

// Check returns the reasons why the model of a checkpoint cannot be a network of gpt.rs: a
// configuration without the settings of its kind, tensors that are missing or of the wrong shape,
// or an unknown kind (UnsupportedKind). A file with any of these but the last cannot be read.
func Check(m *graph.Model) (err error) {
	defer guard.At(m.File).End(&err)
	return checkWithin(nil, m)
}

// checkWithin is Check with a budget. If its context ends, the error is the context's.
func checkWithin(b *budget.Budget, m *graph.Model) error {
	raw, ok := configOf(m)
	if !ok {
		return &graph.Error{Stage: "load", File: m.File, Offset: -1, Kind: BadConfig, Err: errors.New("the model has no metadata entry config")}
	}
	var list []error
	add := func(_ string, kind Kind, err error) {
		list = append(list, &graph.Error{Stage: "load", File: m.File, Offset: -1, Kind: kind, Err: err})
	}
	c, err := parseConfig([]byte(raw))
	switch {
	case err != nil:
		add("", BadConfig, fmt.Errorf("configuration: %w", err))
	case !c.known():
		add("", UnsupportedKind, fmt.Errorf("%q is no kind of network that is known (%s)", c.kind, kindNames()))
	default:
		shapes := make(map[string]tensor.Shape, len(m.Graph.Initializers))
		for _, t := range m.Graph.Initializers {
			shapes[t.Name] = t.Tensor.Shape()
		}
		c.check(b, shapes, add)
	}
	if err := b.Err(); err != nil {
		return &graph.Error{Stage: "load", File: m.File, Offset: -1, Err: err}
	}
	return graph.Join(list...)
}

// Summary writes the kind of a checkpoint's network, and the runtime settings of the checkpoint
// that are not used.
func Summary(_ context.Context, w io.Writer, m *graph.Model) (err error) {
	defer guard.At(m.File).End(&err)
	raw, ok := configOf(m)
	if !ok {
		return nil
	}
	c, err := parseConfig([]byte(raw))
	switch {
	case err != nil:
		return err
	case c.known():
		_, err = printable.Fprintf(w, "%s: a network of the kind %s\n", m.File, c.kind)
		for _, line := range c.runtime.Unused() {
			if err == nil {
				_, err = printable.Fprintf(w, "%s: %s\n", m.File, line)
			}
		}
	default:
		_, err = printable.Fprintf(w, "%s: tensors are sound; they were not compared with the network, of the unknown kind %q (%s are known)\n", m.File, c.kind, kindNames())
	}
	return err
}

// kindNames lists the known kinds.
func kindNames() string { return strings.Join(slices.Sorted(maps.Keys(kinds)), ", ") }

// configOf returns the configuration that a model carries.
func configOf(m *graph.Model) (string, bool) {
	for _, p := range m.Meta {
		if p.Key == configKey && p.Data == nil {
			return p.Value, true
		}
	}
	return "", false
}

// checker compares tensors with the tensors that a configuration needs, until the context of the
// budget ends.
type checker struct {
	budget  *budget.Budget
	shapes  map[string]tensor.Shape
	sizes   map[string]uint64 // extents by the names in want
	report  func(tensor string, kind Kind, err error)
	missing []string
	asked   map[string]bool // collects the names of needed tensors, unless nil
}

// check reports every problem of tensors with these shapes. It ends early if the context of b ends.
func (c config) check(b *budget.Budget, shapes map[string]tensor.Shape, report func(tensor string, kind Kind, err error)) {
	k := &checker{budget: b, shapes: shapes, sizes: map[string]uint64{}, report: report}
	if err := kinds[c.kind].check(k, c.fields); err != nil {
		report("", BadConfig, fmt.Errorf("configuration of kind %s: %w", c.kind, err))
	}
	k.lacks()
}

// want checks that a tensor exists. Its extents are words: numbers, or names. A name means the same
// extent everywhere; if nothing has set it, the first tensor does.
func (c *checker) want(name, extents string) {
	if c.asked != nil {
		c.asked[name] = true
	}
	shape, ok := c.shapes[name]
	if !ok {
		c.missing = append(c.missing, name)
		return
	}
	words := strings.Fields(extents)
	same := len(words) == len(shape)
	known := make([]string, len(words))
	for i, w := range words {
		n, ok := c.sizes[w]
		if !ok && w[0] >= '0' && w[0] <= '9' {
			fmt.Sscan(w, &n)
			ok = true
		}
		if !ok && i < len(shape) {
			n, ok = uint64(shape[i]), true
			c.sizes[w] = n
		}
		known[i] = "?"
		if ok {
			known[i] = fmt.Sprint(n)
		}
		same = same && ok && uint64(shape[i]) == n
	}
	if !same {
		c.report(name, BadShape, fmt.Errorf("tensor %q has the shape %v where [%s] is wanted", name, shape, strings.Join(known, ",")))
	}
}

// maxMissing is the number of missing tensors after which the search ends.
const maxMissing = 100

// lacks reports the missing tensors.
func (c *checker) lacks() {
	if len(c.missing) == 0 {
		return
	}
	first, rest := c.missing[0], ""
	if len(c.missing) > 1 {
		rest = "; also missing: " + strings.Join(c.missing[1:min(len(c.missing), maxMissing)], ", ")
	}
	if len(c.missing) >= maxMissing {
		rest += ", and perhaps more"
	}
	c.report(first, MissingTensor, fmt.Errorf("tensor %q is missing%s", first, rest))
}

// layerSteps is the steps of a budget that the check of one layer takes.
const layerSteps = 32

// layers calls each for every one of n layers.
func (c *checker) layers(n uint64, each func(prefix string)) {
	for i := uint64(0); i < n && len(c.missing) < maxMissing && c.budget.Steps(layerSteps) == nil; i++ {
		each(fmt.Sprintf("blocks.%d.", i))
	}
}

// counts copies counts of the configuration to sizes.
func (c *checker) counts(f fields, keys ...string) error {
	for _, key := range keys {
		n, err := f.count(key)
		if err != nil {
			return err
		}
		c.sizes[key] = n
	}
	return nil
}

// product sets a size to the product of factors. It fails if the product exceeds 64 bits.
func (c *checker) product(name string, factors ...uint64) error {
	n := uint64(1)
	for _, f := range factors {
		high, low := bits.Mul64(n, f)
		if high != 0 {
			return fmt.Errorf("%s is more than 64 bits hold", name)
		}
		n = low
	}
	c.sizes[name] = n
	return nil
}

// divides returns an error unless size whole is a multiple of size part.
func (c *checker) divides(part, whole string) error {
	if c.sizes[part] == 0 || c.sizes[whole]%c.sizes[part] != 0 {
		return fmt.Errorf("%s %d is no multiple of %s %d", whole, c.sizes[whole], part, c.sizes[part])
	}
	return nil
}

func (c *checker) gpt(f fields) error {
	if err := c.counts(f, "vocab_size", "context_length", "embed_dim", "num_layers", "num_heads", "mlp_ratio"); err != nil {
		return err
	}
	if _, err := f.number("dropout"); err != nil {
		return err
	}
	d := c.sizes["embed_dim"]
	if err := errors.Join(c.divides("num_heads", "embed_dim"), c.product("qkv", 3, d), c.product("hidden", c.sizes["mlp_ratio"], d)); err != nil {
		return err
	}
	c.sizes["head_dim"] = d / c.sizes["num_heads"]
	c.want("tok_embeddings.weight", "vocab_size embed_dim")
	c.want("pos_embeddings", "context_length embed_dim")
	c.want("final_ln.gamma", "embed_dim")
	c.want("final_ln.beta", "embed_dim")
	c.want("lm_head", "embed_dim vocab_size")
	c.layers(c.sizes["num_layers"], func(p string) {
		c.want(p+"attention.w_qkv", "embed_dim qkv")
		c.want(p+"attention.b_qkv", "qkv")
		c.want(p+"attention.w_out", "embed_dim embed_dim")
		c.want(p+"attention.b_out", "embed_dim")
		c.want(p+"feed_forward.w_in", "embed_dim hidden")
		c.want(p+"feed_forward.b_in", "hidden")
		c.want(p+"feed_forward.w_out", "hidden embed_dim")
		c.want(p+"feed_forward.b_out", "embed_dim")
		for _, norm := range []string{"ln_1.gamma", "ln_1.beta", "ln_2.gamma", "ln_2.beta"} {
			c.want(p+norm, "embed_dim")
		}
	})
	return nil
}

func (c *checker) ministral(f fields) error {
	if err := c.counts(f, "vocab_size", "context_length", "embed_dim", "num_layers", "num_heads", "num_kv_heads", "mlp_hidden_dim", "rotary_dim"); err != nil {
		return err
	}
	for _, key := range []string{"rms_norm_eps", "rope_theta"} {
		if _, err := f.number(key); err != nil {
			return err
		}
	}
	if err := errors.Join(c.headDim(f), c.divides("num_kv_heads", "num_heads"), rope(f)); err != nil {
		return err
	}
	head := c.sizes["head_dim"]
	if r := c.sizes["rotary_dim"]; r%2 != 0 || r > head {
		return fmt.Errorf("rotary_dim %d is odd or more than head_dim %d", r, head)
	}
	// There are no more heads of keys than of queries, so qkv is at most 3q.
	if err := errors.Join(c.product("q", c.sizes["num_heads"], head), c.product("qkv", 3, c.sizes["q"])); err != nil {
		return err
	}
	c.sizes["qkv"] = c.sizes["q"] + 2*c.sizes["num_kv_heads"]*head
	c.want("tok_embeddings.weight", "vocab_size embed_dim")
	c.want("final_norm.gamma", "embed_dim")
	c.want("lm_head", "embed_dim vocab_size")
	c.layers(c.sizes["num_layers"], func(p string) {
		c.want(p+"attention.w_qkv", "embed_dim qkv")
		c.want(p+"attention.w_out", "q embed_dim")
		c.want(p+"feed_forward.w_gate", "embed_dim mlp_hidden_dim")
		c.want(p+"feed_forward.w_up", "embed_dim mlp_hidden_dim")
		c.want(p+"feed_forward.w_down", "mlp_hidden_dim embed_dim")
		c.want(p+"norm_1.gamma", "embed_dim")
		c.want(p+"norm_2.gamma", "embed_dim")
	})
	return nil
}

// headDim sets head_dim. If it is not given, it is embed_dim / num_heads.
func (c *checker) headDim(f fields) error {
	if !null(f["head_dim"]) {
		if err := c.counts(f, "head_dim"); err != nil {
			return err
		}
	} else {
		if err := c.divides("num_heads", "embed_dim"); err != nil {
			return err
		}
		c.sizes["head_dim"] = c.sizes["embed_dim"] / c.sizes["num_heads"]
	}
	if null(f["kv_head_dim"]) {
		return nil
	}
	n, err := f.count("kv_head_dim")
	if err == nil && n != c.sizes["head_dim"] {
		err = fmt.Errorf("kv_head_dim %d is not head_dim %d", n, c.sizes["head_dim"])
	}
	return err
}

// rope checks the scaling of rotary positions.
func rope(f fields) error {
	raw, ok := f["rope_scaling"]
	if !ok {
		return nil
	}
	s, err := object(raw)
	if err != nil {
		return fmt.Errorf("rope_scaling: %w", err)
	}
	kind, err := text(s["kind"])
	if err != nil {
		return fmt.Errorf("rope_scaling: kind: %w", err)
	}
	switch kind {
	case "none":
		return nil
	case "linear", "yarn":
	default:
		return fmt.Errorf("rope_scaling: kind %q is none of none, linear, yarn", kind)
	}
	factor, err := s.number("factor")
	if err == nil && factor <= 0 {
		err = fmt.Errorf("factor %g is not positive", factor)
	}
	if err != nil {
		return fmt.Errorf("rope_scaling: %w", err)
	}
	if kind == "linear" {
		return nil
	}
	fast, slow := 32.0, 1.0
	for key, v := range map[string]*float64{"mscale": new(float64), "mscale_all_dim": new(float64), "beta_fast": &fast, "beta_slow": &slow} {
		if null(s[key]) {
			continue
		}
		if *v, err = s.number(key); err != nil {
			return fmt.Errorf("rope_scaling: %w", err)
		}
	}
	if fast < slow {
		return fmt.Errorf("rope_scaling: beta_fast %g is less than beta_slow %g", fast, slow)
	}
	if !null(s["original_max_position_embeddings"]) {
		if _, err := s.count("original_max_position_embeddings"); err != nil {
			return fmt.Errorf("rope_scaling: %w", err)
		}
	}
	return nil
}
