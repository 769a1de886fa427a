package redact

import (
	"slices"
	"strings"
)

// nameEnds are how the names of secrets end, as [normal] writes them: dbPassword, DB_PASSWORD, db-password and
// "db.password" all end in "password".
var nameEnds = []string{
	"password", "passwd", "passphrase", "passcode", "secret", "token", "credential", "credentials",
	"apikey", "accesskey", "accesskeyid", "secretkey", "secretid", "accountkey", "storagekey", "sharedkey", "privatekey",
	"privatekeyid", "privatekeydata", "clientkey", "clientkeydata", "keydata", "tlskey", "sslkey", "sshkey", "serverkey",
	"signingkey", "encryptionkey", "masterkey", "sessionkey", "authkey", "licensekey", "lukskey", "cryptkey", "volumekey",
	"presharedkey", "unsealkey", "privkey", "dockerconfigjson", "dockercfg", "cookie", "sessionid", "sessid", "keyring", "keytab", "ticket",
	"registryauth", "masterauth",
}

// shortEnds are so short that they are the end of other words, too. They count as words of their own, DB_PASS and dbPass,
// and run together with another word, DBPASS and bindpw, unless that is one of notRunTogether.
var shortEnds = []string{"pass", "pwd", "pw", "creds"}

// ownWords count only as words of their own.
var ownWords = []string{"psk", "sas", "auth", "cred"}

// weakWords are words of their own that often name something else. What is assigned has to look like a secret.
var weakWords = []string{"pin", "pat", "salt", "otp", "jwt", "bearer", "pepper"}

// notRunTogether are words that end like short names of secrets.
var notRunTogether = strings.Fields(`bypass compass encompass trespass surpass overpass underpass impass onepass firstpass lastpass
	twopass multipass allpass lowpass highpass bandpass allowpass nopass askpass sshaskpass renderpass prepass postpass repass
	gopass keepass usepass fullpass halfpass subpass passpass numpass`)

// harmlessNames end like the name of a secret, but what is assigned to them is the name of an object or a switch.
var harmlessNames = []string{
	"imagepullsecret", "pullsecret", "automountserviceaccounttoken", "serviceaccounttoken", "rotatetoken",
	"nokeyring", "usepassword", "nopassword", "askpass", "sshaskpass", "nopass", "volumessecret",
}

// numbered are the endings after which a name may have a number, or "in": password2, node.session.auth.password_in.
var numbered = []string{"password", "passwd", "passphrase", "secret", "token", "pass"}

// nameTails may stand behind the name of a secret, as words of their own, and it still is one: SECRET_KEY_BASE,
// passwordHash.
var nameTails = []string{"base", "hash", "hashed", "value", "string", "plain", "raw", "b64", "base64", "text", "old", "new", "prod", "dev", "test", "crypt"}

// nameWords are the words at which a name of a secret may end, as they are written: the triggers of assignments.
func nameWords() []string {
	words := []string{
		"key", "keydata", "key-data", "key_data", "keyid", "key-id", "key_id", "secretid", "secret-id", "secret_id",
		"tokenid", "token_id", "token-id", "pass_word", "pass-word", "pass_phrase", "pass-phrase",
	}
	for _, end := range slices.Concat(nameEnds, shortEnds, ownWords, weakWords) {
		if !strings.Contains(end, "key") && end != "secretid" && !strings.HasSuffix(end, "auth") || end == "keyring" || end == "keytab" || end == "auth" {
			words = append(words, end)
		}
	}
	return words
}

// withoutTail returns a name without what may stand behind it: a plural's s, and one of nameTails.
func withoutTail(name string) string {
	for _, tail := range nameTails {
		if len(name) > len(tail) && isWordEnd(name, tail) {
			name = strings.TrimRight(name[:len(name)-len(tail)], "_-.")
			break
		}
	}
	if isPlural(name) {
		return name[:len(name)-1]
	}
	return name
}

// isPlural says whether a name ends like "tokens", "API_KEYS". Numbers of things have such names, too.
func isPlural(name string) bool {
	if len(name) < 4 || name[len(name)-1]|0x20 != 's' || hasFold(name, len(name)-2, "ss") {
		return false
	}
	n := normal(name[:len(name)-1])
	for _, end := range nameEnds {
		if strings.HasSuffix(n, end) {
			return true
		}
	}
	return strings.HasSuffix(n, "key") && isWordEnd(name[:len(name)-1], "key")
}

// secretName says whether what is assigned to a name is a secret.
func secretName(name string) bool {
	if len(name) == 0 || len(name) > 256 {
		return false
	}
	return endsInSecret(name) || endsInSecret(withoutTail(name))
}

func endsInSecret(name string) bool {
	n := normal(name)
	if n == "" || slices.Contains(harmlessNames, n) {
		return false
	}
	for _, end := range nameEnds {
		if strings.HasSuffix(n, end) {
			return true
		}
	}
	word := strings.TrimRight(name, "0123456789")
	for _, end := range shortEnds {
		if hasFold(word, len(word)-len(end), end) && !slices.Contains(notRunTogether, lastWord(word)) && word != "PWD" && word != "OLDPWD" {
			return true
		}
	}
	return slices.ContainsFunc(ownWords, func(end string) bool { return isWordEnd(word, end) })
}

// lastWord is the last word of a name, in lower case.
func lastWord(name string) string {
	from := spanBack(name, len(name), isLetter)
	for i := len(name) - 1; i > from; i-- {
		if isUpper(name[i]) && isLower(name[i-1]) {
			from = i
			break
		}
	}
	return strings.ToLower(name[from:])
}

// isWeakName is for names of which only some are a secret's.
func isWeakName(name string) bool {
	n := normal(name)
	return slices.ContainsFunc(weakWords, func(end string) bool { return isWordEnd(name, end) }) || strings.HasSuffix(n, "tokenid")
}

// isPasswordName says whether a name is a password's, of which people make up the value.
func isPasswordName(name string) bool {
	n := normal(name)
	return strings.Contains(n, "pass") || strings.HasSuffix(n, "pw") || strings.HasSuffix(n, "pwd")
}

// normal writes a name in lower case, without separators and without the number behind it.
func normal(name string) string {
	n := strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', '.', ' ', '"', '\'', '\\':
			return -1
		}
		return r
	}, strings.ToLower(name))
	short := strings.TrimSuffix(strings.TrimRight(n, "0123456789"), "in")
	for _, end := range numbered {
		if strings.HasSuffix(short, end) {
			return short
		}
	}
	return n
}

// isWordEnd says whether a name's ending is a word: nothing, a separator or a digit stands before it, or a change of case.
func isWordEnd(name, end string) bool {
	if len(name) < len(end) || !hasFold(name, len(name)-len(end), end) {
		return false
	}
	before, first := at(name, len(name)-len(end)-1), at(name, len(name)-len(end))
	return !isLetter(before) || isLower(before) && isUpper(first)
}

// isKeyName is for names that end in "key" and say no more than that: what is assigned decides.
func isKeyName(name string) bool {
	name = withoutTail(name)
	n := normal(name)
	return strings.HasSuffix(n, "key") && isWordEnd(name, "key") && !strings.HasSuffix(n, "publickey")
}
