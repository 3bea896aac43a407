package safetensors

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// mostProbed is the number of bytes in which isIndex searches for weight_map.
const mostProbed = 1 << 20

// isIndex reports whether data is an object with weight_map and with no list before it. The search
// ends at a list, so JSON models of other formats are not searched to their end.
func isIndex(data []byte) bool {
	l := &lexer{data: data[:min(len(data), mostProbed)]} // the reader checks the text later
	found := false
	if l.next() != '{' {
		return false
	}
	l.list('{', '}', func() {
		key := l.text()
		l.take(':')
		if found = l.err == nil && key == "weight_map" && l.next() == '{'; found {
			l.fail(l.at, "found")
		}
		if l.next() == '[' {
			l.fail(l.at, "a list")
		}
		l.skip()
	})
	return found
}

// index says in which shard each tensor is.
type index struct {
	shards []string          // sorted by name
	shard  map[string]string // by the tensor's name
	meta   []graph.Pair
}

func parseIndex(p *container.Problems, data []byte) index {
	ix := index{shard: map[string]string{}}
	met := map[string]bool{}
	l := newLexer(p, data, 0)
	l.object(func(key string, _ int) {
		switch key {
		case "weight_map":
			l.object(func(name string, _ int) {
				l.next()
				at := l.at
				file := l.text()
				if l.err != nil {
					return
				}
				if err := beneath(file); err != nil {
					l.fail(at, "tensor %q is in %q, %w", name, file, err)
				}
				ix.shard[name] = file
				if !met[file] {
					met[file] = true
					ix.shards = append(ix.shards, file)
				}
			})
		case "metadata":
			l.next()
			at := l.at
			l.skip()
			if l.err == nil {
				ix.meta = append(ix.meta, graph.Pair{Key: "index.metadata", Kind: "json", Value: string(data[at:l.at])})
			}
		default:
			l.skip()
		}
	})
	l.end()
	if l.err != nil {
		p.Add(l.off, graph.ErrFormat, "index: %w", l.err)
	}
	slices.Sort(ix.shards)
	return ix
}

// beneath returns an error if name is not a path below a folder.
func beneath(name string) error {
	if name == "" || path.Clean(name) != name || strings.ContainsAny(name, "\\\x00") || !filepath.IsLocal(filepath.FromSlash(name)) || name == "." {
		return errors.New("which is no path beneath the folder of the index")
	}
	return nil
}
