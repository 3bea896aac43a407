package openinfer

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// cutProduct splits an extent that is a product.
func cutProduct(text string) (a, b string, ok bool) {
	a, b, ok = strings.Cut(text, "*")
	return strings.TrimSpace(a), strings.TrimSpace(b), ok
}

// isName reports whether a text is a name of the language.
func isName(s string) bool {
	for i := range len(s) {
		if !letter(s[i]) && (i == 0 || !digit(s[i])) {
			return false
		}
	}
	return s != ""
}

// cutAccess splits an input of an operator into a variable and indices.
func cutAccess(input string) (base string, indices []string, ok bool) {
	base, rest, ok := strings.Cut(input, "[")
	if !ok {
		return input, nil, false
	}
	for _, s := range strings.Split(strings.TrimSuffix(rest, "]"), ",") {
		indices = append(indices, strings.TrimSpace(s))
	}
	return base, indices, true
}

// placeholders returns the names in braces in a pattern.
func placeholders(pattern string) (list []string) {
	for {
		_, rest, ok := strings.Cut(pattern, "{")
		if !ok {
			return list
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return append(list, rest)
		}
		list, pattern = append(list, name), after
	}
}

// filled returns the name of a tensor: the pattern with numbers in place of indices.
func filled(pattern string, indices []string, at []int64) string {
	for i, name := range indices {
		pattern = strings.ReplaceAll(pattern, "{"+name+"}", strconv.FormatInt(at[i], 10))
	}
	return pattern
}
