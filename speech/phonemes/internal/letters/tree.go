package letters

// Context is a word while its letters are read from left to right. A tree asks it for features.
type Context struct {
	word     []byte // codes of letters: 1 to 26, 27 is the apostrophe
	chosen   []byte // classes of the letters before
	groups   []byte // groups of vowel letters from each letter on
	stress   byte   // 0: no vowel yet, 1: unstressed ones, 2: primary, 3: secondary, no primary yet
	vowels   byte   // vowels so far
	last     byte   // 1 + last phone, 0 at the beginning
	previous byte   // 1 + last phone but one
}

// Alphabet is the number of codes of letters, and the code 0 for places outside the word.
const Alphabet = 28

// Code returns the code of a letter. It is 0 for a byte that no word has.
func Code(c byte) byte {
	switch {
	case 'a' <= c && c <= 'z':
		return c - 'a' + 1
	case c == '\'':
		return 27
	}
	return 0
}

// vowelLetter tells codes of a, e, i, o, u and y.
var vowelLetter = [Alphabet]bool{1: true, 5: true, 9: true, 15: true, 21: true, 25: true}

// Read begins to read a word. It returns false if the word has another byte than a to z and the
// apostrophe.
func (c *Context) Read(word string) bool {
	c.word, c.chosen, c.groups = c.word[:0], c.chosen[:0], c.groups[:0]
	c.stress, c.vowels, c.last, c.previous = 0, 0, 0, 0
	for i := range len(word) {
		code := Code(word[i])
		if code == 0 {
			return false
		}
		c.word = append(c.word, code)
	}
	c.groups = append(c.groups, make([]byte, len(word)+1)...)
	for i := len(word) - 1; i >= 0; i-- {
		c.groups[i] = c.groups[i+1]
		if c.vowel(i) && !c.vowel(i+1) && c.groups[i] < 4 {
			c.groups[i]++
		}
	}
	return len(word) > 0
}

// Letter returns the code of the letter that is to be read next.
func (c *Context) Letter() byte { return c.letter(len(c.chosen)) }

func (c *Context) letter(i int) byte {
	if i < 0 || i >= len(c.word) {
		return 0
	}
	return c.word[i]
}

func (c *Context) vowel(i int) bool { return vowelLetter[c.letter(i)] }

// Choose goes on to the next letter. The current letter has the class, whose phones are given.
func (c *Context) Choose(class byte, phones []Phone) {
	c.chosen = append(c.chosen, class)
	for _, p := range phones {
		c.previous, c.last = c.last, byte(p)+1
		if !p.Vowel() {
			continue
		}
		c.vowels = min(c.vowels+1, 4)
		switch {
		case p.Stress() == Primary:
			c.stress = 2
		case c.stress == 2:
		case p.Stress() == Secondary:
			c.stress = 3
		case c.stress == 0:
			c.stress = 1
		}
	}
}

// Features is how many features a context has.
const Features = 26

// Values bounds the values of features: 1 + the largest class or phone.
const Values = 256

// Feature returns a feature of the letter that is to be read next.
func (c *Context) Feature(f byte) byte {
	at := len(c.chosen)
	switch {
	case f < 4:
		return c.letter(at - 1 - int(f))
	case f < 9:
		return c.letter(at + int(f) - 3)
	case f < 14:
		return c.letter(len(c.word) - 1 - int(f-9))
	case f == 14:
		return c.stress
	case f == 15:
		return c.vowels
	case f == 16:
		return c.groups[at]
	case f == 17:
		return c.last
	case f == 18:
		return c.previous
	case f == 19:
		return class(c.chosen, at-1)
	case f == 20:
		return class(c.chosen, at-2)
	case f == 21:
		return bit(c.vowel(at - 1))
	case f == 22:
		return bit(c.vowel(at + 1))
	case f == 23:
		return bit(c.vowel(at + 2))
	case f == 24:
		return bit(c.vowel(at + 3))
	}
	return byte(min(len(c.word)-at, 8))
}

func class(chosen []byte, i int) byte {
	if i < 0 {
		return 0
	}
	return chosen[i]
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Node is a node of a tree. If the feature has the value, the next node decides, else node No. A
// leaf has the feature Leaf, and its value is the class.
type Node struct {
	Feature, Value byte
	No             uint32
}

// Leaf marks a leaf.
const Leaf = 255

// decide returns the class of the letter that is to be read next, by the tree that begins at a
// node.
func (c *Context) decide(nodes []Node, at uint32) byte {
	for {
		n := nodes[at]
		switch {
		case n.Feature == Leaf:
			return n.Value
		case c.Feature(n.Feature) == n.Value:
			at++
		default:
			at = n.No
		}
	}
}
