package spoken

import "strings"

var ones = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen " +
	"fifteen sixteen seventeen eighteen nineteen")
var tens = strings.Fields("- ten twenty thirty forty fifty sixty seventy eighty ninety")
var scales = []string{"", " thousand", " million", " billion", " trillion", " quadrillion"}

// small returns the words of a number below 1000. Zero has none.
func small(n int) string {
	var words []string
	if n >= 100 {
		words = append(words, ones[n/100], "hundred")
		n %= 100
	}
	if n >= 20 {
		words = append(words, tens[n/10])
		n %= 10
	}
	if n > 0 {
		words = append(words, ones[n])
	}
	return strings.Join(words, " ")
}

// value returns the number that at most nine digits are.
func value(digits string) int {
	n := 0
	for i := range min(len(digits), 9) {
		n = 10*n + int(digits[i]-'0')
	}
	return n
}

// Cardinal returns the words of a whole number. One of too many digits, or with zeros before it, is
// said digit by digit.
func Cardinal(digits string) string {
	if len(digits) > 18 || len(digits) > 1 && digits[0] == '0' {
		return each(digits)
	}
	var words []string
	for from := 0; from < len(digits); {
		to := from + (len(digits)-from-1)%3 + 1
		if s := small(value(digits[from:to])); s != "" {
			words = append(words, s+scales[(len(digits)-to)/3])
		}
		from = to
	}
	if len(words) == 0 {
		return "zero"
	}
	return strings.Join(words, " ")
}

// each returns the names of digits.
func each(digits string) string {
	words := make([]string, len(digits))
	for i := range words {
		words[i] = ones[digits[i]-'0']
	}
	return strings.Join(words, " ")
}

// uneven are ordinals of their own.
var uneven = map[string]string{
	"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
	"twelve": "twelfth",
}

// Ordinal returns the ordinal of a number.
func Ordinal(digits string) string {
	digits = strings.TrimLeft(digits, "0")
	words := Cardinal(digits)
	at := strings.LastIndexByte(words, ' ') + 1
	last := words[at:]
	switch o, ok := uneven[last]; {
	case ok:
		return words[:at] + o
	case strings.HasSuffix(last, "y"):
		return words[:len(words)-1] + "ieth"
	}
	return words + "th"
}

// Year returns the words of a year of four digits.
func Year(digits string) string {
	n := value(digits)
	century, rest := n/100, n%100
	switch {
	case len(digits) != 4 || n < 1100 || n >= 2000 && n < 2010:
		return Cardinal(digits)
	case rest == 0:
		return small(century) + " hundred"
	case rest < 10:
		return small(century) + " oh " + small(rest)
	}
	return small(century) + " " + small(rest)
}

// decades returns the words of the years of a decade or a century.
func decades(digits string) string {
	var words string
	if len(digits) == 4 {
		words = Year(digits)
	} else {
		words = Cardinal(digits)
	}
	if strings.HasSuffix(words, "y") {
		return words[:len(words)-1] + "ies"
	}
	return words + "s"
}

// idioms look like fractions and are said as two numbers.
var idioms = wordSet("24/7 9/11")

// fraction returns the words of a numerator and a denominator.
func fraction(above, below string) string {
	words := Cardinal(above)
	one := words == "one"
	switch {
	case above == below, value(above)+value(below) == 100, idioms[above+"/"+below]:
		return words + " " + Cardinal(below) // fifty fifty
	case value(above) > value(below) && len(below) > 1:
		return words + " over " + Cardinal(below)
	case below == "2" && one:
		return "one half"
	case below == "2":
		return words + " halves"
	case below == "4" && one:
		return "one quarter"
	case below == "4":
		return words + " quarters"
	case value(below) > 100 || value(below) < 2 || len(below) > 3:
		return words + " over " + Cardinal(below)
	case one:
		return words + " " + Ordinal(below)
	}
	return words + " " + Ordinal(below) + "s"
}

var romans = map[byte]int{'I': 1, 'V': 5, 'X': 10, 'L': 50, 'C': 100}

// roman returns the value of a Roman numeral below 100 as it is written by the rules, or 0.
func roman(s string) int {
	n := 0
	for i := range len(s) {
		v := romans[s[i]]
		if v == 0 {
			return 0
		}
		if i+1 < len(s) && v < romans[s[i+1]] {
			v = -v
		}
		n += v
	}
	if n < 1 || n >= 100 || writeRoman(n) != s {
		return 0
	}
	return n
}

func writeRoman(n int) string {
	units := strings.Split(",I,II,III,IV,V,VI,VII,VIII,IX", ",")
	tens := strings.Split(",X,XX,XXX,XL,L,LX,LXX,LXXX,XC", ",")
	return tens[n/10] + units[n%10]
}
