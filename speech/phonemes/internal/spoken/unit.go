package spoken

import "strings"

// units are the names of units by their signs: the singular, then the plural.
var units = map[string][2]string{
	"km": {"kilometer", "kilometers"}, "m": {"meter", "meters"}, "cm": {"centimeter", "centimeters"},
	"mm": {"millimeter", "millimeters"}, "nm": {"nanometer", "nanometers"}, "mi": {"mile", "miles"},
	"ft": {"foot", "feet"},
	"in": {"inch", "inches"}, "yd": {"yard", "yards"}, "kg": {"kilogram", "kilograms"}, "g": {"gram", "grams"},
	"mg": {"milligram", "milligrams"}, "lb": {"pound", "pounds"}, "lbs": {"pounds", "pounds"},
	"oz": {"ounce", "ounces"},
	"l":  {"liter", "liters"}, "L": {"liter", "liters"}, "ml": {"milliliter", "milliliters"},
	"mL": {"milliliter", "milliliters"}, "gal": {"gallon", "gallons"}, "mph": {"mile per hour", "miles per hour"},
	"kph": {"kilometer per hour", "kilometers per hour"}, "Hz": {"hertz", "hertz"}, "kHz": {"kilohertz", "kilohertz"},
	"MHz": {"megahertz", "megahertz"}, "GHz": {"gigahertz", "gigahertz"}, "KB": {"kilobyte", "kilobytes"},
	"kB": {"kilobyte", "kilobytes"}, "MB": {"megabyte", "megabytes"}, "GB": {"gigabyte", "gigabytes"},
	"TB": {"terabyte", "terabytes"}, "KiB": {"kibibyte", "kibibytes"}, "MiB": {"mebibyte", "mebibytes"},
	"GiB": {"gibibyte", "gibibytes"}, "Mbps": {"megabit per second", "megabits per second"},
	"Gbps": {"gigabit per second", "gigabits per second"}, "W": {"watt", "watts"}, "kW": {"kilowatt", "kilowatts"},
	"MW": {"megawatt", "megawatts"}, "kWh": {"kilowatt hour", "kilowatt hours"}, "V": {"volt", "volts"},
	"mA": {"milliampere", "milliamperes"}, "mAh": {"milliampere hour", "milliampere hours"},
	"ms": {"millisecond", "milliseconds"}, "s": {"second", "seconds"}, "sec": {"second", "seconds"},
	"min": {"minute", "minutes"}, "h": {"hour", "hours"}, "hr": {"hour", "hours"}, "hrs": {"hours", "hours"},
	"kcal": {"kilocalorie", "kilocalories"}, "dB": {"decibel", "decibels"}, "Pa": {"pascal", "pascals"},
	"kPa": {"kilopascal", "kilopascals"}, "N": {"newton", "newtons"}, "J": {"joule", "joules"},
	"kJ": {"kilojoule", "kilojoules"}, "ha": {"hectare", "hectares"}, "px": {"pixel", "pixels"},
	"psi": {"p s i", "p s i"}, "rpm": {"r p m", "r p m"}, "fps": {"frame per second", "frames per second"},
	"bn": {"billion", "billion"},
}

// common are units that are words of their own, too. Only right behind the digits, or in the
// singular, they are units.
var common = wordSet("in m s h l g ms V W N J L ha")

// spaced are common units that also stand apart from their number.
var spaced = wordSet("m g L V W")

// over are units that stand after a slash.
var over = map[string]string{"h": "hour", "s": "second", "hr": "hour", "min": "minute", "day": "day", "kg": "kilogram",
	"l": "liter", "L": "liter", "sec": "second", "m": "meter", "km": "kilometer",
	"week": "week", "month": "month", "year": "year",
}

// unit reads a unit after a number.
func (r *reader) unit(x numeral) bool {
	if l := r.look(x.size); l.kind == '°' || l.kind == '℃' || l.kind == '℉' {
		return r.degrees(x)
	}
	n := x.size
	if r.joined(n, '-') && r.joined(n+1, letter) { // a 5-km run
		n++
	}
	l := r.look(n)
	if l.kind != letter {
		return false
	}
	names, ok := units[l.text]
	if !ok || common[l.text] && l.gap && !spaced[l.text] {
		return false
	}
	name := names[1]
	if x.one() || n > x.size {
		name = names[0]
	}
	r.at += n + 1
	power := ""
	switch r.look(0).kind {
	case '²':
		power = "square "
	case '³':
		power = "cubic "
	}
	if power != "" {
		r.at++
	}
	r.sayUnit(x.cardinal(), power+name)
	if r.joined(0, '/') && r.joined(1, letter) {
		if per, ok := over[r.look(1).text]; ok {
			r.say("per " + per)
			r.at += 2
		}
	}
	if r.joined(0, '.') && !r.last(0) && !r.look(1).capital() { // 5 ft. long
		r.at++
	}
	return true
}

// sayUnit says a number and its unit, of which single letters are spelt.
func (r *reader) sayUnit(number, unit string) {
	r.say(number)
	if letters := strings.ReplaceAll(unit, " ", ""); len(unit) == 2*len(letters)-1 {
		r.spell(letters)
		return
	}
	r.say(unit)
}

// degrees reads a temperature or an angle.
func (r *reader) degrees(x numeral) bool {
	words := " degrees"
	if x.one() {
		words = " degree"
	}
	scale := ""
	sign := r.look(x.size).kind
	r.at += x.size + 1
	if l := r.look(0); sign == '°' && l.kind == letter && !l.gap {
		switch l.text {
		case "C":
			scale = " celsius"
		case "F":
			scale = " fahrenheit"
		}
		if scale != "" {
			r.at++
		}
	}
	switch sign {
	case '℃':
		scale = " celsius"
	case '℉':
		scale = " fahrenheit"
	}
	r.say(x.cardinal() + words + scale)
	return true
}
