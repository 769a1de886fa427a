package redact

import (
	"slices"
	"strings"
)

// Args masks secrets in a command line. The slice is not changed; the result is never nil. It has as many elements,
// unless the command line is larger than [Redactor.Text] shows: then the last one says how much is missing.
func (r *Redactor) Args(where string, argv []string) []string {
	argv, dropped := firstArgs(argv)
	a := args{r: r, where: where, in: r.knownPrograms(where, argv), out: make([]string, 0, len(argv)), fuel: newFuel(argv...)}
	for len(a.out) < len(a.in) {
		a.next()
	}
	if dropped > 0 {
		a.add(cutNote(dropped))
	}
	return a.out
}

// firstArgs is what of a command line is shown, and how many bytes are not. The last one may be long itself.
func firstArgs(argv []string) (shown []string, dropped int) {
	size := 0
	for i, arg := range argv {
		if size += len(arg) + 1; size > fieldBudget {
			for _, rest := range argv[i+1:] {
				dropped += len(rest) + 1
			}
			return argv[:i+1], dropped
		}
	}
	return argv, 0
}

// knownPrograms masks what the programs of a command line take for a secret.
func (r *Redactor) knownPrograms(where string, argv []string) []string {
	parts := secretsIn(r.programs, argv, false)
	if len(parts) == 0 {
		return argv
	}
	argv = slices.Clone(argv)
	for _, p := range slices.Backward(parts) {
		w := argv[p.word]
		argv[p.word] = w[:p.from] + r.mask(where, "argument", w[p.from:p.to]) + w[p.to:]
	}
	return argv
}

type args struct {
	r       *Redactor
	where   string
	in, out []string
	fuel    *int
}

func (a *args) text(s string) string { return a.r.text(a.where, s, a.fuel) }

// next masks one argument, or a flag and its value.
func (a *args) next() {
	arg := a.in[len(a.out)]
	name, value, assigned := strings.Cut(arg, "=")
	switch {
	case len(arg) > fieldBudget:
		a.add(a.text(arg))
	case assigned && a.assign(name, value):
	case !strings.HasPrefix(arg, "-"):
		a.word(arg)
	case strings.HasPrefix(arg, "-o") && len(arg) > 2 && assigned: // -opassword=x
		a.add("-o" + a.r.options(a.where, arg[2:], a.fuel))
	case a.withValue(arg):
	default:
		a.add(a.text(arg))
	}
}

func (a *args) add(masked ...string) { a.out = append(a.out, masked...) }

func (a *args) mask(secret string) string { return a.r.mask(a.where, "argument", secret) }

// word is for what is no flag: "password x" as arguments of its own.
func (a *args) word(arg string) {
	if len(a.out) > 0 && len(a.out)+1 < len(a.in) && len(arg) < reach && all(arg, isNameChar) && secretName(arg) {
		if value := a.in[len(a.out)+1]; followsName(arg, value) {
			a.add(arg, a.mask(value))
			return
		}
	}
	a.add(a.text(arg))
}

// followsName says whether what stands behind a name without a sign between them is its value.
func followsName(name, value string) bool {
	switch {
	case harmless(value) || strings.HasPrefix(value, "-") || contains(proseWords, value):
		return false
	case isPasswordName(name):
		return !strings.ContainsAny(value, " =")
	}
	return looksRandom(value)
}

// assign masks NAME=value and --name=value, and says whether it was one.
func (a *args) assign(name, value string) bool {
	switch flag := strings.TrimLeft(name, "-"); {
	case strings.ContainsAny(flag, " \n/:,{\"") || flag == "" || len(flag) > reach:
		return false // a script, a path, a URL, a list
	case flag == "o" || flag == "options" || flag == "opt":
		a.add(name + "=" + a.r.options(a.where, value, a.fuel))
	case isPlural(flag) && !looksSecret(value) && (!isPasswordName(flag) || all(value, isDigit)):
		return false
	case secretName(flag) || isKeyName(flag) && looksRandom(value):
		if harmless(value) {
			return false
		}
		a.add(name + "=" + a.mask(value))
	default:
		inner, secret, nested := strings.Cut(value, "=") // --from-literal=password=x, --env=DB_PASSWORD=x
		if !nested || strings.ContainsAny(inner, " \n/,:;?{") || len(inner) > reach || !secretName(inner) && !isLiteral(flag) || harmless(secret) {
			return false
		}
		a.add(name + "=" + inner + "=" + a.mask(secret))
	}
	return true
}

// isLiteral is for "kubectl create secret generic x --from-literal=any=y".
func isLiteral(flag string) bool { return strings.TrimLeft(flag, "-") == "from-literal" }

// withValue masks a flag and the argument behind it, and says whether that is a value which holds a secret.
func (a *args) withValue(flag string) bool {
	if len(a.out)+1 == len(a.in) {
		return false
	}
	value := a.in[len(a.out)+1]
	name := strings.TrimLeft(flag, "-")
	switch {
	case looksLikePassword(flag, value):
		a.add(flag, a.mask(value))
	case strings.HasPrefix(value, "-"): // the next flag
		return false
	case flag == "-o" || flag == "--options" || flag == "--opt":
		a.add(flag, a.r.options(a.where, value, a.fuel))
	case isWeakName(name) && looksSecret(value):
		a.add(flag, a.mask(value))
	case (secretName(name) || isKeyName(name) && looksRandom(value)) && !harmless(value) && (!isPlural(name) || looksSecret(value)):
		a.add(flag, a.mask(value))
	case slices.Contains(userFlags, flag):
		i := strings.IndexAny(value, ":%")
		if i < 0 || isPath(value) || all(value[i+1:], isDigit) || strings.HasPrefix(value[i:], "://") {
			return false
		}
		a.add(flag, value[:i+1]+a.mask(value[i+1:]))
	case flag == "-e" || flag == "--env" || flag == "--from-literal" || flag == "--set" || flag == "--set-string":
		inner, secret, ok := strings.Cut(value, "=")
		if !ok || strings.ContainsAny(inner, " ,") || !secretName(inner) && !isLiteral(flag) || harmless(secret) {
			return false
		}
		a.add(flag, inner+"="+a.mask(secret))
	default:
		return false
	}
	return true
}

// userFlags take "user:password" or "user%password".
var userFlags = []string{
	"-u", "-U", "--user", "--username", "--proxy-user", "--creds", "--src-creds", "--dest-creds", "--basic-auth",
}

// looksLikePassword is for -p of programs that are not known: it takes a password if the value cannot be a port, a path,
// or another word that people write there.
func looksLikePassword(flag, value string) bool {
	return flag == "-p" && len(value) >= 6 && !harmless(value) && !strings.ContainsAny(value, "/:,") &&
		strings.ContainsAny(value, "0123456789!#$%&*+?@^~") && !isWord(value) &&
		!all(value, func(c byte) bool { return isDigit(c) || c == '.' || c == '-' })
}
