package redact

import "strings"

// A name is what something is assigned to.
type name struct {
	text       string
	start, end int
	// next is behind the closing quote, or the name.
	next   int
	quoted bool
}

// assignment looks at a word that may be the end of a secret's name, for something that is assigned to it.
func (f *finding) assignment(from, to int) {
	n, ok := nameAt(f.s, from, to)
	if !ok {
		return
	}
	sep, next := separator(f.s, n)
	if sep == nothing || sep == prose && !f.announces(next) {
		return
	}
	certain := secretName(n.text) || isKeyOf(f.s, n) || n.text == "PWD" && at(f.s, n.start-1) == ';' // of a connection string
	if !certain && !isKeyName(n.text) && !isWeakName(n.text) && !isSecretsName(n.text) {
		return
	}
	if (certain || isSecretsName(n.text)) && f.structure(n, sep, next) {
		return
	}
	v := f.valueAt(n, sep, next)
	f.spend(2 * (v.to - next))
	if v.from < v.to && f.isSecret(n, sep, v, certain) {
		f.add("assignment", v.from, f.continues(n, sep, v))
	}
}

// isCount is for results of tests: "pass=12345 fail=0".
func isCount(s string, n name, v value) bool {
	return strings.EqualFold(n.text, "pass") && all(s[v.from:v.to], isDigit) && hasFold(s, span(s, v.to, func(c byte) bool { return c == ' ' || c == ',' }), "fail")
}

// isNumberOfSecret is for the numbers that Ceph gives to secrets: "could not find secret_id=4242".
func isNumberOfSecret(n name, value string) bool {
	return strings.HasSuffix(normal(n.text), "secretid") && all(value, isDigit) && len(value) < 12
}

// isSecretsName is for structures of which all values are secret.
func isSecretsName(name string) bool { return strings.EqualFold(name, "stringData") }

// isSecret says whether what is assigned to a name is a secret. A name that is not certainly a secret's needs a value that
// is.
func (f *finding) isSecret(n name, sep separation, v value, certain bool) bool {
	value := f.s[v.from:v.to]
	masked := placeholderAt(value, 0) >= 0
	switch {
	case masked:
		return certain || looksRandom(value)
	case harmless(value) || certain && f.isProse(n, sep, v) || isCount(f.s, n, v) || isNumberOfSecret(n, value):
		return false
	case sep == prose:
		return f.proseSecret(n, v)
	case isSecretObject(n, v, value):
		return false
	case certain && isPlural(n.text) && isPasswordName(n.text):
		return !all(value, isDigit) && sep == equals || looksSecret(value)
	case !certain && isWeakName(n.text), certain && isPlural(n.text):
		return looksSecret(value)
	case !certain:
		return looksRandom(strings.TrimPrefix(value, "base64:"))
	case isWordEnd(n.text, "auth"):
		return looksBasic(value) || isWordEnd(strings.TrimRight(n.text, "0123456789"), "auth") && len(n.text) > len("auth") && mixed(value) && (sep == equals || sep == argument)
	case isWordEnd(n.text, "ticket"):
		return len(value) >= 16
	}
	return true
}

// announces says whether a word that follows a name in a sentence can be a secret at all. Nearly none can.
func (f *finding) announces(i int) bool {
	if c := at(f.s, i); c == '[' || c == '{' || placeholderAt(f.s, i) > 0 {
		return true
	}
	if isQuote(at(f.s, i)) {
		return true
	}
	end := span(f.s[:min(len(f.s), i+4*reach)], i, func(c byte) bool { return c > ' ' && !isQuote(c) })
	return end-i >= 6 && strings.ContainsAny(f.s[i:end], "0123456789") || end-i > 20
}

// proseSecret says whether a word of a sentence is the secret that the word before it announces.
func (f *finding) proseSecret(n name, v value) bool {
	value := f.s[v.from:v.to]
	switch {
	case looksRandom(value):
		return true
	case isPasswordName(n.text), n.text == "AUTH", hasFold(n.text, 0, "credential"):
		if v.quoted && !n.quoted && len(value) >= 6 && isPasswordName(n.text) {
			return true
		}
		return mixed(value) && !strings.Contains(value, "://") && !strings.Contains(value, "=")
	}
	return isKeyOf(f.s, n) && len(value) >= 32 && len(value) < 64 && all(value, isLowerHex) && mixed(value)
}

// isSecretObject is for the names of Secrets of Kubernetes: klog has secret="namespace/name" and secret="name".
func isSecretObject(n name, v value, value string) bool {
	switch normal(n.text) {
	case "secret", "secrets":
	case "token", "serviceaccounttoken", "credentials": // of a service account
		return v.quoted && strings.Contains(value, "/") && isObject(value)
	default:
		return false
	}
	if strings.Contains(value, "/") {
		return isObject(value)
	}
	return v.quoted && isObject(value) && (strings.Contains(value, "-") || all(value, isLower))
}

// looksSecret says whether a value is generated, or one that people choose, rather than a number, a word or an object's
// name.
func looksSecret(value string) bool {
	switch {
	case all(value, isDigit):
		return len(value) >= 8
	case strings.ContainsAny(value, " []"):
		return false
	}
	return mixed(value) || looksRandom(value)
}

// continues returns where a password ends that has blanks in it without being quoted: "password=ab,c d". It has one if a comma
// stands in it that separates nothing, and the rest of the line are one or two words that are no sentence.
func (f *finding) continues(n name, sep separation, v value) int {
	if v.quoted || sep != equals || !isPasswordName(n.text) || !strings.Contains(f.s[v.from:v.to], ",") {
		return v.to
	}
	end := v.to
	for range 2 {
		start := span(f.s, end, isBlank)
		word := span(f.s, start, func(c byte) bool { return c > ' ' && !isQuote(c) && c != '\\' })
		if start == end || word == start || strings.IndexByte("-/(", f.s[start]) >= 0 || strings.ContainsAny(f.s[start:word], "=:") || contains(proseWords, f.s[start:word]) {
			break
		}
		end = word
	}
	if c := at(f.s, end); c == 0 || isQuote(c) || c == '\\' || c == '\n' {
		return end
	}
	return v.to
}

// isKeyOf says whether a name is the second word of a secret's: "luks key: x".
func isKeyOf(s string, n name) bool {
	if !strings.EqualFold(n.text, "key") || !isBlank(at(s, n.start-1)) {
		return false
	}
	for _, word := range []string{"luks", "private", "encryption", "api", "master", "account", "signing"} {
		if hasFold(s, n.start-1-len(word), word) && !isNameChar(at(s, n.start-2-len(word))) {
			return true
		}
	}
	return false
}

// nameAt returns the name that the word s[from:to] ends, or nearly: a tail may follow. It is none if the name goes on, or
// is a file's.
func nameAt(s string, from, to int) (name, bool) {
	to = nameTail(s, to)
	if c := at(s, to); isAlnum(c) || c == '_' || c == '-' || c == '/' || c == '.' && isAlnum(at(s, to+1)) {
		return name{}, false
	}
	first := max(0, from-reach)
	start := first + spanBack(s[first:], from-first, isNameChar)
	n := name{text: s[start:to], start: start, end: to, next: to}
	if c := at(s, to); isQuote(c) {
		n.next, n.quoted = to+1, true
	}
	if at(s, n.next) == ']' { // config["password"] = "x"
		n.next++
	}
	before := at(s, start-1)
	if before == '*' && strings.Contains(n.text, ".") { // a type of Go: "failed to list *v1.Secret: secrets is forbidden"
		return name{}, false
	}
	if before == '/' && at(s, to) == ':' && start-1 == wordStart(s, start-1) && !isBlank(at(s, to+1)) { // /password:x
		return n, true
	}
	if (before == '/' || before == '~') && !n.quoted && at(s, n.next) != '=' {
		return name{}, false // "/var/run/token: permission denied"
	}
	return n, true
}

func wordStart(s string, i int) int {
	if i == 0 || isSpace(s[i-1]) || isQuote(s[i-1]) {
		return i
	}
	return -1
}

// nameTail returns where a name ends that has something behind the word that makes it a secret's.
func nameTail(s string, to int) int {
	if hasFold(s, to, "_in") {
		return to + 3
	}
	if end := span(s, to, isDigit); end > to {
		if end-to <= 2 {
			return end
		}
		return to
	}
	if c := at(s, to); c == '_' && isDigit(at(s, to+1)) {
		return span(s, to+1, isDigit)
	}
	if c := at(s, to); (c == 's' || c == 'S') && !isNameChar(at(s, to+1)) {
		return to + 1
	}
	rest := to
	if c := at(s, to); c == '_' || c == '-' || c == '.' {
		rest++
	} else if !isUpper(c) {
		return to
	}
	for _, tail := range nameTails {
		if hasFold(s, rest, tail) && !isNameChar(at(s, rest+len(tail))) {
			return rest + len(tail)
		}
	}
	return to
}

// How a name and a value are held together.
type separation int

const (
	nothing  separation = iota
	equals              // NAME=value
	loose               // name = value, name: value
	element             // <name>value</name>
	argument            // --name value
	pair                // "name": "NAME", "value": "x"
	prose               // the password is x
)

// separator returns what stands behind a name, and where the value begins.
func separator(s string, n name) (separation, int) {
	i := span(s, n.next, isBlank)
	switch c := at(s, i); {
	case strings.HasPrefix(s[i:], "：") || strings.HasPrefix(s[i:], "＝"): // of the full width
		return loose, span(s, i+len("："), isBlank)
	case c == '|' && i == n.next:
		return prose, i + 1
	case c == '-' && at(s, i+1) == '>':
		return prose, span(s, i+2, isBlank)
	case c == '=':
		for i++; at(s, i) == '=' || at(s, i) == '>' || at(s, i) == '~'; i++ {
		}
		if next := span(s, i, isBlank); next > i || s[i-1] == '>' {
			return loose, next
		}
		return equals, i
	case c == ':' && !strings.HasPrefix(s[i:], "://"):
		if i++; at(s, i) == '=' {
			i++
		}
		next := span(s, i, isBlank)
		if n.quoted && (s[n.next] != ':' || at(s, n.start-1) == '/' || at(s, n.start-2) == '/') && !isQuote(at(s, next)) && at(s, next) != '[' {
			return nothing, 0 // a quoted word of a sentence: volume "creds" : not found, or a URL
		}
		return loose, nextLine(s, n, next)
	case c == '>' && (at(s, n.start-1) == '<' || n.quoted && i == n.next && isQuote(at(s, n.start-1)) && at(s, n.start-2) == '='):
		return element, i + 1 // <password>x</password>, <entry key="password">x</entry>
	case c == '<' && strings.HasPrefix(s[i:], "</name>"): // of Hadoop: <name>password</name><value>x</value>
		if value := span(s, i+len("</name>"), isSpace); strings.HasPrefix(s[value:], "<value>") {
			return element, value + len("<value>")
		}
	case c == ',' && i == n.next && at(s, n.start-1) == '{': // of Erlang: {password,<<"x">>}
		value := span(s, i+1, isBlank)
		if strings.HasPrefix(s[value:], "<<") {
			value += len("<<")
		}
		if isQuote(at(s, value)) {
			return argument, value
		}
	case c == ',' && n.quoted && n.text[0] == '-': // ["--password","x"]
		if next := span(s, i+1, isBlank); isQuote(at(s, next)) && at(s, next+1) != '-' {
			return argument, next
		}
		return nothing, 0
	case c == ',' || c == '\n' || c == '\r' || c == '}':
		return pairSeparator(s, i)
	case i > n.next:
		return argumentSeparator(s, n, i)
	}
	return nothing, 0
}

// nextLine returns where the value of a password begins that is the only word of the next line, indented; else i.
func nextLine(s string, n name, i int) int {
	start := span(s, i+min(1, len(s)-i), isBlank)
	end := span(s, start, func(c byte) bool { return c > ' ' && !isQuote(c) && c != '\\' })
	if at(s, i) != '\n' || start == i+1 || start == end || s[end-1] == ':' || isBlank(at(s, end)) || !isPasswordName(n.text) {
		return i
	}
	return start
}

// pairSeparator is for the way in which environment variables stand in the JSON and YAML of pods:
//
//	{"name":"DB_PASSWORD","value":"x"}
//	- name: DB_PASSWORD
//	  value: x
//	{Name:DB_PASSWORD Value:x}
//	<add key="Password" value="x"/>
func pairSeparator(s string, i int) (separation, int) {
	quoteOrBlank := func(c byte) bool { return isSpace(c) || isQuote(c) || c == ',' || c == '}' || c == '{' }
	i = span(s[:min(len(s), i+reach)], i, quoteOrBlank)
	if !hasFold(s, i, "value") {
		return nothing, 0
	}
	i = span(s, i+len("value"), func(c byte) bool { return isSpace(c) || isQuote(c) })
	switch c := at(s, i); {
	case c == ':' || c == '=':
		return pair, span(s, i+1, isBlank)
	case at(s, i-1) == ' ': // {value x}
		return pair, i
	}
	return nothing, 0
}

// argumentSeparator is for command lines inside text: "--token x", "-n node.session.auth.password -v x", and for netrc.
func argumentSeparator(s string, n name, i int) (separation, int) {
	for _, value := range []string{"-v ", "--value ", "--value="} {
		if hasFold(s, i, value) {
			return argument, i + len(value)
		}
	}
	if sep, value := pairSeparator(s, n.next); sep == pair && value > i {
		return sep, value
	}
	switch {
	case n.quoted || at(s, i) == '-' || at(s, i) == 0:
		return nothing, 0
	case strings.HasPrefix(n.text, "--"), isSetting(s, n, i):
		return argument, i
	case strings.EqualFold(n.text, "password") && afterLogin(s[max(0, n.start-harmlessLimit):n.start]):
		return argument, i
	}
	for _, verb := range []string{"is ", "was ", "value "} {
		if hasFold(s, i, verb) {
			return prose, i + len(verb)
		}
	}
	if hasFold(s, i, "for ") { // password for bob: x
		switch end := span(s, i+len("for "), isNameChar); {
		case at(s, end) == ':':
			return prose, span(s, end+1, isBlank)
		case hasFold(s, end, " is "):
			return prose, end + len(" is ")
		}
	}
	if c := at(s, i); c == '(' {
		i++
	}
	return prose, i
}

// isSetting is for configurations that put a blank between a name and its value: "rootpw x", "requirepass x". It has to be
// a name that is no word, and the value the last thing in the line.
func isSetting(s string, n name, i int) bool {
	word := strings.ToLower(n.text)
	if contains(settings, word) {
		return true
	}
	if !startsLine(s, n) || !isPasswordName(word) || contains([]string{"password", "pass", "passphrase", "passwd", "passwords"}, word) {
		return false
	}
	end := span(s, i, func(c byte) bool { return c > ' ' && !isQuote(c) })
	c := at(s, end)
	return end > i && (c == 0 || c == '\n' || isQuote(c))
}

// settings are names of secrets that are used so, and are no words.
var settings = []string{"requirepass", "masterauth", "rootpw", "bindpw"}

// afterLogin says whether a text ends like "machine x login y ", see netrc(5).
func afterLogin(s string) bool {
	user := spanBack(s, spanBack(s, len(s), isSpace), func(c byte) bool { return !isSpace(c) })
	return strings.HasSuffix(s[:spanBack(s, user, isSpace)], "login")
}

// proseWords follow the name of a flag or of a thing in sentences.
var proseWords = []string{
	"a", "access", "and", "are", "as", "at", "auth", "authentication", "but", "by", "does", "file", "can", "cannot", "could", "expired", "failed", "flag", "for",
	"from", "has", "have",
	"in", "instead", "invalid", "is", "may", "missing", "must", "not", "of", "on", "option", "or", "required",
	"requires", "set",
	"should", "the", "to", "unknown", "was", "were", "will", "with", "without",
}

// isProse says that name and value are words of a sentence: "failed to fetch token: Post ...", "flag --token is
// deprecated". It is not asked about passwords.
func (f *finding) isProse(n name, sep separation, v value) bool {
	word := f.s[v.from:v.to]
	switch {
	case v.quoted || n.quoted || !all(word, isLetter):
		return false
	case sep == prose, sep == argument:
		return contains(proseWords, word)
	case sep != loose || strings.Contains(normal(n.text), "pass"):
		return false
	}
	before := f.s[max(0, n.start-2):n.start]
	return all(n.text, isLetter) && len(before) == 2 && isLetter(before[0]) && before[1] == ' ' && at(f.s, v.to) == ' '
}

func contains(words []string, word string) bool {
	for _, w := range words {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}
