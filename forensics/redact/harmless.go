package redact

import "strings"

// harmlessLimit is how long something can be that is not a secret although it is assigned to the name of one.
const harmlessLimit = 4096

// harmless says that what is assigned to a secret's name is no secret: nothing, a switch, a small number, a file, a
// reference to a variable, or something that was masked by others.
func harmless(value string) bool {
	if len(value) > harmlessLimit {
		return false
	}
	if strings.ContainsAny(value, `\%`) {
		value = plain(value)
	}
	switch strings.ToLower(value) {
	case "", "-", "~", "|", ">", "true", "false", "null", "nil", "none", "yes", "no", "on", "off",
		"redacted", "masked", "hidden", "omitted", "enabled", "disabled", "undefined", "unset", "n/a", "optional", "required",
		"ok", "invalid", "missing", "expired", "empty", "chauthtok":
		return true
	}
	switch {
	case all(value, isDigit):
		return len(value) <= 3
	case strings.HasPrefix(value, "<") && strings.HasSuffix(value, ">") && !mixed(value), // <redacted>, <nil>
		strings.HasPrefix(value, "<set to"), // kubectl: <set to the key "x" of y>
		strings.HasPrefix(value, "$") && isReference(value),
		isStructure(value), // searched by itself
		strings.HasPrefix(value, "0x") && all(value[2:], isLowerHex) && len(value) <= 18, // a pointer
		strings.Trim(value, "*") == "", strings.Trim(value, "xX") == "", strings.Trim(value, ".") == "":
		return true
	}
	return isPath(value) || isFileName(value)
}

// isFileName is for files of keys and configurations that are named without a directory.
func isFileName(value string) bool {
	dot := strings.LastIndexByte(value, '.')
	return dot > 0 && all(value, isNameChar) && contains(fileEnds, value[dot+1:])
}

var fileEnds = []string{"pem", "key", "crt", "cer", "p12", "pfx", "jks", "json", "yaml", "yml", "conf", "cfg", "kubeconfig"}

// isReference is for "$NAME", "${NAME}", "$(NAME)" and "%s". A word in small letters with a number behind it may be a
// password that begins with a dollar sign.
func isReference(value string) bool {
	inner := strings.Trim(value[1:], "{}()")
	if inner == "" || isDigit(inner[0]) || !all(inner, func(c byte) bool { return isNameChar(c) && c != '-' && c != '.' }) {
		return false
	}
	return !mixed(inner) || strings.Contains(inner, "_") || strings.ToUpper(inner) == inner || secretName(inner)
}

// isStructure says whether a value begins one of Go or JSON, rather than being a password that begins with a brace.
func isStructure(value string) bool {
	if strings.HasPrefix(value, "[") {
		return true
	}
	return strings.HasPrefix(value, "{") && (len(value) < 4 || strings.ContainsAny(value, ":=\"' "))
}

// topDirs are the directories that the path of a file with a secret begins with. A secret in base64 may begin with a
// slash, too.
var topDirs = []string{
	"boot", "data", "dev", "etc", "export", "home", "host", "lib", "mnt", "nix", "opt", "proc", "root", "run",
	"secrets", "srv",
	"sys", "tmp", "usr", "var", "vault", "vol", "volumes", "volume",
}

// isPath says whether a value names a file, which is not itself a secret.
func isPath(value string) bool {
	for _, scheme := range []string{"file://", "file:", "dir:"} {
		if hasFold(value, 0, scheme) {
			value = value[len(scheme):]
			break
		}
	}
	value = strings.TrimPrefix(strings.TrimPrefix(value, "~"), ".")
	value = strings.TrimPrefix(value, ".")
	if !strings.HasPrefix(value, "/") || !all(value, isPathChar) {
		return false
	}
	first, rest, deep := strings.Cut(value[1:], "/")
	for _, dir := range topDirs {
		if first == dir {
			return true
		}
	}
	return deep && rest != "" && strings.ToLower(value) == value
}

func isPathChar(c byte) bool {
	return isNameChar(c) || strings.IndexByte("/~@:+ ", c) >= 0 || c >= 0x80
}

// isObject is for "namespace/name" and "name", as Kubernetes allows them: no upper case, no other separators.
func isObject(value string) bool {
	namespace, name, pair := strings.Cut(value, "/")
	isName := func(c byte) bool { return isLower(c) || isDigit(c) || c == '-' || c == '.' }
	return all(namespace, isName) && (all(name, isName) || !pair) && len(namespace) < 64 && len(name) < 254
}

// looksRandom says whether a value looks like a generated one: long, of letters in both cases and digits, and no path.
func looksRandom(value string) bool {
	value = strings.TrimRight(value, "=")
	if len(value) < 16 || !all(value, isBase64) {
		return false
	}
	var lower, upper, digit, changes int
	for i := range len(value) {
		if i > 0 && isUpper(value[i]) != isUpper(value[i-1]) {
			changes++
		}
		switch c := value[i]; {
		case isLower(c):
			lower++
		case isUpper(c):
			upper++
		case isDigit(c):
			digit++
		}
	}
	return lower > 1 && upper > 1 && (digit > 1 || digit == 1 && changes > len(value)/5 || len(value) > 20 && changes > len(value)/3) && len(value)-lower-upper-digit <= len(value)/8
}
