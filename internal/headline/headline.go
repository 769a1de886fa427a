// Package headline fits what is wrong into one line.
package headline

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Most is the length of the longest headline, in characters.
const Most = 120

// shortest is to how many characters a name is cut at most: with less of it, nobody recognizes it.
const shortest = 24

// Fit cuts the longest names of a headline in the middle until it is no longer than [Most]. Where words alone are too many, it
// ends in "…".
func Fit(s string) string {
	words := strings.Fields(s)
	for {
		over := utf8.RuneCountInString(strings.Join(words, " ")) - Most
		if over <= 0 {
			return strings.Join(words, " ")
		}
		longest := 0
		for i, w := range words {
			if utf8.RuneCountInString(w) > utf8.RuneCountInString(words[longest]) {
				longest = i
			}
		}
		n := utf8.RuneCountInString(words[longest])
		if n <= shortest {
			return string([]rune(strings.Join(words, " "))[:Most-1]) + "…"
		}
		second := 0 // cut only as far as the next longest name, so that all stay recognizable
		for i, w := range words {
			if i != longest {
				second = max(second, utf8.RuneCountInString(w))
			}
		}
		words[longest] = Middle(words[longest], max(n-over, min(second, n-1), shortest))
	}
}

// Middle cuts s in the middle to at most so many characters. A path keeps more of its end, which names it.
func Middle(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	room := max(most, 3) - 1
	front := room / 2
	if strings.HasPrefix(s, "/") {
		front = room * 2 / 5
	}
	return string(slices.Concat(runes[:front], []rune("…"), runes[len(runes)-(room-front):]))
}
