package packed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// stored is a tensor of a sample with ggml's blocks.
type stored struct {
	name, dtype, hash string
	data              []byte
}

// samples returns the tensors of a file of GGUF as its manifest describes them.
func samples(t *testing.T, name string) []stored {
	dir := testenv.Samples(t, "fixtures", "gguf")
	var manifest struct {
		Files map[string]struct {
			Start   int `json:"data_start"`
			Tensors []struct {
				Name, Type string
				Offset     int
				Bytes      int    `json:"nbytes"`
				Hash       string `json:"f32_sha256"`
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	var list []stored
	for _, x := range manifest.Files[name].Tensors {
		at := manifest.Files[name].Start + x.Offset
		list = append(list, stored{x.Name, strings.ToLower(x.Type), x.Hash, file[at : at+x.Bytes]})
	}
	return list
}

// blocksNamed returns the type of blocks of that name, nil if there is none.
func blocksNamed(name string) *Blocks {
	for _, b := range BlockTypes {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// elementsOf unpacks all blocks of data.
func elementsOf(b *Blocks, data []byte) []float32 {
	y := make([]float32, len(data)/b.Bytes*b.Elements)
	b.Unpack(y, data)
	return y
}

func TestBlockTypes(t *testing.T) {
	if !slices.IsSortedFunc(BlockTypes, func(a, b *Blocks) int { return a.Number - b.Number }) {
		t.Error("the types are not in the order of their numbers")
	}
	for _, b := range BlockTypes {
		if BlocksOf(b.Number) != b || blocksNamed(b.Name) != b {
			t.Errorf("%s: number or name belongs to another type", b.Name)
		}
		if b.Size(3*b.Elements) != 3*b.Bytes {
			t.Errorf("%s: %d elements take %d bytes", b.Name, 3*b.Elements, b.Size(3*b.Elements))
		}
	}
	if BlocksOf(0) != nil || BlocksOf(15) != nil {
		t.Error("a number has a type of blocks that it must not have")
	}
}

// TestUnpackSamples compares the elements of random blocks to hashes of ggml's.
func TestUnpackSamples(t *testing.T) {
	seen := map[*Blocks]bool{}
	for _, name := range []string{"zoo.a.gguf", "quantisers.a.gguf"} {
		for _, x := range samples(t, name) {
			b := blocksNamed(x.dtype)
			if b == nil {
				continue
			}
			seen[b] = true
			data, _ := binary.Append(nil, binary.LittleEndian, elementsOf(b, x.data))
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != x.hash {
				t.Errorf("%s: %s has other elements", name, x.name)
			}
		}
	}
	if len(seen) != len(BlockTypes) {
		t.Errorf("samples of %d types of %d", len(seen), len(BlockTypes))
	}
}

// TestPackSamples compares blocks to ggml's of the same elements.
func TestPackSamples(t *testing.T) {
	var source []float32
	packed := 0
	for _, x := range samples(t, "quantisers.a.gguf") {
		if x.name == "source" {
			source = make([]float32, len(x.data)/4)
			if _, err := binary.Decode(x.data, binary.LittleEndian, source); err != nil {
				t.Fatal(err)
			}
		}
		b := blocksNamed(x.dtype)
		if b == nil || b.Pack == nil || !strings.HasSuffix(x.name, ".plain") {
			continue
		}
		packed++
		got := bytes.Repeat([]byte{0xff}, len(x.data))
		if b.Pack(got, source); !bytes.Equal(got, x.data) {
			t.Errorf("%s: blocks differ from ggml's", b.Name)
		}
	}
	if packed < 11 {
		t.Errorf("blocks of %d types", packed)
	}
}

// TestPack packs elements, and compares what is unpacked to them.
func TestPack(t *testing.T) {
	// Errors in parts of the largest magnitude of a block.
	bounds := map[*Blocks]float64{Q4_0: 0.126, Q4_1: 0.07, Q5_0: 0.064, Q5_1: 0.034, Q8_0: 0.005, TQ1_0: 0.502, TQ2_0: 0.502, MXFP4: 0.26, NVFP4: 0.2, Q1_0: 1, Q2_0: 0.502}
	r := rand.New(rand.NewPCG(1, 2))
	for _, b := range BlockTypes {
		bound, ok := bounds[b]
		if ok != (b.Pack != nil) {
			t.Errorf("%s: the test has no bound, or Pack is missing", b.Name)
			continue
		}
		if !ok {
			continue
		}
		least, most := -20, 9
		if b == NVFP4 { // its scales have few exponents
			least, most = -4, 4
		}
		for block := range 100 {
			x, scale := make([]float32, b.Elements), math.Ldexp(1, least+block%(most-least+1))
			for i := range x {
				x[i] = float32(r.NormFloat64() * scale)
			}
			data := bytes.Repeat([]byte{0xa5}, b.Bytes)
			b.Pack(data, x)
			// Scales below 2^-14 have fewer digits.
			allowed := bound*float64(abs32(largest(x))) + 0x1p-17
			for i, y := range elementsOf(b, data) {
				if d := math.Abs(float64(y - x[i])); d > allowed {
					t.Fatalf("%s: element %d, %g, becomes %g", b.Name, i, x[i], y)
				}
			}
		}
		data := bytes.Repeat([]byte{0xa5}, b.Bytes)
		b.Pack(data, make([]float32, b.Elements))
		for i, y := range elementsOf(b, data) {
			if y != 0 {
				t.Fatalf("%s: element %d, zero, becomes %g", b.Name, i, y)
			}
		}
	}
}

// TestUnpack compares the elements of blocks with every value of every byte to the formulas of the
// types.
func TestUnpack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, b := range BlockTypes {
		data := make([]byte, 256*b.Bytes)
		for p := range b.Bytes {
			for block, value := range r.Perm(256) {
				data[block*b.Bytes+p] = byte(value)
			}
		}
		for i, got := range elementsOf(b, data) {
			want := formulas[b](data[i/b.Elements*b.Bytes:], i%b.Elements)
			if bits32(got) != bits32(want) && (got == got || want == want) {
				t.Errorf("%s: element %d of block %d is %g, want %g", b.Name, i%b.Elements, i/b.Elements, got, want)
				break
			}
		}
	}
}

// TestNotFinite finds a scale that is no number, in each place of each type.
func TestNotFinite(t *testing.T) {
	for _, b := range BlockTypes {
		places := b.Scales
		switch b {
		case IQ1_M:
			places = []int{54}
		case MXFP4:
			places = []int{-1}
		case NVFP4:
			places = []int{-1, 0, 1, 2}
		}
		if len(places) == 0 {
			t.Errorf("%s has no scales", b.Name)
		}
		for _, at := range places {
			for _, high := range []byte{0x7c, 0xfc, 0x7f, 0xff} {
				data := make([]byte, 3*b.Bytes)
				if at := b.NotFinite(data); at != -1 {
					t.Fatalf("%s: block %d of zeros is not finite", b.Name, at)
				}
				data[b.Bytes+at+1] = high
				if b == IQ1_M {
					data[b.Bytes+52+1] = 0xc0
				}
				bad := b != MXFP4 && b != NVFP4 || b == MXFP4 && high == 0xff
				if got := b.NotFinite(data); (got == 1) != bad || got != 1 && got != -1 {
					t.Errorf("%s: with %#x in byte %d of block 1, block %d is not finite", b.Name, high, at+1, got)
				}
			}
		}
	}
}
