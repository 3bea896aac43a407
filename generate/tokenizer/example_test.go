package tokenizer_test

import (
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
