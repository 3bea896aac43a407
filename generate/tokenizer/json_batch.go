package tokenizer

import (
	"encoding/json"
	"fmt"
	"math"
)

// readTruncation reads the truncation of a file; nil for none.
func readTruncation(raw json.RawMessage) (*Truncation, error) {
	if absent(raw) {
		return nil, nil
	}
	var f struct {
		Direction string `json:"direction"`
		Max       int    `json:"max_length"`
		Strategy  string `json:"strategy"`
		Stride    int    `json:"stride"`
	}
	if err := fields(raw, &f); err != nil {
		return nil, fmt.Errorf("truncation: %w", err)
	}
	t := &Truncation{Max: f.Max, Stride: f.Stride}
	switch f.Strategy {
	case "", "LongestFirst":
	case "OnlyFirst":
		t.Strategy = OnlyFirst
	case "OnlySecond":
		t.Strategy = OnlySecond
	default:
		return nil, fmt.Errorf("truncation: the strategy %.60q is not supported", f.Strategy)
	}
	var err error
	if t.Left, err = toLeft(f.Direction); err != nil {
		return nil, fmt.Errorf("truncation: %w", err)
	}
	if t.Max < 1 || t.Stride < 0 {
		return nil, fmt.Errorf("truncation: max_length is %d and stride %d: 1 and 0 at least are needed", t.Max, t.Stride)
	}
	return t, nil
}

// toLeft reads a direction.
func toLeft(direction string) (bool, error) {
	switch direction {
	case "", "Right":
		return false, nil
	case "Left":
		return true, nil
	}
	return false, fmt.Errorf("the direction %.60q is not supported", direction)
}

// readPadding reads the padding of a file; nil for none.
func readPadding(raw json.RawMessage) (*Padding, error) {
	if absent(raw) {
		return nil, nil
	}
	var f struct {
		Strategy  json.RawMessage `json:"strategy"`
		Direction string          `json:"direction"`
		Multiple  *int            `json:"pad_to_multiple_of"`
		ID        int64           `json:"pad_id"`
		Type      int32           `json:"pad_type_id"`
		Token     string          `json:"pad_token"`
	}
	if err := fields(raw, &f); err != nil {
		return nil, fmt.Errorf("padding: %w", err)
	}
	p := &Padding{ID: int32(f.ID), TypeID: f.Type}
	var name string
	var fixed struct{ Fixed *int }
	switch {
	case absent(f.Strategy), json.Unmarshal(f.Strategy, &name) == nil && name == "BatchLongest":
		p.Longest = true
	case json.Unmarshal(f.Strategy, &fixed) == nil && fixed.Fixed != nil:
		p.Size = *fixed.Fixed
	default:
		return nil, fmt.Errorf("padding: the strategy %.60s is not supported", f.Strategy)
	}
	var err error
	if p.Left, err = toLeft(f.Direction); err != nil {
		return nil, fmt.Errorf("padding: %w", err)
	}
	if f.Multiple != nil {
		p.Multiple = *f.Multiple
	}
	if f.ID < 0 || f.ID > math.MaxInt32 {
		return nil, fmt.Errorf("padding: pad_id is %d: an id is at least 0", f.ID)
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	return p, nil
}
