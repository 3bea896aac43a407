package gptrs

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// The two example files in the description of the formats.
var (
	smallCheckpoint = unhex(`47505452 5343484b 02000000 18000000`, `7b226b696e64223a2274222c22636f6e666967223a7b7d7d`,
		`42000000 01000000 01000000 77 f2f21520 bebe5d07 c6813b97 2de3617a`, `02000000 0100000000000000 0200000000000000 00000000 00`,
		`6e00000000000000 0800000000000000 0000803f 000000c0`)
	smallArchive = unhex(`47505452 5354454e 02000000 2c000000 01000000 03000000 696473 01000000 0200000000000000`,
		`03000000 00 3c00000000000000 0800000000000000 07000000 ffffffff`)
)

func unhex(parts ...string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(strings.Join(parts, ""), " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

func TestRead(t *testing.T) {
	m, err := Checkpoint.Read(nil, "w.chk", smallCheckpoint)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Meta) != 1 || m.Meta[0] != (graph.Pair{Key: "config", Kind: "json", Value: `{"kind":"t","config":{}}`}) || m.Container != 2 || m.Source != nil {
		t.Errorf("model %+v", m)
	}
	w := m.Graph.Initializers[0]
	if w.Name != "w" || w.Tensor.String() != "float32[1,2]" || w.Stored.DType != "f32" || w.Stored.Offset != 110 || &w.Tensor.Bytes()[0] != &smallCheckpoint[110] {
		t.Errorf("tensor %+v %+v", w, w.Stored)
	}
	if m, err = Archive.Read(nil, "ids.ten", smallArchive); err != nil {
		t.Fatal(err)
	}
	ids := m.Graph.Initializers[0]
	if ids.Name != "ids" || ids.Tensor.String() != "int32[2]" || len(m.Meta) != 0 {
		t.Errorf("tensor %+v, metadata %v", ids, m.Meta)
	}
	if !Checkpoint.Probe(smallCheckpoint) || Checkpoint.Probe(smallArchive) || !Archive.Probe(smallArchive) || Archive.Probe(nil) {
		t.Error("the formats are not told apart")
	}
}

// build returns a checkpoint, or an archive if config is empty.
func build(config string, index []byte, payload []byte) []byte {
	b := []byte("GPTRSTEN\x02\x00\x00\x00")
	if config != "" {
		b = []byte("GPTRSCHK\x02\x00\x00\x00")
		b = binary.LittleEndian.AppendUint32(b, uint32(len(config)))
		b = append(b, config...)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(index)))
	return append(append(b, index...), payload...)
}

// archiveEntry returns an entry of an archive's index.
func archiveEntry(name string, tag uint32, offset, length uint64, dims ...uint64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(len(name)))
	b = append(b, name...)
	b = le.AppendUint32(b, uint32(len(dims)))
	for _, d := range dims {
		b = le.AppendUint64(b, d)
	}
	b = append(le.AppendUint32(b, tag), 0)
	return le.AppendUint64(le.AppendUint64(b, offset), length)
}

func index(entries ...[]byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(entries))), bytes.Join(entries, nil)...)
}

func TestRefused(t *testing.T) {
	at := func(entries ...[]byte) uint64 { return uint64(16 + len(index(entries...))) }
	e := archiveEntry("a", 0, 0, 4, 1)
	cases := []struct {
		name string
		data []byte
		kind Kind
		base error
		want string
	}{
		{"empty name", build("", index(archiveEntry("", 0, at(e)-1, 4, 1)), make([]byte, 4)), BadName, graph.ErrFormat, "no name"},
		{"twice", build("", index(archiveEntry("a", 0, at(e, e), 4, 1), archiveEntry("a", 0, at(e, e)+4, 4, 1)), make([]byte, 8)), DuplicateName, graph.ErrFormat, "more than once"},
		{"one byte over", build("", index(archiveEntry("a", 0, at(e, e), 4, 1), archiveEntry("b", 0, at(e, e)+3, 4, 1)), make([]byte, 8)), Overlap, graph.ErrFormat, "tensor a"},
		{"same place", build("", index(archiveEntry("a", 0, at(e, e), 4, 1), archiveEntry("b", 0, at(e, e), 4, 1)), make([]byte, 8)), Overlap, graph.ErrFormat, "tensor a"},
		{"in the index", build("", index(archiveEntry("a", 0, at(e)-1, 4, 1)), make([]byte, 8)), Overlap, graph.ErrFormat, "the index"},
		{"behind the index", build("", append(index(archiveEntry("a", 0, at(e)+1, 4, 1)), 0), make([]byte, 4)), BadIndex, graph.ErrFormat, "1 bytes after its last entry"},
		{"far away", build("", index(archiveEntry("a", 0, 1<<40, 4, 1)), make([]byte, 4)), OutOfFile, graph.ErrFormat, "ends at byte"},
		{"cut off", build("", index(archiveEntry("a", 0, at(e), 4, 1)), make([]byte, 3)), Truncated, graph.ErrFormat, "ends at byte"},
		{"all cut off", build("", index(archiveEntry("a", 0, at(e, e)+4, 4, 1), archiveEntry("b", 0, at(e, e), 4, 1)), nil), Truncated, graph.ErrFormat, "ends at byte"},
		{"lengths that wrap", build("", index(archiveEntry("a", 0, at(e, e), 1<<63, 1<<61), archiveEntry("b", 0, at(e, e), 1<<63, 1<<61)), nil), BadShape, graph.ErrFormat, "memory"},
		{"zero times many", build("", index(archiveEntry("a", 0, 50, 4, 0, 1<<63)), make([]byte, 4)), BadShape, graph.ErrFormat, "memory"},
		{"version 1", []byte("GPTRSTEN\x01\x00\x00\x00"), UnsupportedVersion, graph.ErrUnsupported, "version 1"},
		{"wide half", build("", index(archiveEntry("a", 1, at(e), 4, 1)), make([]byte, 4)), UnsupportedDType, graph.ErrUnsupported, "two bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Archive.Read(nil, "x", c.data)
			var kind Kind
			if !errors.As(err, &kind) || kind != c.kind || !errors.Is(err, c.kind) || !errors.Is(err, c.base) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v of kind %s, want %q of kind %s", err, kind, c.want, c.kind)
			}
			var g *graph.Error
			if !errors.As(err, &g) || g.File != "x" || g.Offset < 0 {
				t.Errorf("no place in %v", err)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	const gpt = `{"kind":"gpt","config":{"vocab_size":3,"context_length":2,"embed_dim":4,"num_layers":%s,"num_heads":%s,"mlp_ratio":1,"dropout":0}}`
	cases := []struct {
		config string
		kind   Kind // empty if reading succeeds
		want   string
	}{
		{`{"kind":"x"}`, "", ""},
		{" \n{\"config\":[1],\"kind\":\"x\",\"runtime\":null,\"more\":{}} ", "", ""},
		{`{"kind":"x","runtime":{"functional_overrides":{"a":"force=b","c":" Benchmark ","d":"benchmark(cache=7)","e":"","f":"benchmark( )"}}}`, "", ""},
		{`{"kind":"x","runtime":{"weight_streaming":{"enabled":true,"device_weights_percent":1,"prefetch_layers":null}}}`, "", ""},
		{`{"kind":"x","kind":"y"}`, "", ""},
		{`null`, BadConfig, "no object"},
		{`"x"`, BadConfig, "no object"},
		{`{"Kind":"x"}`, BadConfig, "kind"},
		{`{"kind":null}`, BadConfig, "kind"},
		{`{"kind":"x"}}`, BadConfig, "no object"},
		{"{\"kind\":\"\xff\"}", BadConfig, "UTF-8"},
		{`{"kind":"x","runtime":[]}`, BadConfig, "runtime"},
		{`{"kind":"x","runtime":{"functional_overrides":{"a":7}}}`, BadConfig, "7"},
		{`{"kind":"x","runtime":{"functional_overrides":{"a":"benchmark(cache=0)"}}}`, BadConfig, "cache=0"},
		{`{"kind":"x","runtime":{"functional_overrides":{"a":"cache=3)"}}}`, BadConfig, "neither"},
		{`{"kind":"x","runtime":{"functional_overrides":{"a":"benchmark(x)"}}}`, BadConfig, "option"},
		{`{"kind":"x","runtime":{"weight_streaming":{"enabled":true,"device_weights_percent":1.5}}}`, BadConfig, "between"},
		{`{"kind":"x","runtime":{"weight_streaming":{"enabled":true,"prefetch_layers":1.0}}}`, BadConfig, "no count"},
		{`{"kind":"x","runtime":{"weight_streaming":{"enabled":1}}}`, BadConfig, "neither"},
		{`{"kind":"gpt"}`, BadConfig, "vocab_size is missing"},
		{`{"kind":"gpt","config":7}`, BadConfig, "vocab_size is missing"},
		{fmt.Sprintf(gpt, "0", "3"), BadConfig, "embed_dim 4 is no multiple of num_heads 3"},
		{fmt.Sprintf(gpt, "0", "0"), BadConfig, "no multiple"},
		{fmt.Sprintf(gpt, "1.0", "2"), BadConfig, "num_layers is 1.0, which is no count"},
		{fmt.Sprintf(gpt, "18446744073709551615", "2"), MissingTensor, `"tok_embeddings.weight" is missing`},
		{`{"kind":"resnet34"}`, MissingTensor, `"conv1.weight" is missing`},
		{`{"kind":"mobilenet_v2","config":3}`, MissingTensor, `"stem.weight" is missing`},
		{strings.Repeat("[", 100000), BadConfig, "no object"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%.60s", c.config), func(t *testing.T) {
			_, err := Checkpoint.Read(nil, "x", build(c.config, index(), nil))
			var kind Kind
			errors.As(err, &kind)
			if kind != c.kind || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v of kind %q, want %q of kind %q", err, kind, c.want, c.kind)
			}
		})
	}
}

// TestMinistral checks every setting and tensor of a kind in turn.
func TestMinistral(t *testing.T) {
	base := map[string]string{"vocab_size": "5", "context_length": "4", "embed_dim": "6", "num_layers": "1", "num_heads": "2", "num_kv_heads": "1",
		"mlp_hidden_dim": "7", "rms_norm_eps": "1e-6", "rope_theta": "1e4", "rotary_dim": "2"}
	cases := []struct{ key, value, want string }{
		{"", "", `"tok_embeddings.weight" is missing`},
		{"rotary_dim", "3", "odd"}, {"rotary_dim", "4", "more than head_dim 3"}, {"head_dim", "4", `"tok_embeddings.weight" is missing`},
		{"kv_head_dim", "4", "kv_head_dim 4 is not head_dim 3"}, {"kv_head_dim", "3", "is missing"}, {"num_heads", "4", "embed_dim 6 is no multiple of num_heads 4"},
		{"num_kv_heads", "0", "no multiple"}, {"num_heads", "18446744073709551615", "no multiple"}, {"rope_theta", `"x"`, "no number"},
		{"head_dim", "9223372036854775808", "more than 64 bits"},
		{"rope_scaling", "null", "rope_scaling"}, {"rope_scaling", `{"kind":"none"}`, "is missing"}, {"rope_scaling", `{"kind":"odd"}`, "none of none"},
		{"rope_scaling", `{"kind":"linear"}`, "factor is missing"}, {"rope_scaling", `{"kind":"linear","factor":0}`, "not positive"},
		{"rope_scaling", `{"kind":"yarn","factor":2,"beta_fast":0.5}`, "less than beta_slow"},
		{"rope_scaling", `{"kind":"yarn","factor":2,"mscale":null,"original_max_position_embeddings":-1}`, "no count"},
	}
	for key := range base {
		cases = append(cases, struct{ key, value, want string }{key, "", key + " is missing"})
	}
	for _, c := range cases {
		var list []string
		for key, value := range base {
			if key != c.key {
				list = append(list, fmt.Sprintf("%q:%s", key, value))
			}
		}
		if c.value != "" {
			list = append(list, fmt.Sprintf("%q:%s", c.key, c.value))
		}
		config := `{"kind":"ministral","config":{` + strings.Join(list, ",") + `}}`
		if _, err := Checkpoint.Read(nil, "x", build(config, index(), nil)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.key, c.value, err, c.want)
		}
	}
}

// TestDamaged reads files cut off at every byte, and with every bit flipped.
func TestDamaged(t *testing.T) {
	for f, data := range map[*Format][]byte{Checkpoint: smallCheckpoint, Archive: smallArchive} {
		for n := range data {
			if m, err := f.Read(nil, "x", data[:n]); err == nil || m != nil || n >= 8 && !errors.Is(err, Truncated) {
				t.Errorf("%s cut off after %d bytes: %v", f.Name, n, err)
			}
		}
		for i := range 8 * len(data) {
			b := bytes.Clone(data)
			b[i/8] ^= 1 << (i % 8)
			m, err := f.Read(nil, "x", b)
			if (err == nil) == (m == nil) || (err == nil) != (len(f.Verify(nil, "x", b)) == 0) {
				t.Errorf("%s with bit %d turned: %v", f.Name, i, err)
			}
		}
	}
}

// TestVerifyAll finds problems of several tensors at once.
func TestVerifyAll(t *testing.T) {
	data := build("", index(archiveEntry("a", 9, 0, 0, 0), archiveEntry("\xff", 0, 0, 0, 0), archiveEntry("c", 0, 0, 3, 1), archiveEntry("d", 0, 3, 4, 1)), make([]byte, 4))
	var kinds []Kind
	for _, err := range Archive.Verify(nil, "x", data) {
		var k Kind
		errors.As(err, &k)
		kinds = append(kinds, k)
	}
	if got := fmt.Sprint(kinds); got != fmt.Sprint([]Kind{UnknownDType, BadName, BadByteLen, Overlap}) {
		t.Errorf("problems %s", got)
	}
}
