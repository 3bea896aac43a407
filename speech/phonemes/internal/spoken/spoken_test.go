package spoken

import (
	"strings"
	"testing"
)

// render writes tokens: names of letters in capital letters, marks behind words.
func render(tokens []Token) string {
	var b strings.Builder
	for _, t := range tokens {
		if t.Kind != Mark && b.Len() > 0 {
			b.WriteByte(' ')
		}
		switch {
		case t.Kind == Letters:
			s, ends := strings.CutSuffix(t.Text, "'s")
			b.WriteString(strings.ToUpper(s))
			if ends {
				b.WriteString("'s")
			}
		case t.Kind == Other:
			b.WriteString("<" + t.Text + ">")
		default:
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func TestTokens(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"Hello, world!", "hello, world!"},
		{"... ,, Well?! Yes.", "well? yes."},
		{"(One) two -- three — four", "one, two, three, four"},
		{"He said \"stop\" ... and left...", "he said stop, and left."},
		{"One\n\nTwo", "one. two"},
		{"don’t can't dogs' it's rock'n'roll", "don't can't dogs it's rock'n'roll"},
		{"well-known mother-in-law", "well known mother in law"},
		{"naïve café Dvořák Straße", "naive cafe dvorak strasse"},
		// Numbers.
		{"0 7 13 20 21 100 101 1000 12345",
			"zero seven thirteen twenty twenty one one hundred " +
				"one hundred one one thousand twelve thousand three hundred forty five"},
		{"1,234,567", "one million two hundred thirty four thousand five hundred sixty seven"},
		{"3.14 0.5 .5 -2 −3.5", "three point one four zero point five point five minus two minus three point five"},
		{"007", "zero zero seven"},
		{"1st 2nd 3rd 12th 21st 40th 100th", "first second third twelfth twenty first fortieth one hundredth"},
		{"1/2 3/4 2/3 1/8 2 1/2 3½ 22/7",
			"one half three quarters two thirds one eighth two and a half three and a half twenty two sevenths"},
		{"9/11, 24/7, 50/50, 31/16", "nine eleven, twenty four seven, fifty fifty, thirty one over sixteen"},
		{"dial 911", "dial nine one one"},
		{"5% 2.5%", "five percent two point five percent"},
		{"10-15 people, pages 3–5", "ten to fifteen people, pages three to five"},
		{"555-123-4567", "five five five, one two three, four five six seven"},
		{"version 1.2.3", "version one point two point three"},
		{"3 x 4 = 12, 1 + 1", "three by four equals twelve, one plus one"},
		{"3 × 4, (555) 123-4567, 5'11\"",
			"three times four, five five five, one two three, four five six seven, five foot eleven"},
		{"#1 and #tag", "number one and hashtag tag"},
		{"a 3-1 win, 3:1", "a three to one win, three to one"},
		// Years and dates.
		{"in 1984, 1900, 1905, 2000, 2009, 2024",
			"in nineteen eighty four, nineteen hundred, nineteen oh five, " +
				"two thousand, two thousand nine, twenty twenty four"},
		{"the 1980s, the '90s and the 1800s", "the nineteen eighties, the nineties and the eighteen hundreds"},
		{"1914-18", "nineteen fourteen to eighteen"},
		{"2024-03-05", "march fifth, twenty twenty four"},
		{"12/25/2023", "december twenty fifth, twenty twenty three"},
		{"March 3, 2024", "march third, twenty twenty four"},
		{"Mar. 3rd. Sept. was wet.", "march third. september was wet."},
		{"5 May 1999", "the fifth of may nineteen ninety nine"},
		{"May 3-5", "may third to fifth"},
		{"You may go.", "you may go."},
		// Times.
		{"10:30 10:05 7:00 7:00 p.m. 18:00", "ten thirty ten oh five seven o'clock seven PM eighteen hundred"},
		{"at 5 a.m. we left at 6pm.", "at five AM we left at six PM."},
		{"12:30:15", "twelve thirty and fifteen seconds"},
		// Money.
		{"$5 $1 $5.50 $0.99 $1.01",
			"five dollars one dollar five dollars and fifty cents ninety nine cents one dollar and one cent"},
		{"$3.5 million, £20, €7.20, 5€, ¥100",
			"three point five million dollars, twenty pounds, seven euros and twenty cents, " +
				"five euros, one hundred yen"},
		{"$5-10, $20K, -$3", "five to ten dollars, twenty thousand dollars, minus three dollars"},
		// Units.
		{"5 km, 1 km, 3.5kg, 60 mph, 8 GB",
			"five kilometers, one kilometer, three point five kilograms, sixty miles per hour, eight gigabytes"},
		{"20 °C, 68°F, 45°, 90 km/h, 12 m²",
			"twenty degrees celsius, sixty eight degrees fahrenheit, forty five degrees, " +
				"ninety kilometers per hour, twelve square meters"},
		{"a 5-km run in 2 in the morning", "a five kilometer run in two in the morning"},
		{"1905 m", "one thousand nine hundred five meters"},
		// Abbreviations.
		{"Dr. Smith lives on Oak Dr. now.", "doctor smith lives on oak drive now."},
		{"St. Paul on Main St. in town", "saint paul on main street in town"},
		{"Mr. and Mrs. Lee vs. Prof. Ray", "mister and missus lee versus professor ray"},
		{"e.g. this, i.e. that, etc.", "for example this, that is that, et cetera."},
		{"No. 5 is no. 1. No.", "number five is number one. no."},
		{"J. K. Rowling, the U.S.A. and Ph.D. work", "J K rowling, the USA and PHD work"},
		{"Fig. 3 and fig trees", "figure three and fig trees"},
		// Roman numerals.
		{"Henry VIII, Louis XIV's wife, World War II, Chapter IV",
			"henry the eighth, louis the fourteenth's wife, world war two, chapter four"},
		{"Elizabeth I was queen. I am.", "elizabeth the first was queen. i am."},
		{"MIX DVD CIVIL", "mix DVD civil"},
		// Acronyms.
		{"NASA and the FBI's CDs, TVs, a PDF", "nasa and the FBI's CD's, TV's, a PDF"},
		{"Press Ctrl+C. The end.", "press control plus C. the end."},
		{"Hmm. Shh!", "hum. shush!"},
		{"STOP THE CAR NOW", "stop the car now"},
		{"the CEO, CFO and CTO", "the CEO, CFO and CTO"},
		{"/etc/hosts, H2O", "etc slash hosts, H two O"},
		{"SQLite and an HTMLElement", "SQ lite and an HTML element"},
		{"vitamin C, plan B, x", "vitamin C, plan B, X"},
		// Addresses.
		{"See https://www.example.com/page?x=1.", "see WWW dot example dot com slash page question mark X equals one."},
		{"joe.smith@example.org", "joe dot smith at example dot org"},
		{"main.go and/or a@b", "main dot go and slash or a at B"},
		// Symbols.
		{"Tom & Jerry @ home + 2 = x", "tom and jerry at home plus two equals X"},
		{"你 😀 ok", "<你> <😀> okay"},
		{"a\x00b\xffc", "a B C"},
	} {
		if got := render(Tokens(c.text)); got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}

func TestRoman(t *testing.T) {
	for n := 1; n < 100; n++ {
		if got := roman(writeRoman(n)); got != n {
			t.Errorf("%s is %d", writeRoman(n), got)
		}
	}
	for _, s := range []string{"", "IIII", "VX", "IC", "ABC", "IIX"} {
		if got := roman(s); got != 0 {
			t.Errorf("%q is %d", s, got)
		}
	}
}

func TestCardinal(t *testing.T) {
	for _, c := range [][2]string{
		{"1000000", "one million"},
		{"1000001", "one million one"},
		{"900000000000000000", "nine hundred quadrillion"},
		{"1000000000000000000000", "one" + strings.Repeat(" zero", 21)},
	} {
		if got := Cardinal(c[0]); got != c[1] {
			t.Errorf("%s: %s", c[0], got)
		}
	}
}
