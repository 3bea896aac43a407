package tokenizer

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The decoders, one type for each kind of a file.
type (
	decodeBytes     struct{ strict bool } // text that is not UTF-8 becomes empty
	decodeMetaspace struct {
		mark string
		keep bool // blanks before the first token stay
	}
	decodeWordPiece struct {
		prefix  string
		cleanup bool
	}
	decodeSuffix   struct{ suffix string }
	decodeFallback struct{}
	decodeFuse     struct{}
	decodeEach     struct{ normalizer }
	decodeStrip    struct {
		content     rune
		start, stop int
	}
	decodeCTC struct {
		pad, word string
		cleanup   bool
	}
)

func (decodeBytes) fuses() {}
func (decodeFuse) fuses()  {}

func (d decodeBytes) tokens(w *work, next stage) stage {
	return &byteText{work: w, next: next, strict: d.strict, eager: w.eager}
}

func (d decodeBytes) parts(w *work, next stage) stage {
	return gather(w, d.tokens(w, next), func(token string) string { return token })
}

// bytePortion is the number of bytes that become text at once.
const bytePortion = 1 << 12

// byteText is the stage that converts the bytes of tokens to text. Unless eager, it keeps a portion
// of bytes.
type byteText struct {
	work    *work
	next    stage
	strict  bool
	eager   bool
	bytes   []byte // of an unfinished character; if strict, of all tokens
	counted int    // bytes that the budget has
}

func (b *byteText) push(token string) {
	b.hold(len(token))
	b.bytes = fromByteCharacters(b.bytes, token)
	if b.strict || !b.eager && len(b.bytes) < bytePortion {
		return
	}
	n := whole(string(b.bytes))
	if n > 0 {
		b.next.push(lossy(b.bytes[:n]))
		b.bytes = b.bytes[:copy(b.bytes, b.bytes[n:])]
	}
}

func (b *byteText) hold(bytes int) {
	if need := len(b.bytes) + bytes; need > b.counted {
		more := need - b.counted + b.counted/2
		b.work.hold(more)
		b.counted += more
	}
}

func (b *byteText) end() {
	if !b.strict || utf8.Valid(b.bytes) {
		b.next.push(lossy(b.bytes))
	}
	b.bytes = b.bytes[:0]
	b.next.end()
}

func (d decodeMetaspace) blank(at int) string {
	if at == 0 && !d.keep {
		return ""
	}
	return " "
}

func (d decodeMetaspace) tokens(w *work, next stage) stage {
	return &each{work: w, next: next, by: func(at int, token string) string { return strings.ReplaceAll(token, d.mark, d.blank(at)) }}
}

func (d decodeMetaspace) parts(w *work, next stage) stage {
	return replace(w, next, d.mark, d.blank(0))
}

func (d decodeWordPiece) tokens(w *work, next stage) stage {
	return &each{work: w, next: next, by: func(at int, token string) string {
		if at > 0 {
			if rest, ok := strings.CutPrefix(token, d.prefix); ok {
				token = rest
			} else {
				token = " " + token
			}
		}
		if d.cleanup {
			token = cleanup(token)
		}
		return token
	}}
}

func (d decodeWordPiece) parts(w *work, next stage) stage {
	if d.cleanup {
		return cleanupParts(w, next)
	}
	return next
}

// cleanups remove the blanks that splitting put before English punctuation.
var cleanups = [][2]string{
	{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"},
	{" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
}

func cleanup(text string) string {
	for _, rule := range cleanups {
		text = strings.ReplaceAll(text, rule[0], rule[1])
	}
	return text
}

func cleanupParts(w *work, next stage) stage {
	for i := len(cleanups) - 1; i >= 0; i-- {
		next = replace(w, next, cleanups[i][0], cleanups[i][1])
	}
	return next
}

func (d decodeSuffix) tokens(w *work, next stage) stage {
	return &suffixed{work: w, next: next, suffix: d.suffix}
}

func (d decodeSuffix) parts(w *work, next stage) stage { return replace(w, next, d.suffix, "") }

// suffixed is the stage that turns suffixes into blanks. It keeps the last token, and removes
// suffixes of the last of all.
type suffixed struct {
	work   *work
	next   stage
	suffix string
	last   string
	any    bool
}

func (s *suffixed) push(token string) {
	s.give(" ")
	s.last, s.any = token, true
}

func (s *suffixed) give(blank string) {
	if s.any {
		token := replaceString{s.suffix, blank}.normalize(s.work, s.last)
		s.next.push(token)
		s.work.release(len(token))
	}
}

func (s *suffixed) end() {
	s.give("")
	s.any = false
	s.next.end()
}

func (decodeFallback) tokens(w *work, next stage) stage { return &byteRun{work: w, next: next} }

// byteRun is the stage that joins runs of byte tokens to characters. A run that is not UTF-8
// becomes a U+FFFD for each byte.
type byteRun struct {
	work    *work
	next    stage
	run     []byte
	counted int // bytes that the budget has
}

func (b *byteRun) push(token string) {
	if c, ok := byteToken(token); ok {
		if len(b.run) == b.counted {
			b.work.hold(8 + b.counted)
			b.counted += 8 + b.counted
		}
		b.run = append(b.run, c)
		return
	}
	b.give()
	b.next.push(token)
}

func (b *byteRun) give() {
	switch n := len(b.run); {
	case n == 0:
	case utf8.Valid(b.run):
		b.next.push(string(b.run))
	default:
		b.work.hold(3 * n)
		b.next.push(strings.Repeat("\uFFFD", n))
		b.work.release(3 * n)
	}
	b.run = b.run[:0]
}

func (b *byteRun) end() {
	b.give()
	b.next.end()
}

// byteTokenSize is the length of a token such as <0x0A>.
const byteTokenSize = 6

// byteToken returns the byte of a token such as <0x0A>.
func byteToken(token string) (byte, bool) {
	if len(token) != byteTokenSize || !strings.HasPrefix(token, "<0x") || token[5] != '>' {
		return 0, false
	}
	b, err := strconv.ParseUint(token[3:5], 16, 8)
	return byte(b), err == nil
}

func (decodeFallback) parts(w *work, next stage) stage {
	return &byteParts{work: w, next: next}
}

// byteParts is the stage that joins the parts of a token up to the size of a byte token.
type byteParts struct {
	work  *work
	next  stage
	begin string
	open  bool // more bytes than a byte token has have come
}

func (b *byteParts) push(text string) {
	if b.open {
		b.next.push(text)
		return
	}
	if b.begin += text; len(b.begin) > byteTokenSize {
		b.open = true
		b.next.push(b.begin)
	}
}

func (b *byteParts) end() {
	if b.open {
		b.next.end()
		return
	}
	run := byteRun{work: b.work, next: b.next}
	run.push(b.begin)
	run.end()
}

func (decodeFuse) tokens(_ *work, next stage) stage { return next }
func (decodeFuse) parts(_ *work, next stage) stage  { return next }

func (d decodeEach) tokens(w *work, next stage) stage {
	return &each{work: w, next: next, by: func(_ int, token string) string {
		token = d.normalize(w, token)
		w.release(len(token))
		return token
	}}
}

func (d decodeEach) parts(w *work, next stage) stage {
	if r, ok := d.normalizer.(replaceString); ok {
		return replace(w, next, r.from, r.to)
	}
	return gather(w, next, func(text string) string { return d.normalize(w, text) })
}

func (d decodeStrip) tokens(w *work, next stage) stage {
	content := string(d.content)
	return &each{work: w, next: next, by: func(_ int, token string) string {
		for n := 0; n < d.start && strings.HasPrefix(token, content); n++ {
			token = token[len(content):]
		}
		for n := 0; n < d.stop && strings.HasSuffix(token, content); n++ {
			token = token[:len(token)-len(content)]
		}
		return token
	}}
}

func (d decodeStrip) parts(_ *work, next stage) stage {
	return &stripped{next: next, content: string(d.content), start: d.start, stop: d.stop}
}

// stripped is the stage that removes a character from the ends of a token that comes in parts. It
// keeps a run of the character at the end.
type stripped struct {
	next        stage
	content     string
	start, stop int // characters that may still be removed at the beginning, and at the end
	run         int // number of content after the text already given, at most stop
}

func (s *stripped) push(text string) {
	for s.start > 0 && strings.HasPrefix(text, s.content) {
		text, s.start = text[len(s.content):], s.start-1
	}
	if text == "" {
		return
	}
	s.start = 0
	rest := text
	for strings.HasSuffix(rest, s.content) {
		rest = rest[:len(rest)-len(s.content)]
	}
	if rest != "" {
		s.give(s.run)
		s.next.push(rest)
		s.run = 0
	}
	s.run += (len(text) - len(rest)) / len(s.content)
	if s.run > s.stop {
		s.give(s.run - s.stop)
		s.run = s.stop
	}
}

// give gives n characters of the run.
func (s *stripped) give(n int) {
	if n > 0 {
		s.next.push(strings.Repeat(s.content, n))
	}
}

func (s *stripped) end() { s.next.end() }

// tokens joins equal tokens in a row, as texts read from sound need.
func (d decodeCTC) tokens(w *work, next stage) stage {
	return &joinedCTC{decodeCTC: d, work: w, next: next}
}

// joinedCTC is the stage of a decodeCTC.
type joinedCTC struct {
	decodeCTC
	work *work
	next stage
	last string
	any  bool
}

func (j *joinedCTC) push(token string) {
	j.work.steps(1 + len(token))
	same := j.any && token == j.last
	j.last, j.any = token, true
	if same {
		return
	}
	if j.pad != "" {
		token = strings.ReplaceAll(token, j.pad, "")
	}
	if j.cleanup {
		token = cleanup(token)
		if j.word != "" {
			token = strings.ReplaceAll(token, j.word, " ")
		}
	}
	if token != "" {
		j.next.push(token)
	}
}

func (j *joinedCTC) end() { j.next.end() }

func (d decodeCTC) parts(w *work, next stage) stage {
	if d.cleanup {
		next = cleanupParts(w, replace(w, next, d.word, " "))
	}
	return replace(w, next, d.pad, "")
}
