package tokenizer_test

import (
	"context"
	"fmt"

	"github.com/nacre-ml/nacre/generate/tokenizer"
)

func ExampleRead() {
	file := `{
		"normalizer": {"type": "Lowercase"},
		"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
		"decoder": {"type": "ByteLevel"},
		"added_tokens": [{"id": 7, "content": "<end>", "special": true}],
		"model": {
			"type": "BPE",
			"vocab": {"h": 0, "i": 1, "Ġ": 2, "hi": 3, "Ġhi": 4, "!": 5},
			"merges": ["h i", "Ġ hi"]
		}
	}`
	t, err := tokenizer.Read([]byte(file))
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := t.Encode("Hi hi!<end>", true)
	fmt.Println(ids)
	fmt.Println(t.Decode(ids))
	// Output:
	// [3 4 5 7]
	// hi hi!
}

func ExampleTokenizer_EncodeInputs() {
	file := `{
		"normalizer": {"type": "Lowercase"},
		"pre_tokenizer": {"type": "WhitespaceSplit"},
		"post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 0], "sep": ["[SEP]", 1]},
		"decoder": null,
		"truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0},
		"padding": {"strategy": "BatchLongest", "direction": "Right", "pad_id": 2, "pad_type_id": 0, "pad_token": "[PAD]"},
		"model": {"type": "WordLevel", "unk_token": "[UNK]",
			"vocab": {"[CLS]": 0, "[SEP]": 1, "[PAD]": 2, "[UNK]": 3, "who": 4, "sings?": 5, "grace": 6}}
	}`
	t, err := tokenizer.Read([]byte(file))
	if err != nil {
		fmt.Println(err)
		return
	}
	texts := []tokenizer.Input{{Text: "Who sings?", Second: "Grace"}, {Text: "Grace"}}
	encodings, err := t.EncodeInputs(context.Background(), texts, tokenizer.EncodingOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range encodings {
		fmt.Println(e.IDs, e.TypeIDs, e.Mask)
	}
	o := encodings[0].Offsets[2]
	fmt.Println(texts[0].Text[o.Start:o.End])
	// Output:
	// [0 4 5 1 6 1] [0 0 0 0 1 1] [1 1 1 1 1 1]
	// [0 6 1 2 2 2] [0 0 0 0 0 0] [1 1 1 0 0 0]
	// sings?
}
