package gguf

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// The keys of a file of a model of several files.
const (
	splitPrefix     = "split."
	splitNoKey      = splitPrefix + "no"
	splitCountKey   = splitPrefix + "count"
	splitTensorsKey = splitPrefix + "tensors.count"
)

// part is the place of a file among the files of a model.
type part struct{ no, count int }

// part returns the place of the file. The count is 1 if the model has one file.
func (s *scanner) part() part {
	p := part{0, 1}
	for key, to := range map[string]*int{splitNoKey: &p.no, splitCountKey: &p.count} {
		pair := find(s.meta, key)
		if pair == nil {
			continue
		}
		if v, ok := integer(pair); ok && 0 <= v && v <= 0xffff {
			*to = int(v)
		} else {
			s.Add(s.keys[key], graph.ErrFormat, "%s is no number from 0 to 65535", key)
		}
	}
	if p.count > 0 && p.no >= p.count {
		s.Add(s.keys[splitNoKey], graph.ErrFormat, "%s is %d, and %s is %d", splitNoKey, p.no, splitCountKey, p.count)
	}
	return p
}

// suffix returns the end of the name of file no.
func (p part) suffix(no int) string { return fmt.Sprintf("-%05d-of-%05d.gguf", no+1, p.count) }

// several reports whether the model has other files.
func (p part) several() bool { return p.count > 1 }

// alone adds a problem if the model has other files.
func (s *scanner) alone() {
	if s.First() != nil {
		return
	}
	if p := s.part(); p.several() {
		s.notFirst(p)
		if p.no == 0 {
			s.Add(-1, graph.ErrUnsupported, "it is the first of %d files of a model, which cannot be read here; open it as a file",
				p.count)
		}
	}
}

// notFirst adds a problem if a file is not the first of its model.
func (s *scanner) notFirst(p part) {
	if p.no == 0 {
		return
	}
	name := path.Base(filepath.ToSlash(s.File))
	first := "whose name ends in " + p.suffix(0)
	if prefix, ok := strings.CutSuffix(name, p.suffix(p.no)); ok {
		first = prefix + p.suffix(0)
	}
	s.Add(-1, graph.ErrUnsupported, "it is file %d of %d of a model; open the first, %s", p.no+1, p.count, first)
}

// Open opens a file and, if it is the first of several, the others in its folder. Closing the model
// closes all. Open takes memory within the budget b. If its context ends, Open fails.
func Open(b *budget.Budget, f *binio.File) (_ *graph.Model, err error) {
	defer guard.At(f.Path).End(&err)
	s := scan(b, f.Path, f.Data)
	p, ok := s.firstOf()
	if !ok {
		m, err := s.opened()
		if err == nil {
			m.Closer = f
		}
		return m, err
	}
	set := &set{scanner: s, budget: b, part: p}
	set.enter(filepath.Dir(f.Path))
	return set.model(f)
}

// ReadFiles is Read for models that may be of several files. The others are in files, by the names
// that follow from name.
func ReadFiles(b *budget.Budget, name string, data []byte, files fs.FS) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	s := scan(b, name, data)
	p, ok := s.firstOf()
	if !ok {
		return s.opened()
	}
	return (&set{scanner: s, budget: b, part: p, Folder: binio.Folder{FS: files}}).model(nil)
}

// Verify returns every problem of a file and of the other files of its model. It also looks at the
// numbers of tensors.
func Verify(b *budget.Budget, f *binio.File) (problems []error) {
	defer guard.At(f.Path).EndAll(&problems)
	s := scan(b, f.Path, f.Data)
	p, ok := s.firstOf()
	s.values()
	if !ok {
		return s.All()
	}
	set := &set{scanner: s, budget: b, part: p, verify: true}
	set.enter(filepath.Dir(f.Path))
	defer set.Close()
	set.others()
	err := container.Intact(func(yield func([]byte) bool) {
		for _, f := range set.Files {
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

// firstOf reports whether the file is the first of several. If it is another of them, that is a
// problem.
func (s *scanner) firstOf() (p part, ok bool) {
	if s.First() != nil {
		return p, false
	}
	p = s.part()
	if p.several() {
		s.notFirst(p)
	}
	return p, p.several() && s.First() == nil
}

// set is the files of a model. Its scanner read the first, and collects the problems of all.
type set struct {
	*scanner
	part
	binio.Folder
	budget *budget.Budget
	verify bool
	rest   []*scanner
}

// enter opens the folder of the files.
func (s *set) enter(folder string) {
	if err := s.Enter(folder); err != nil {
		s.Add(-1, nil, "%w", binio.Cause(err))
	}
}

// others reads the other files.
func (s *set) others() {
	prefix, ok := strings.CutSuffix(path.Base(filepath.ToSlash(s.File)), s.suffix(0))
	if !ok {
		s.Add(-1, graph.ErrUnsupported, "it is the first of %d files of a model, and the names of the others follow from its own, which must end in %s; rename it",
			s.count, s.suffix(0))
		return
	}
	for no := 1; no < s.count && s.FS != nil && s.Goes(); no++ {
		if !s.other(prefix+s.suffix(no), no) {
			return
		}
	}
	s.complete()
}

// other reads file no. It reports whether reading goes on.
func (s *set) other(name string, no int) bool {
	f, err := s.Open(s.budget, name)
	if err != nil {
		s.Add(-1, graph.ErrFormat, "%s, file %d of %d: %w", name, no+1, s.count, binio.Cause(err))
		return false
	}
	x := scan(s.budget, f.Path, f.Data)
	if x.First() == nil {
		if p := x.part(); p.no != no || p.count != s.count {
			x.Add(-1, graph.ErrFormat, "its metadata calls it file %d of %d, and its name file %d of %d", p.no+1,
				p.count, no+1, s.count)
		}
	}
	if s.verify {
		x.values()
	}
	s.Join(&x.Problems)
	s.rest = append(s.rest, x)
	return true
}

// complete checks that tensors of different files have different names, and counts them.
func (s *set) complete() {
	if s.First() != nil {
		return
	}
	from, n := map[string]string{}, 0
	for _, x := range append([]*scanner{s.scanner}, s.rest...) {
		for i := range x.tensors {
			name := x.tensors[i].name
			if other, ok := from[name]; ok {
				s.Add(-1, graph.ErrFormat, "tensor %.80q is in %s and in %s", name, other, x.File)
			}
			from[name] = x.File
			n++
		}
	}
	if p := find(s.meta, splitTensorsKey); p != nil {
		if want, ok := integer(p); !ok || want != int64(n) {
			s.Add(-1, graph.ErrFormat, "its files have %d tensors, and %s is not that number: one of them is of another model",
				n, splitTensorsKey)
		}
	}
}

// model returns the model of all files. Closing it closes them, and first unless that is nil.
func (s *set) model(first *binio.File) (_ *graph.Model, err error) {
	var m *graph.Model
	defer func() {
		if m == nil {
			s.Close()
		}
	}()
	s.others()
	whole, err := s.opened()
	if err != nil {
		return nil, err
	}
	whole.Meta = slices.DeleteFunc(slices.Clone(whole.Meta), func(p graph.Pair) bool {
		return strings.HasPrefix(p.Key, splitPrefix)
	})
	for _, x := range s.rest {
		other, err := x.opened()
		if err != nil {
			return nil, err
		}
		for _, p := range other.Meta {
			if _, known := s.keys[p.Key]; !known && !strings.HasPrefix(p.Key, splitPrefix) {
				s.keys[p.Key] = -1
				whole.Meta = append(whole.Meta, p)
			}
		}
		for _, t := range other.Graph.Initializers {
			t.Stored.Offset = -1 // not in the file that was opened
		}
		whole.Graph.Initializers = append(whole.Graph.Initializers, other.Graph.Initializers...)
		whole.Warnings = append(whole.Warnings, other.Warnings...)
	}
	s.Leave()
	if first != nil {
		s.Files = append(s.Files, first)
	}
	m = whole
	m.Closer = s
	return m, nil
}
