package safetensors

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// The names of files in a folder.
const (
	indexFile  = "model.safetensors.index.json"
	configFile = "config.json"
	extension  = ".safetensors"
)

// maxConfig is the most bytes of a configuration in a folder.
const maxConfig = 1 << 24

// configFiles are the files of a folder that become metadata. Their names are the keys.
var configFiles = []string{configFile, "generation_config.json", "1_Pooling/config.json"}

// Open opens a file, or the shards of an index. Closing the model closes f. Open takes memory
// within the budget b. If its context ends, Open fails.
func Open(b *budget.Budget, f *binio.File) (_ *graph.Model, err error) {
	defer guard.At(f.Path).End(&err)
	if !isIndex(f.Data) {
		m, err := Read(b, f.Path, f.Data)
		if err == nil {
			m.Closer = f
		}
		return m, err
	}
	s := setOf(b, f.Path, filepath.Dir(f.Path))
	defer s.unless()
	s.index(f.Data)
	f.Close()
	return s.opened()
}

// ReadFiles is Read for models that may be an index. The shards are names in files.
func ReadFiles(b *budget.Budget, name string, data []byte, files fs.FS) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	if !isIndex(data) {
		return Read(b, name, data)
	}
	s := newSet(b, name, files)
	defer s.unless()
	s.index(data)
	return s.opened()
}

// Verify returns every problem of a file, or of an index and its shards.
func Verify(b *budget.Budget, f *binio.File) (problems []error) {
	defer guard.At(f.Path).EndAll(&problems)
	if !isIndex(f.Data) {
		s := scan(b, f.Path, f.Data)
		return s.All()
	}
	s := setOf(b, f.Path, filepath.Dir(f.Path))
	defer s.Close()
	s.index(f.Data)
	return s.intact()
}

// OpenFolder opens the shards in a folder as one model: the shards in the index
// model.safetensors.index.json or, if there is no index, every file *.safetensors. The texts of
// config.json, generation_config.json and 1_Pooling/config.json become metadata entries of kind json,
// with the file names as keys. Links that lead out of the folder are refused.
func OpenFolder(b *budget.Budget, folder string) (_ *graph.Model, err error) {
	defer guard.At(folder).End(&err)
	s := setOf(b, folder, folder)
	defer s.unless()
	s.folder()
	return s.opened()
}

// OpenFS is OpenFolder for the top folder of a file system. Messages call the folder name. The file
// system decides which links are followed.
func OpenFS(b *budget.Budget, name string, files fs.FS) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	s := newSet(b, name, files)
	defer s.unless()
	s.folder()
	return s.opened()
}

// VerifyFolder returns every problem of the shards in a folder.
func VerifyFolder(b *budget.Budget, folder string) (problems []error) {
	defer guard.At(folder).EndAll(&problems)
	s := setOf(b, folder, folder)
	defer s.Close()
	s.folder()
	return s.intact()
}

// set is the shards of a model.
type set struct {
	container.Problems
	binio.Folder
	model *graph.Model
	from  map[string]string // the shard of each tensor so far
	meta  map[graph.Pair]bool
}

func newSet(b *budget.Budget, file string, fsys fs.FS) *set {
	return &set{Problems: container.Problems{File: file, Budget: b}, from: map[string]string{}, meta: map[graph.Pair]bool{},
		model: &graph.Model{Format: Name, File: file, Graph: &graph.Graph{}}, Folder: binio.Folder{FS: fsys}}
}

// setOf returns a set in a folder. Its files are opened as by binio.Beneath.
func setOf(b *budget.Budget, file, folder string) *set {
	s := newSet(b, file, nil)
	if err := s.Enter(folder); err != nil {
		s.Add(-1, nil, "%w", binio.Cause(err))
	}
	return s
}

// opened returns the model, or the first problem. Closing the model closes the shards.
func (s *set) opened() (*graph.Model, error) {
	if err := s.First(); err != nil {
		return nil, err
	}
	s.Leave()
	s.model.Closer = s
	return s.model, nil
}

// unless closes the shards if no model owns them.
func (s *set) unless() {
	if s.model.Closer == nil {
		s.Close()
	}
}

// intact returns all problems. A shard that lost bytes is one of them.
func (s *set) intact() []error {
	err := container.Intact(func(yield func([]byte) bool) {
		for _, f := range s.Files {
			if !yield(f.Data) {
				return
			}
		}
	})
	if err != nil {
		return append(s.All(), err)
	}
	return s.All()
}

// folder adds the contents of the top folder of the file system, if there is one.
func (s *set) folder() {
	if s.FS == nil {
		return
	}
	for _, name := range configFiles {
		s.config(name)
	}
	if s.has(indexFile) {
		if f := s.open(indexFile); f != nil {
			s.index(f.Data)
		}
		return
	}
	entries, err := fs.ReadDir(s.FS, ".")
	var list []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), extension) {
			list = append(list, e.Name())
		}
	}
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("the folder has no file *%s; a model of another format is opened by the path of its file", extension)
	}
	if err != nil {
		s.Add(-1, graph.ErrFormat, "%w", binio.Cause(err))
	}
	for _, name := range list {
		if s.Goes() {
			s.shard(name)
		}
	}
}

// config adds a configuration of the folder to the metadata.
func (s *set) config(name string) {
	if !s.has(name) {
		return
	}
	f := s.open(name)
	if f == nil {
		return
	}
	p := container.Problems{File: f.Path, Budget: container.Reading(s.Budget, len(f.Data))}
	l := newLexer(&p, f.Data, 0)
	if len(f.Data) > maxConfig {
		l.fail(0, "the text is of %d bytes; at most %d are read", len(f.Data), maxConfig)
	}
	if l.next() != '{' {
		l.fail(l.at, "it is no object")
	}
	l.skip()
	l.end()
	if l.err != nil {
		p.Add(l.off, graph.ErrFormat, "%w", l.err)
	}
	if p.First() != nil || !p.Take(0, len(f.Data)) {
		s.Join(&p)
		return
	}
	s.model.Meta = append(s.model.Meta, graph.Pair{Key: name, Kind: "json", Value: string(f.Data)})
}

// has reports whether the folder has a file. If that cannot be determined, has records a problem.
func (s *set) has(name string) bool {
	_, err := fs.Lstat(s.FS, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Add(-1, nil, "%s: %w", name, binio.Cause(err))
	}
	return err == nil
}

// open maps a file of the folder. After a problem it returns nil.
func (s *set) open(name string) *binio.File {
	f, err := s.Open(s.Budget, name)
	if err != nil {
		s.Add(-1, graph.ErrFormat, "%s: %w", name, binio.Cause(err))
		return nil
	}
	return f
}

// index opens the shards of an index, and compares their tensors with it.
func (s *set) index(data []byte) {
	p := container.Problems{File: s.File, Budget: container.Reading(s.Budget, len(data))}
	ix := parseIndex(&p, data)
	s.Join(&p)
	if s.First() != nil {
		return
	}
	s.model.Meta = append(s.model.Meta, ix.meta...)
	for _, name := range ix.shards {
		if s.Goes() {
			s.shard(name)
		}
	}
	if s.First() != nil {
		return
	}
	for _, t := range s.model.Graph.Initializers {
		switch want, ok := ix.shard[t.Name]; {
		case !ok:
			s.Add(-1, graph.ErrFormat, "tensor %q is in %s, and the index does not have it", t.Name, s.from[t.Name])
		case want != s.from[t.Name]:
			s.Add(-1, graph.ErrFormat, "tensor %q is in %s, and the index has it in %s", t.Name, s.from[t.Name], want)
		}
	}
	var missing []string
	for name := range ix.shard {
		if _, ok := s.from[name]; !ok {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	for _, name := range missing {
		s.Add(-1, graph.ErrFormat, "tensor %q is not in %s, where the index has it", name, ix.shard[name])
	}
}

// shard adds the tensors and the metadata of a file.
func (s *set) shard(name string) {
	f := s.open(name)
	if f == nil {
		return
	}
	sc := scan(s.Budget, f.Path, f.Data)
	s.Join(&sc.Problems)
	if sc.First() != nil {
		return
	}
	m := sc.model()
	for _, p := range m.Meta {
		if !s.meta[p] {
			s.meta[p] = true
			s.model.Meta = append(s.model.Meta, p)
		}
	}
	for _, t := range m.Graph.Initializers {
		if other, ok := s.from[t.Name]; ok {
			s.Add(-1, graph.ErrFormat, "tensor %q is in %s and in %s", t.Name, other, name)
			continue
		}
		s.from[t.Name] = name
		t.Stored.Offset = -1 // not in the file that was opened
		s.model.Graph.Initializers = append(s.model.Graph.Initializers, t)
	}
}
