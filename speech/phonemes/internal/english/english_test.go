package english

import (
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/speech/phonemes/internal/spoken"
)

func TestPhonemes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"Hello, world!", "həlˈoʊ, wˈɜːld!"},
		// Function words by their place.
		{"the cat and the apple", "ðə kˈæt ænd ðɪ ˈæpəl"},
		{"to go, to eat, go to.", "tə ɡˈoʊ, tʊ ˈiːt, ɡˌoʊ tuː."},
		{"a man, an idea, I am", "ɐ mˈæn, ɐn aɪdˈiə, aɪɐm"},
		{"of the house, in a box, with us", "ʌvðə hˈaʊs, ɪn ɐ bˈɑːks, wɪð ˌʌs"},
		{"It could have been better.", "ɪt kˌʊdɐv bˌɪn bˈɛɾɚ."},
		{"her apple over all", "hɜːɹ ˈæpəl ˌoʊvɚɹ ˈɔːl"},
		// Weak vowels, flaps, r.
		{"about banana wanted roses", "ɐbˌaʊt bɐnˈænə wˈɔntᵻd ɹˈoʊzᵻz"},
		{"water city button certain little", "wˈɔːɾɚ sˈɪɾi bˈʌʔn̩ sˈɜːʔn̩ lˈɪɾəl"},
		{"story north door war hurry bird", "stˈoːɹi nˈɔːɹθ dˈoːɹ wˈɔːɹ hˈɜːɹi bˈɜːd"},
		{"believe decide example possible nation", "bᵻlˈiːv dᵻsˈaɪd ɛɡzˈæmpəl pˈɑːsᵻbəl nˈeɪʃən"},
		{"music computer regular human", "mjˈuːzɪk kəmpjˈuːɾɚ ɹˈɛɡjʊlɚ hjˈuːmən"},
		// Contractions and possessives.
		{"don't, we'll, they've, dog's, Jones's, James'", "dˈoʊnt, wiːəl, ðeɪəv, dˈɑːɡz, dʒˈoʊnzᵻz, dʒˈeɪmz"},
		// Heteronyms.
		{"I read it. She has read it.", "aɪ ɹˈiːd ɪt. ʃiː hɐz ɹˈɛd ɪt."},
		{"we live here near live music", "wiː lˈɪv hˈɪɹ nˌɪɹ lˈaɪv mjˈuːzɪk"},
		{"to record a record", "tə ɹᵻkˈoːɹd ɐ ɹˈɛkɚd"},
		{"to use the use", "tə jˈuːz ðə jˈuːs"},
		{"close to close", "klˈoʊs tə klˈoʊz"},
		// Letters.
		{"the FBI and CDs", "ðɪ ˌɛfbˌiːˈaɪ ænd sˌiːdˈiːz"},
		{"a 你 b", "ɐ 你 bˈiː"},
		// Words that no dictionary has.
		{"blorfing zzz", "blˈɔːɹfɪŋ zˌiːzˌiːzˈiː"},
	} {
		if got := Phonemes(spoken.Tokens(c.text)); got != c.want {
			t.Errorf("%q\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// TestTables checks that the words of the tables are what a text can have, and their symbols what
// voices know.
func TestTables(t *testing.T) {
	check := func(word, symbols string) {
		for _, w := range strings.Split(word, "_") {
			if list := spoken.Tokens(w); len(list) != 1 || list[0].Text != w {
				t.Errorf("%q is read as %v", w, list)
			}
		}
		for _, r := range symbols {
			if !strings.ContainsRune("abdefhijklmnopstuvwzæðŋɐɑɔəɚɛɜɡɪɹɾʃʊʌʒʔθᵻːˈˌ\u0329", r) {
				t.Errorf("%s: no voice knows %q", word, r)
			}
		}
		if symbols == "" {
			t.Errorf("%s has no symbols", word)
		}
	}
	for word, f := range function() {
		check(word, f.within)
		check(word, f.end)
		check(word, f.vowel)
	}
	for word, s := range irregular() {
		check(word, s)
		if _, ok := function()[word]; ok {
			t.Errorf("%s is in two tables", word)
		}
	}
	for word, p := range heteronyms() {
		check(word, p.first)
		check(word, p.second)
		if classes[p.class] == "" {
			t.Errorf("%s: no class %s", word, p.class)
		}
	}
}
