package kubelet

import (
	"iter"
	"strings"
)

// ParseFlags reads the flags of a command line as the kubelet does (github.com/spf13/pflag): "--name=value",
// "--name value", "-v4", with "_" for "-" in names. A flag given several times has its values joined by commas, one
// without value is "true". What is not a flag, such as the program itself, is passed over; nothing after "--" is read.
//
// pflag knows which flags are boolean and takes no value from the next word for those. This function does not know;
// it relies on the kubelet refusing every word that is neither a flag nor a value.
func ParseFlags(args []string) map[string]string {
	flags := map[string]string{}
	for name, value := range eachFlag(args) {
		if before, again := flags[name]; again {
			value = before + "," + value
		}
		flags[name] = value
	}
	return flags
}

// eachFlag yields the flags of a command line one by one.
func eachFlag(args []string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for i := 0; i < len(args) && args[i] != "--"; i++ {
			name, value, given := splitFlag(args[i])
			if name == "" {
				continue
			}
			if !given {
				value = "true"
				if i+1 < len(args) && isValue(args[i+1]) {
					i++
					value = args[i]
				}
			}
			if !yield(name, value) {
				return
			}
		}
	}
}

// splitFlag returns the normalised name of a flag, "" for other words, and the value that is in the same word.
func splitFlag(word string) (name, value string, given bool) {
	rest, ok := strings.CutPrefix(word, "-")
	if !ok || rest == "" || isNumber(word) {
		return "", "", false
	}
	rest, long := strings.CutPrefix(rest, "-")
	if !long && len(rest) > 1 && rest[0] == 'v' && isNumber(rest[1:]) {
		return "v", rest[1:], true // -v4
	}
	name, value, given = strings.Cut(rest, "=")
	return strings.ReplaceAll(name, "_", "-"), value, given
}

// isValue reports whether a word can be the value of the flag before it.
func isValue(word string) bool { return !strings.HasPrefix(word, "-") || word == "-" || isNumber(word) }

// isNumber recognises values such as -999 (--oom-score-adj).
func isNumber(word string) bool {
	digits := strings.TrimPrefix(word, "-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// splitWords splits a line into words as a shell does for the quoting that unit files, environment files and the
// argument files of microk8s use: white space, '...', "..." and a backslash before one character. An open quote ends
// with the line.
func splitWords(line string) []string {
	var (
		words  []string
		word   strings.Builder
		quote  byte
		inWord bool
		escape bool
	)
	for i := range len(line) { // bytes: a path need not be UTF-8
		r := line[i]
		switch {
		case escape:
			word.WriteByte(r)
			escape = false
		case r == '\\' && quote != '\'':
			escape, inWord = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteByte(r)
			}
		case r == '"' || r == '\'':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(r)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

// flag returns the value of a flag that takes one, the last that was given; "" if it was not given. Commas in the value
// itself cannot be told from repetition, and no such flag that is asked for here has any.
func (in *Instance) flag(name string) string {
	joined := in.Flags[name]
	return joined[strings.LastIndexByte(joined, ',')+1:]
}

// pathFlag is flag for absolute paths, which may have commas.
func (in *Instance) pathFlag(name string) string { return lastPath(in.Flags[name]) }

// lastPath returns the last of several absolute paths that are joined by commas.
func lastPath(joined string) string { return joined[strings.LastIndex(joined, ",/")+1:] }
