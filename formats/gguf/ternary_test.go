package gguf_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/packed"
)

var ternaryOut = flag.String("ternary", "", "folder for the decoder of TestBitNet, for oracles/gguf/bitnet.py")

// ternaryTokens is the prompt of decoders of ternary weights.
var ternaryTokens = []int64{3, 17, 90, 5, 41, 8}

// ternaryDecoder returns the file of a small decoder of an architecture, whose matrices have the
// codes -1, 0 and +1 and a factor: as I2_S, or as their products in float32.
func ternaryDecoder(architecture string, codes bool) []byte {
	const hidden, heads, keyHeads, inner, vocab, layers = 128, 4, 2, 256, 96, 2
	r := rand.New(rand.NewPCG(11, 12))
	le := binary.LittleEndian
	text := func(s string) []byte { return append(le.AppendUint64(nil, uint64(len(s))), s...) }
	var pairs, descriptions, data []byte
	count, pairCount := 0, 0
	pair := func(key string, kind uint32, value []byte) {
		pairs = append(le.AppendUint32(append(pairs, text(key)...), kind), value...)
		pairCount++
	}
	number := func(key string, n uint32) { pair(architecture+"."+key, 4, le.AppendUint32(nil, n)) }
	pair("general.architecture", 8, text(architecture))
	pair("tokenizer.ggml.model", 8, text("no_vocab"))
	number("vocab_size", vocab)
	number("context_length", 64)
	number("embedding_length", hidden)
	number("block_count", layers)
	number("feed_forward_length", inner)
	number("attention.head_count", heads)
	number("attention.head_count_kv", keyHeads)
	number("rope.dimension_count", hidden/heads)
	pair(architecture+".attention.layer_norm_rms_epsilon", 6, le.AppendUint32(nil, math.Float32bits(1e-5)))
	tensor := func(name string, kind uint32, bytes []byte, dims ...int) {
		descriptions = le.AppendUint32(append(descriptions, text(name)...), uint32(len(dims)))
		for _, n := range dims {
			descriptions = le.AppendUint64(descriptions, uint64(n))
		}
		descriptions = le.AppendUint64(le.AppendUint32(descriptions, kind), uint64(len(data)))
		for data = append(data, bytes...); len(data)%32 != 0; {
			data = append(data, 0)
		}
		count++
	}
	numbers := func(name string, base, spread float64, dims ...int) {
		n := 1
		for _, d := range dims {
			n *= d
		}
		var b []byte
		for range n {
			b = le.AppendUint32(b, math.Float32bits(float32(base+spread*r.NormFloat64())))
		}
		tensor(name, 0, b, dims...)
	}
	matrix := func(name string, in, out int) {
		list, factor := make([]int8, in*out), float32(0.03+0.05*r.Float64())
		for i := range list {
			list[i] = int8(r.IntN(3) - 1)
		}
		if codes {
			b := make([]byte, len(list)/4, len(list)/4+32)
			packed.PackI2S(b, list)
			tensor(name, 36, append(le.AppendUint32(b, math.Float32bits(factor)), make([]byte, 28)...), in, out)
			return
		}
		var b []byte
		for _, c := range list {
			b = le.AppendUint32(b, math.Float32bits(float32(c)*factor))
		}
		tensor(name, 0, b, in, out)
	}
	within := strings.HasPrefix(architecture, "bitnet")
	numbers("token_embd.weight", 0, 0.5, hidden, vocab)
	for i := range layers {
		p := fmt.Sprintf("blk.%d.", i)
		numbers(p+"attn_norm.weight", 1, 0.1, hidden)
		matrix(p+"attn_q.weight", hidden, hidden)
		matrix(p+"attn_k.weight", hidden, hidden/heads*keyHeads)
		matrix(p+"attn_v.weight", hidden, hidden/heads*keyHeads)
		if within {
			numbers(p+"attn_sub_norm.weight", 1, 0.1, hidden)
		}
		matrix(p+"attn_output.weight", hidden, hidden)
		numbers(p+"ffn_norm.weight", 1, 0.1, hidden)
		matrix(p+"ffn_gate.weight", hidden, inner)
		matrix(p+"ffn_up.weight", hidden, inner)
		if within {
			numbers(p+"ffn_sub_norm.weight", 1, 0.1, inner)
		}
		matrix(p+"ffn_down.weight", inner, hidden)
	}
	numbers("output_norm.weight", 1, 0.1, hidden)
	file := le.AppendUint32([]byte("GGUF"), 3)
	file = le.AppendUint64(le.AppendUint64(file, uint64(count)), uint64(pairCount))
	for file = append(append(file, pairs...), descriptions...); len(file)%32 != 0; {
		file = append(file, 0)
	}
	return append(file, data...)
}

// ternaryLogits returns the logits of the last token.
func ternaryLogits(t *testing.T, path string, data []byte, o nacre.Options) []float32 {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	st, err := session(t, path, o).NewStream(t.Context(), nacre.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	all := logits(t, st, ternaryTokens...)
	return slices.Clone(all[len(all)-96:])
}

// TestTernary compares decoders of I2_S with those of the same numbers in float32, and reads and
// verifies their files.
func TestTernary(t *testing.T) {
	for _, architecture := range []string{"llama", "bitnet", "bitnet-b1.58"} {
		t.Run(architecture, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "i2_s.gguf")
			want := ternaryLogits(t, filepath.Join(t.TempDir(), "f32.gguf"), ternaryDecoder(architecture, false), nacre.Options{Threads: 1})
			for _, o := range []nacre.Options{{Threads: 1}, {Threads: 1, NoOptimize: true}} {
				got := ternaryLogits(t, path, ternaryDecoder(architecture, true), o)
				if worst := distance(got, want); !(worst <= 1e-4) {
					t.Errorf("%+v: logits differ by up to %v", o, worst)
				}
			}
			if problems := formats.Verify(path); len(problems) > 0 {
				t.Errorf("verify finds %v", problems)
			}
		})
	}
}

// TestBitNet compares a decoder of norms within the blocks with llama.cpp.
func TestBitNet(t *testing.T) {
	data := ternaryDecoder("bitnet", false)
	if *ternaryOut != "" {
		if err := os.WriteFile(filepath.Join(*ternaryOut, "bitnet.gguf"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	var want struct {
		Tokens []int64
		Logits []float32
	}
	fixtures.JSON(t, filepath.Join("testdata", "bitnet.json"), &want)
	if !slices.Equal(want.Tokens, ternaryTokens) {
		t.Fatalf("the logits are of %v", want.Tokens)
	}
	got := ternaryLogits(t, filepath.Join(t.TempDir(), "bitnet.gguf"), data, nacre.Options{Threads: 1})
	if worst := distance(got, want.Logits); len(got) != len(want.Logits) || !(worst <= 1e-4) {
		t.Errorf("%d logits differ by up to %v", len(got), worst)
	}
}
