package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nacre-ml/nacre/internal/guard"
)

// maxFile bounds the bytes of a file.
const maxFile = 1 << 28

// names are the files of a folder that hold a tokenizer, the best first.
var names = []string{"tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "vocab.json", "vocab.txt"}

// Load reads a file, or the file of a folder that holds its tokenizer: tokenizer.json,
// tokenizer.model, spiece.model, sentencepiece.bpe.model, vocab.json with merges.txt, or
// vocab.txt. The error is fs.ErrNotExist where a folder has none of them. The file
// tokenizer_config.json beside it says whether a SentencePiece model adds tokens at the
// beginning and the end, whether a WordPiece vocabulary is of small letters, and which
// template chats have.
func Load(path string) (_ *Tokenizer, err error) {
	defer guard.At(path).End(&err)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		file, err := fileOf(path)
		if err != nil {
			return nil, err
		}
		path = file
	}
	c, err := readConfig(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	t, err := load(path, func(data []byte) (*Tokenizer, error) { return readFile(path, data, c) })
	if err != nil {
		return nil, err
	}
	t.chat = c.chat
	return t, nil
}

// fileOf returns the file of a folder that holds a tokenizer.
func fileOf(folder string) (string, error) {
	for _, name := range names {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: no tokenizer: one of the files %s is needed: %w", folder, strings.Join(names, ", "), fs.ErrNotExist)
}

// load reads a file of a bounded size and names it in errors.
func load(path string, read func([]byte) (*Tokenizer, error)) (*Tokenizer, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	t, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s: a file of at most %d bytes is needed", path, maxFile)
	}
	return os.ReadFile(path)
}

// readFile reads a file of any kind.
func readFile(path string, data []byte, c *settings) (*Tokenizer, error) {
	switch base := filepath.Base(path); {
	case base == "merges.txt":
		return readPairs(filepath.Join(filepath.Dir(path), "vocab.json"), path, c)
	case base == "vocab.json" && !hasTables(data):
		return readPairs(path, filepath.Join(filepath.Dir(path), "merges.txt"), c)
	case strings.HasSuffix(base, ".txt"):
		return readWordPieces(data, c)
	case isJSON(data):
		return Read(data)
	}
	return readSentencePiece(data, c)
}

// Read reads the bytes of a file that holds all of a tokenizer: a tokenizer.json, the
// schemas of gpt.rs, or a model of SentencePiece. A JSON file that has a model and names
// no step is one of gpt.rs.
func Read(data []byte) (_ *Tokenizer, err error) {
	defer guard.At("").End(&err)
	if !isJSON(data) {
		return readSentencePiece(data, &settings{})
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return nil, err
	}
	for _, step := range []string{"normalizer", "pre_tokenizer", "post_processor", "decoder"} {
		if _, ok := keys[step]; ok {
			return readDocument(data)
		}
	}
	return readGPTRS(data)
}

func isJSON(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n\xEF\xBB\xBF"), []byte("{"))
}

// hasTables reports a JSON file whose vocabulary is a part of it.
func hasTables(data []byte) bool {
	var head struct{ Vocab, Model map[string]json.RawMessage }
	return json.Unmarshal(data, &head) == nil && (head.Vocab != nil || head.Model != nil)
}

// Settings are what tokenizer_config.json and the chat template beside a file say.
type settings struct {
	AddBOS      *bool                 `json:"add_bos_token"`
	AddEOS      *bool                 `json:"add_eos_token"`
	LowerCase   *bool                 `json:"do_lower_case"`
	PrefixSpace bool                  `json:"add_prefix_space"`
	Added       map[string]AddedToken `json:"added_tokens_decoder"`
	Template    json.RawMessage       `json:"chat_template"`
	BOS         json.RawMessage       `json:"bos_token"`
	EOS         json.RawMessage       `json:"eos_token"`
	UNK         json.RawMessage       `json:"unk_token"`
	PAD         json.RawMessage       `json:"pad_token"`
	chat        *Chat
}

// readConfig reads the files beside a tokenizer, if they are there.
func readConfig(folder string) (*settings, error) {
	c := &settings{}
	path := filepath.Join(folder, "tokenizer_config.json")
	data, err := readBounded(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(data, c); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	c.chat, err = newChat(folder, c)
	return c, err
}
