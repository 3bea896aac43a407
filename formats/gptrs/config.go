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

// The metadata entry that holds the configuration of a checkpoint.
const (
	configKey  = "config"
	configKind = "json"
)

// maxConfig bounds the text of a configuration in bytes. Each of these bytes counts as configRate
// bytes of memory.
const (
	maxConfig  = 1 << 20
	configRate = 16
)

// config is the configuration of a checkpoint.
type config struct {
	kind    string
	runtime Runtime
	fields
}

// fields is a JSON object. Unknown keys are ignored.
type fields map[string]json.RawMessage

// parseConfig reads a configuration and checks the parts that do not depend on its kind.
func parseConfig(data []byte) (config, error) {
	if len(data) > maxConfig {
		return config{}, fmt.Errorf("it is of %d bytes; at most %d are read", len(data), maxConfig)
	}
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
		if c.runtime, err = parseRuntime(raw); err != nil {
			return config{}, fmt.Errorf("runtime: %w", err)
		}
	}
	// config may be of any type. A kind that needs an object reports its missing keys.
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

// null reports whether a value is missing or null.
func null(raw json.RawMessage) bool { return len(raw) == 0 || string(bytes.TrimSpace(raw)) == "null" }

// count returns a nonnegative integer.
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

// numberOr returns a number, or other if it is missing or not a number.
func (f fields) numberOr(key string, other float64) float64 {
	if v, err := f.number(key); err == nil {
		return v
	}
	return other
}

// flagOr returns a boolean, or other if it is missing or not a boolean.
func (f fields) flagOr(key string, other bool) bool {
	var v bool
	if null(f[key]) || json.Unmarshal(f[key], &v) != nil {
		return other
	}
	return v
}
