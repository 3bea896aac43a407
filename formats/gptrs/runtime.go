package gptrs

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Runtime holds a checkpoint's instructions to gpt.rs for running its network.
type Runtime struct {
	// Overrides chooses implementations of gpt.rs by the name of a function: force=NAME, benchmark,
	// benchmark(cache=N). Other programs ignore it.
	Overrides map[string]string
	// Streaming bounds the parameters in memory; nil for no bound.
	Streaming *Streaming
}

// Streaming holds the bounds of parameters in memory. A missing bound is nil.
type Streaming struct {
	DeviceBudget, CacheCap *uint64
	WeightsPercent         *float64 // fraction of all parameters, 0 to 1
	PrefetchLayers         uint64   // number of first blocks that stay in memory
	SmallParam             uint64   // parameters of up to this many bytes stay in memory
}

// Budget returns the bytes that parameters may take, given the bytes of all of them: the least of
// the bounds. Without bounds it is 0, and each use reads the file again.
func (s *Streaming) Budget(all uint64) uint64 {
	var bounds []uint64
	for _, n := range []*uint64{s.DeviceBudget, s.CacheCap} {
		if n != nil {
			bounds = append(bounds, *n)
		}
	}
	if s.WeightsPercent != nil {
		bounds = append(bounds, uint64(float64(all)**s.WeightsPercent))
	}
	if bounds == nil {
		return 0
	}
	return slices.Min(bounds)
}

// of applies the bounds to the tensors of a checkpoint. It returns nil for nil.
func (s *Streaming) of(m *graph.Model) *graph.Streaming {
	if s == nil {
		return nil
	}
	all, stay := uint64(0), []string(nil)
	for _, init := range m.Graph.Initializers {
		n := uint64(len(init.Tensor.Bytes()))
		all += n
		var layer uint64
		if _, err := fmt.Sscanf(init.Name, "blocks.%d.", &layer); err == nil && layer < s.PrefetchLayers || n <= s.SmallParam {
			stay = append(stay, init.Name)
		}
	}
	return &graph.Streaming{Budget: int(min(max(s.Budget(all), 1), math.MaxInt)), Stay: stay}
}

// RuntimeOf returns the runtime settings of a checkpoint. Other models give the zero value.
func RuntimeOf(m *graph.Model) (_ Runtime, err error) {
	defer guard.At(m.File).End(&err)
	raw, ok := configOf(m)
	if !ok || m.Format != Checkpoint.Name {
		return Runtime{}, nil
	}
	c, err := parseConfig([]byte(raw))
	return c.runtime, err
}

// Unused lists the runtime settings that Nacre does not follow, one line each.
func (r Runtime) Unused() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r.Overrides)) {
		list = append(list, fmt.Sprintf("functional override %s: %q is not used; it chooses among implementations of gpt.rs", name, r.Overrides[name]))
	}
	return list
}

func parseRuntime(raw json.RawMessage) (r Runtime, err error) {
	top, err := object(raw)
	if err != nil {
		return r, err
	}
	if raw, ok := top["functional_overrides"]; ok {
		list, err := object(raw)
		if err != nil {
			return r, fmt.Errorf("functional_overrides: %w", err)
		}
		r.Overrides = map[string]string{}
		for name, raw := range list {
			if r.Overrides[name], err = policy(raw); err != nil {
				return r, fmt.Errorf("functional_overrides: %s: %w", name, err)
			}
		}
	}
	if raw, ok := top["weight_streaming"]; ok {
		if r.Streaming, err = streaming(raw); err != nil {
			return r, fmt.Errorf("weight_streaming: %w", err)
		}
	}
	return r, nil
}

// policy reads the choice of an implementation: "force=NAME", "benchmark", "benchmark(cache=N)", or
// nothing.
func policy(raw json.RawMessage) (string, error) {
	s, err := text(raw)
	if err != nil {
		return "", err
	}
	s = strings.TrimSpace(s)
	if s == "" || strings.HasPrefix(s, "force=") || strings.EqualFold(s, "benchmark") {
		return s, nil
	}
	inner, is := strings.CutPrefix(s, "benchmark(")
	inner, ends := strings.CutSuffix(inner, ")")
	if !is || !ends {
		return "", fmt.Errorf("%q is neither force=NAME nor benchmark nor benchmark(cache=N)", s)
	}
	for option := range strings.SplitSeq(inner, ",") {
		option = strings.TrimSpace(option)
		n, ok := strings.CutPrefix(option, "cache=")
		if option == "" {
			continue
		}
		if v, err := strconv.ParseUint(n, 10, 64); !ok || err != nil || v == 0 {
			return "", fmt.Errorf("%q has the option %q, which is no cache=N", s, option)
		}
	}
	return s, nil
}

// streaming reads the knobs of weight streaming. They need enabled: true; if it is false or
// missing, streaming returns nil.
func streaming(raw json.RawMessage) (*Streaming, error) {
	f, err := object(raw)
	if err != nil {
		return nil, err
	}
	enabled, knobs := false, false
	if raw, ok := f["enabled"]; ok {
		if null(raw) || json.Unmarshal(raw, &enabled) != nil {
			return nil, errors.New("enabled is neither true nor false")
		}
	}
	s := &Streaming{}
	for _, knob := range []struct {
		name string
		set  func(n uint64)
	}{
		{"device_budget_bytes", func(n uint64) { s.DeviceBudget = &n }},
		{"cache_budget_cap_bytes", func(n uint64) { s.CacheCap = &n }},
		{"prefetch_layers", func(n uint64) { s.PrefetchLayers = n }},
		{"small_param_persist_threshold", func(n uint64) { s.SmallParam = n }},
	} {
		if null(f[knob.name]) {
			continue
		}
		n, err := f.count(knob.name)
		if err != nil {
			return nil, err
		}
		knob.set(n)
		knobs = true
	}
	if percent := "device_weights_percent"; !null(f[percent]) {
		v, err := f.number(percent)
		if err == nil && (v < 0 || v > 1) {
			err = fmt.Errorf("%s is %g, which is not between 0 and 1", percent, v)
		}
		if err != nil {
			return nil, err
		}
		s.WeightsPercent, knobs = &v, true
	}
	switch {
	case knobs && !enabled:
		return nil, errors.New("knobs are given and enabled is not true")
	case !enabled:
		return nil, nil
	}
	return s, nil
}
