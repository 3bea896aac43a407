package gptrs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// How a model has the configuration of a checkpoint among its metadata.
const (
	configKey  = "config"
	configKind = "json"
)

// config is the configuration of a checkpoint.
type config struct {
	kind string
	fields
}

// fields is an object of JSON. Keys that nobody asks for mean nothing.
type fields map[string]json.RawMessage

// parseConfig checks what does not depend on the kind.
func parseConfig(data []byte) (config, error) {
	if !utf8.Valid(data) {
		return config{}, errors.New("it is not UTF-8")
	}
	top, err := object(data)
	if err != nil {
		return config{}, err
	}
	c := config{}
	if c.kind, err = text(top["kind"]); err != nil {
		return config{}, fmt.Errorf("kind: %w", err)
	}
	if raw, ok := top["runtime"]; ok && !null(raw) {
		if err := checkRuntime(raw); err != nil {
			return config{}, fmt.Errorf("runtime: %w", err)
		}
	}
	// Anything may stand here: kinds that need an object miss its keys.
	c.fields, _ = object(top["config"])
	return c, nil
}

func object(data []byte) (fields, error) {
	if null(data) {
		return nil, errors.New("it is no object")
	}
	var f fields
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("it is no object of JSON: %w", err)
	}
	return f, nil
}

func text(raw json.RawMessage) (string, error) {
	var s string
	if null(raw) {
		return "", errors.New("there is no text")
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("%.40s is no text", raw)
	}
	return s, nil
}

// null reports whether there is no value.
func null(raw json.RawMessage) bool { return len(raw) == 0 || string(bytes.TrimSpace(raw)) == "null" }

// checkRuntime checks what gpt.rs is told to run the model with.
func checkRuntime(raw json.RawMessage) error {
	top, err := object(raw)
	if err != nil {
		return err
	}
	if raw, ok := top["functional_overrides"]; ok {
		list, err := object(raw)
		if err != nil {
			return fmt.Errorf("functional_overrides: %w", err)
		}
		for name, raw := range list {
			if err := policy(raw); err != nil {
				return fmt.Errorf("functional_overrides: %s: %w", name, err)
			}
		}
	}
	if raw, ok := top["weight_streaming"]; ok {
		if err := streaming(raw); err != nil {
			return fmt.Errorf("weight_streaming: %w", err)
		}
	}
	return nil
}

// policy checks how an implementation is chosen: "force=NAME", "benchmark" or
// "benchmark(cache=N)", or nothing.
func policy(raw json.RawMessage) error {
	s, err := text(raw)
	if err != nil {
		return err
	}
	s = strings.TrimSpace(s)
	if s == "" || strings.HasPrefix(s, "force=") || strings.EqualFold(s, "benchmark") {
		return nil
	}
	inner, is := strings.CutPrefix(s, "benchmark(")
	inner, ends := strings.CutSuffix(inner, ")")
	if !is || !ends {
		return fmt.Errorf("%q is neither force=NAME nor benchmark nor benchmark(cache=N)", s)
	}
	for option := range strings.SplitSeq(inner, ",") {
		option = strings.TrimSpace(option)
		n, ok := strings.CutPrefix(option, "cache=")
		if option == "" {
			continue
		}
		if v, err := strconv.ParseUint(n, 10, 64); !ok || err != nil || v == 0 {
			return fmt.Errorf("%q has the option %q, which is no cache=N", s, option)
		}
	}
	return nil
}

// streaming checks the knobs of loading weights late, which need enabled: true.
func streaming(raw json.RawMessage) error {
	f, err := object(raw)
	if err != nil {
		return err
	}
	enabled := false
	if raw, ok := f["enabled"]; ok {
		if null(raw) || json.Unmarshal(raw, &enabled) != nil {
			return errors.New("enabled is neither true nor false")
		}
	}
	for _, knob := range []string{"device_budget_bytes", "cache_budget_cap_bytes", "prefetch_layers", "small_param_persist_threshold", "device_weights_percent"} {
		if null(f[knob]) {
			continue
		}
		if knob == "device_weights_percent" {
			v, err := f.number(knob)
			if err != nil {
				return err
			}
			if v < 0 || v > 1 {
				return fmt.Errorf("%s is %g, which is not between 0 and 1", knob, v)
			}
		} else if _, err := f.count(knob); err != nil {
			return err
		}
		if !enabled {
			return fmt.Errorf("%s is given and enabled is not true", knob)
		}
	}
	return nil
}

// count returns a number that is not negative and has no fraction.
func (f fields) count(key string) (uint64, error) {
	raw, ok := f[key]
	if !ok {
		return 0, fmt.Errorf("%s is missing", key)
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is %.40s, which is no count", key, raw)
	}
	return v, nil
}

// number returns a number.
func (f fields) number(key string) (float64, error) {
	raw, ok := f[key]
	if !ok {
		return 0, fmt.Errorf("%s is missing", key)
	}
	var v float64
	if null(raw) || json.Unmarshal(raw, &v) != nil {
		return 0, fmt.Errorf("%s is %.40s, which is no number", key, raw)
	}
	return v, nil
}

// numberOr returns a number, or the other one where there is none.
func (f fields) numberOr(key string, other float64) float64 {
	if v, err := f.number(key); err == nil {
		return v
	}
	return other
}

// flagOr returns true or false, or the other where there is neither.
func (f fields) flagOr(key string, other bool) bool {
	var v bool
	if null(f[key]) || json.Unmarshal(f[key], &v) != nil {
		return other
	}
	return v
}
