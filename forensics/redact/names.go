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
	"dockerconfigjson", "dockercfg", "cookie", "sessionid", "sessid", "keyring", "keytab", "ticket",
}

// shortEnds are so short that they have to be a word of their own: DB_PASS and dbPass, but not "bypass".
var shortEnds = []string{"pass", "pwd", "psk", "sas", "auth", "pw"}

// harmlessNames end like the name of a secret, but what is assigned to them is the name of an object or a switch.
var harmlessNames = []string{
	"imagepullsecret", "pullsecret", "automountserviceaccounttoken", "serviceaccounttoken", "rotatetoken",
	"nokeyring", "usepassword", "nopassword", "askpass", "sshaskpass", "nopass",
}

// numbered are the endings after which a name may have a number, or "in": password2, node.session.auth.password_in.
var numbered = []string{"password", "passwd", "passphrase", "secret", "token", "pass"}

// nameWords are the words at which a name of a secret may end, as they are written: the triggers of assignments.
func nameWords() []string {
	words := []string{
		"key", "keydata", "key-data", "key_data", "keyid", "key-id", "key_id", "secretid", "secret-id", "secret_id",
	}
	for _, end := range slices.Concat(nameEnds, shortEnds) {
		if !strings.Contains(end, "key") && end != "secretid" || end == "keyring" || end == "keytab" {
			words = append(words, end)
		}
	}
	return words
}

// secretName says whether what is assigned to a name is a secret.
func secretName(name string) bool {
	n := normal(name)
	switch {
	case n == "", len(name) > 256, slices.Contains(harmlessNames, n):
		return false
	case name == "PWD", name == "OLDPWD": // the shell's directories
		return false
	}
	for _, end := range nameEnds {
		if strings.HasSuffix(n, end) {
			return true
		}
	}
	for _, end := range shortEnds {
		if strings.HasSuffix(n, end) && isWordEnd(strings.TrimRight(name, "0123456789"), end) {
			return true
		}
	}
	return false
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
	n := normal(name)
	return strings.HasSuffix(n, "key") && isWordEnd(name, "key") && !strings.HasSuffix(n, "publickey")
}
