package tokenizer

import (
	"encoding/json"
	"fmt"
)

// A templateName is a text or a special token of a template.
type templateName struct {
	ID   string `json:"id"`
	Type int32  `json:"type_id"`
}

// A templatePart is one of them.
type templatePart struct {
	Special  *templateName `json:"SpecialToken"`
	Sequence *templateName `json:"Sequence"`
}

// templateTokens are the special tokens of a template.
type templateTokens map[string]struct {
	ID     string   `json:"id"`
	IDs    []int32  `json:"ids"`
	Tokens []string `json:"tokens"`
}

// template reads the templates of single texts and of pairs. An error of pairs waits until there is
// a pair.
func (r *reader) template(raw json.RawMessage) (template, error) {
	var f struct {
		kind
		Single  []templatePart  `json:"single"`
		Pair    json.RawMessage `json:"pair"`
		Special templateTokens  `json:"special_tokens"`
	}
	var t template
	if err := fields(raw, &f); err != nil {
		return t, err
	}
	var err error
	if t.one, err = r.templateSlots("single texts", f.Single, f.Special, "A"); err != nil {
		return t, err
	}
	seen := false
	for _, s := range t.one {
		switch {
		case s.text != special:
			seen = true
		case seen:
			t.after = append(t.after, s.ids...)
		default:
			t.before = append(t.before, s.ids...)
		}
	}
	var pair []templatePart
	if t.wrong = json.Unmarshal(f.Pair, &pair); t.wrong == nil {
		t.two, t.wrong = r.templateSlots("pairs", pair, f.Special, "AB")
	}
	return t, nil
}

// templateSlots reads a template that has each of the texts once.
func (r *reader) templateSlots(of string, parts []templatePart, tokens templateTokens, texts string) ([]slot, error) {
	var list []slot
	var seen [2]bool
	for _, part := range parts {
		switch {
		case part.Sequence != nil && part.Sequence.ID == "A" && !seen[0]:
			seen[0] = true
			list = append(list, slot{text: 0, kind: part.Sequence.Type})
		case part.Sequence != nil && part.Sequence.ID == "B" && len(texts) == 2 && !seen[1]:
			seen[1] = true
			list = append(list, slot{text: 1, kind: part.Sequence.Type})
		case part.Special != nil:
			token, ok := tokens[part.Special.ID]
			if !ok {
				return nil, fmt.Errorf("special_tokens lacks %.60q", part.Special.ID)
			}
			if err := r.surrounds(len(token.IDs)); err != nil {
				return nil, err
			}
			list = append(list, slot{text: special, ids: token.IDs, kind: part.Special.Type})
		default:
			return nil, fmt.Errorf("the template of %s needs special tokens and each text once", of)
		}
	}
	if !seen[0] || len(texts) == 2 && !seen[1] {
		return nil, fmt.Errorf("the template of %s lacks the text", of)
	}
	return list, nil
}
