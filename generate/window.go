package generate

import "math"

// positions is the part of config.json that says how many tokens a decoder is made for.
type positions struct {
	Positions  int       `json:"max_position_embeddings"`
	Scaling    *rotation `json:"rope_scaling"`
	Parameters *rotation `json:"rope_parameters"` // the same in newer files
	Original   int       `json:"original_max_position_embeddings"`
	ModelType  string    `json:"model_type"`
}

// rotation is how the rotation of positions is changed for more tokens.
type rotation struct {
	Type     string    `json:"rope_type"`
	OldType  string    `json:"type"`
	Factor   float64   `json:"factor"`
	Original float64   `json:"original_max_position_embeddings"`
	Full     *rotation `json:"full_attention"` // of layers of a type
}

// window returns how many tokens the decoder is made for. If the file does not say, or the rotation
// adapts to any number of tokens, it returns 0.
//
// Types linear and yarn multiply a number of tokens by a factor: yarn the original number if the
// file has it, else max_position_embeddings. In files with types longrope and llama3,
// max_position_embeddings already counts the changed rotation.
func (p *positions) window() int {
	r, kind := p.rotation()
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

// rotation returns the rotation and its type. If there is none, it returns an empty one.
func (p *positions) rotation() (r rotation, kind string) {
	for _, from := range []*rotation{p.Parameters, p.Scaling} {
		if from != nil {
			r = *from
		}
	}
	if r.Full != nil {
		r = *r.Full
	}
	if r.OldType != "" {
		return r, r.OldType
	}
	return r, r.Type
}

// defaultOriginal is the original window of the family phi3 if a file does not say it.
const defaultOriginal = 4096

// original returns how many tokens are rotated as in the original window. If more tokens do not
// change the rotation, it returns 0. Older files of the family phi3 call the type yarn.
func (p *positions) original() int {
	r, kind := p.rotation()
	phi3 := p.ModelType == "phi3"
	switch {
	case kind != "longrope" && kind != "su" && !(phi3 && kind == "yarn"):
		return 0
	case phi3:
		return max(0, first(p.Original, int(min(r.Original, math.MaxInt32)), defaultOriginal))
	}
	return max(0, first(p.Original, int(min(r.Original, math.MaxInt32)), p.Positions))
}

// longer returns the larger of two numbers of tokens. If n is not positive or other is NaN, it
// returns n.
func longer(n int, other float64) int {
	if n <= 0 || !(other > float64(n)) {
		return n
	}
	return int(min(other, math.MaxInt32))
}
