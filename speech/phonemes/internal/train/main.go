// Train makes the model of package letters from CMUdict, which scripts/fetch-cmudict.sh fetches.
//
// Usage: go generate ./speech/phonemes/internal/letters
package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/speech/phonemes/internal/letters"
)

// entry is a word of the dictionary.
type entry struct {
	word    string
	phones  []letters.Phone
	classes []byte // of its letters
}

func main() {
	log.SetFlags(0)
	dictionary := flag.String("dictionary", ".cache/cmudict/cmudict.dict", "the dictionary")
	out := flag.String("o", "speech/phonemes/internal/letters/model.bin", "the model")
	price := flag.Float64("price", price, "errors that each decision of a tree must save")
	held := flag.Int("held", 0, "learn all words but every `N`th, and print how many of these the trees guess")
	flag.Parse()
	file, err := train(*dictionary, *held, *price, os.Stdout)
	if err == nil {
		err = os.WriteFile(*out, file, 0o666)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// price is how many errors a decision of a tree saves at least. It makes the smallest file.
const price = 1.5

// train returns the model of a dictionary, and prints how good its guesses are.
func train(dictionary string, held int, price float64, out io.Writer) ([]byte, error) {
	all, err := read(dictionary)
	if err != nil {
		return nil, err
	}
	m := &letters.Model{}
	all = classify(m, all)
	learn, test := all, []*entry(nil)
	if held > 0 {
		learn = nil
		for i, e := range all {
			if i%held == 0 {
				test = append(test, e)
			} else {
				learn = append(learn, e)
			}
		}
	}
	grow(m, learn, price)
	fmt.Fprintf(out, "%d words, %d classes, %d nodes\n", len(all), len(m.Classes), len(m.Nodes))
	report(out, m, "learnt", learn)
	report(out, m, "held out", test)
	list(m, learn)
	file, err := letters.Encode(m)
	fmt.Fprintf(out, "%d words in the list, %d bytes\n", m.Words.Len(), len(file))
	return file, err
}

// read returns the words of the dictionary with their first pronunciation.
func read(path string) ([]*entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []*entry
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		var c letters.Context
		if len(fields) < 2 || len(fields[0]) < 2 || len(fields[0]) > 30 || !c.Read(fields[0]) {
			continue
		}
		e := &entry{word: fields[0]}
		for _, name := range fields[1:] {
			p, ok := letters.Parse(name)
			if !ok {
				return nil, fmt.Errorf("%s: no phone %s", path, name)
			}
			e.phones = append(e.phones, p)
		}
		all = append(all, e)
	}
	return all, lines.Err()
}

// classify aligns letters and phones, and returns the words whose letters have frequent sounds.
func classify(m *letters.Model, all []*entry) []*entry {
	a := newAligner()
	for range 8 {
		for _, e := range all {
			a.observe(codes(e.word), e.phones)
		}
		a.update()
	}
	counts := map[string]int{}
	parts := map[*entry][]string{}
	for _, e := range all {
		at := 0
		for _, n := range a.best(codes(e.word), e.phones) {
			part := key(e.phones[at : at+n])
			parts[e] = append(parts[e], part)
			counts[part]++
			at += n
		}
	}
	names := make([]string, 0, len(counts))
	for part := range counts {
		names = append(names, part)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	classes := map[string]byte{}
	for i, part := range names[:min(len(names), letters.Values-1)] {
		classes[part] = byte(i)
		m.Classes = append(m.Classes, unkey(part))
	}
	kept := all[:0]
words:
	for _, e := range all {
		for _, part := range parts[e] {
			class, ok := classes[part]
			if !ok {
				continue words
			}
			e.classes = append(e.classes, class)
		}
		if len(e.classes) == len(e.word) {
			kept = append(kept, e)
		}
	}
	return kept
}

func codes(word string) []byte {
	list := make([]byte, len(word))
	for i := range list {
		list[i] = letters.Code(word[i])
	}
	return list
}

func key(phones []letters.Phone) string {
	b := make([]byte, len(phones))
	for i, p := range phones {
		b[i] = byte(p)
	}
	return string(b)
}

func unkey(s string) []letters.Phone {
	list := make([]letters.Phone, len(s))
	for i := range list {
		list[i] = letters.Phone(s[i])
	}
	return list
}

// grow grows the trees.
func grow(m *letters.Model, all []*entry, price float64) {
	var examples [letters.Alphabet][]example
	var c letters.Context
	for _, e := range all {
		c.Read(e.word)
		for i, class := range e.classes {
			x := example{class: class}
			for f := range x.features {
				x.features[f] = c.Feature(byte(f))
			}
			code := letters.Code(e.word[i])
			examples[code] = append(examples[code], x)
			c.Choose(class, m.Classes[class])
		}
	}
	g := &grower{price: price}
	for code := 1; code < letters.Alphabet; code++ {
		m.Roots[code] = uint32(len(m.Nodes))
		first := len(m.Nodes)
		for _, n := range g.grow(examples[code]).flat(nil) {
			n.No += uint32(first)
			m.Nodes = append(m.Nodes, n)
		}
	}
}

// report prints how many words the trees guess.
func report(out io.Writer, m *letters.Model, name string, all []*entry) {
	if len(all) == 0 {
		return
	}
	m.Words = letters.Words{Starts: []uint32{0}, Firsts: []uint32{0}}
	right, sounds := 0, 0
	for _, e := range all {
		s := m.Guess(e.word, nil)
		if same(e.phones, s, true) {
			right++
		}
		if same(e.phones, s, false) {
			sounds++
		}
	}
	n := float64(len(all))
	fmt.Fprintf(out, "%s: %.1f %% of %.0f words right, %.1f %% but for stress\n",
		name, 100*float64(right)/n, n, 100*float64(sounds)/n)
}
