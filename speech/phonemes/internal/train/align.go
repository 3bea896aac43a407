package main

import "github.com/nacre-ml/nacre/speech/phonemes/internal/letters"

// chunk is the sounds of one letter, without stress: 0 is none, 1 + p is one phone, and a number
// from pairs on is two.
type chunk int

const (
	bases = letters.Phones
	pairs = 1 + bases
	many  = pairs + bases*bases
)

func base(p letters.Phone) chunk {
	if p.Vowel() {
		p = p.With(letters.Unstressed)
	}
	return chunk(p)
}

// paired tells the pairs of phones that a letter may stand for: the u of music, the o of one, an x,
// a z, the l, m or r that is a syllable, and the c of Mc.
var paired = func() map[chunk]bool {
	m := map[chunk]bool{}
	add := func(first, second []letters.Phone) {
		for _, p := range first {
			for _, q := range second {
				m[pairs+bases*base(p)+base(q)] = true
			}
		}
	}
	var vowels []letters.Phone
	for p := range letters.Phone(letters.Phones) {
		if p.Vowel() && p.Stress() == letters.Unstressed {
			vowels = append(vowels, p)
		}
	}
	add(letters.Must("Y W"), vowels)
	add(letters.Must("AH0 IH0"), letters.Must("L M N R K"))
	add(letters.Must("K"), letters.Must("S SH"))
	add(letters.Must("G"), letters.Must("Z ZH"))
	add(letters.Must("T"), letters.Must("S"))
	add(letters.Must("L N"), letters.Must("Y"))
	return m
}()

// aligner finds which sounds each letter of a word stands for, by expectation and maximisation.
type aligner struct {
	chance [][]float64 // of a chunk, by letter
	counts [][]float64
}

func newAligner() *aligner {
	a := &aligner{}
	for range letters.Alphabet {
		row := make([]float64, many)
		for c := range row {
			switch {
			case c == 0:
				row[c] = 0.2
			case c < pairs:
				row[c] = 0.5 / bases
			case paired[chunk(c)]:
				row[c] = 0.0005
			}
		}
		a.chance, a.counts = append(a.chance, row), append(a.counts, make([]float64, many))
	}
	return a
}

// at returns the chunk of n phones from a place on.
func at(phones []letters.Phone, from, n int) chunk {
	switch n {
	case 0:
		return 0
	case 1:
		return 1 + base(phones[from])
	}
	return pairs + bases*base(phones[from]) + base(phones[from+1])
}

// observe adds the expected counts of a word. Its letters are codes.
func (a *aligner) observe(word []byte, phones []letters.Phone) {
	n, m := len(word), len(phones)
	width := m + 1
	forward, backward := make([]float64, (n+1)*width), make([]float64, (n+1)*width)
	forward[0], backward[n*width+m] = 1, 1
	for i := range n {
		for j := range width {
			for k := 0; k <= 2 && j+k <= m; k++ {
				forward[(i+1)*width+j+k] += forward[i*width+j] * a.chance[word[i]][at(phones, j, k)]
			}
		}
	}
	total := forward[n*width+m]
	if total == 0 {
		return
	}
	for i := n - 1; i >= 0; i-- {
		for j := range width {
			for k := 0; k <= 2 && j+k <= m; k++ {
				c := at(phones, j, k)
				p := a.chance[word[i]][c] * backward[(i+1)*width+j+k]
				backward[i*width+j] += p
				a.counts[word[i]][c] += forward[i*width+j] * p / total
			}
		}
	}
}

// update makes chances of the counts.
func (a *aligner) update() {
	for l, row := range a.counts {
		sum := 0.0
		for _, v := range row {
			sum += v
		}
		for c := range row {
			if sum > 0 {
				a.chance[l][c] = row[c] / sum
			}
			row[c] = 0
		}
	}
}

// best returns how many phones each letter stands for in the most likely alignment.
func (a *aligner) best(word []byte, phones []letters.Phone) []int {
	n, m := len(word), len(phones)
	width := m + 1
	score, from := make([]float64, (n+1)*width), make([]int, (n+1)*width)
	score[0] = 1
	for i := range n {
		for j := range width {
			for k := 0; k <= 2 && j+k <= m; k++ {
				s := score[i*width+j] * a.chance[word[i]][at(phones, j, k)]
				if to := (i+1)*width + j + k; s > score[to] {
					score[to], from[to] = s, k
				}
			}
		}
	}
	if score[n*width+m] == 0 {
		return nil
	}
	list := make([]int, n)
	for i, j := n, m; i > 0; i-- {
		list[i-1] = from[i*width+j]
		j -= list[i-1]
	}
	return list
}
