package generate

import "math"

// positions is the part of config.json that says how many tokens a decoder is made for.
type positions struct {
	Positions  int       `json:"max_position_embeddings"`
	Scaling    *rotation `json:"rope_scaling"`
	Parameters *rotation `json:"rope_parameters"` // the same in newer files
}

// rotation is how the rotation of positions is changed for more tokens.
type rotation struct {
	Type     string    `json:"rope_type"`
	OldType  string    `json:"type"`
	Factor   float64   `json:"factor"`
	Original float64   `json:"original_max_position_embeddings"`
	Full     *rotation `json:"full_attention"` // of layers of a type
}

// window returns how many tokens the decoder is made for; 0 if that is not said, or if
// the rotation goes with the number of tokens, whatever that is.
//
// Types linear and yarn multiply a number of tokens: that of before, for yarn, where the
// file has it, else max_position_embeddings, which files with types longrope and llama3
// give as it is with the rotation changed.
func (p *positions) window() int {
	r := p.Scaling
	if r == nil {
		r = p.Parameters
	}
	if r != nil && r.Full != nil {
		r = r.Full
	}
	if r == nil {
		return p.Positions
	}
	kind := r.OldType
	if kind == "" {
		kind = r.Type
	}
	switch {
	case kind == "dynamic":
		return 0
	case kind == "linear":
		return longer(p.Positions, float64(p.Positions)*r.Factor)
	case kind == "yarn" && r.Original > 0:
		return longer(p.Positions, r.Original*r.Factor)
	case kind == "yarn":
		return longer(p.Positions, float64(p.Positions)*r.Factor)
	}
	return p.Positions
}

// longer returns the larger of two numbers of tokens, the second as far as it is one.
func longer(n int, other float64) int {
	if n <= 0 || !(other > float64(n)) {
		return n
	}
	return int(min(other, math.MaxInt32))
}
