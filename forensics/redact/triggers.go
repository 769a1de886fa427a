package redact

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// nothing is for what is a trigger only because it shows that there is something a layer below.
func (f *finding) nothing(_, _ int) {}

// shortAssignment is for words that are the beginning of many others.
func (f *finding) shortAssignment(from, to int) {
	f.hit = true
	f.assignment(from, to)
}

func endsWord(s string, _, to int) bool {
	c := at(s, to)
	return !isLower(c) || isUpper(s[to-1])
}

// triggers are all that is looked for in text.
func triggers(programs map[string]program) []trigger {
	list := []trigger{
		{word: placeholderStart, find: (*finding).placeholder},
		{word: "private", find: (*finding).privateKey},
		{word: "private-lines:", find: (*finding).puttyKey},
		{word: "authorization", find: (*finding).authorization},
		{word: "bearer", find: (*finding).scheme},
		{word: "basic", find: (*finding).scheme},
		{word: "negotiate", find: (*finding).scheme},
		{word: "cookie", find: (*finding).cookies},
		{word: "akia", find: (*finding).awsKey},
		{word: "asia", find: (*finding).awsKey},
		{word: "agpa", find: (*finding).awsKey},
		{word: "abia", find: (*finding).awsKey},
		{word: "acca", find: (*finding).awsKey},
		{word: "s.", find: (*finding).oldVaultToken, fits: fitsOldVaultToken},
		{word: "aq", find: (*finding).cephKey, fits: fitsCephKey},
		{word: ":aa", find: (*finding).telegram, fits: fitsTelegram},
		{word: "discord", find: (*finding).discordToken},
		{word: "eyj", find: (*finding).jwt},
		{word: "//", find: (*finding).userinfo, fits: fitsUserinfo},
		{word: "@", find: (*finding).bareUserinfo, fits: fitsBareUserinfo},
		{word: "jdbc:oracle:thin:", find: (*finding).oracle},
		{word: ":5432:", find: (*finding).pgpass},
		// Escaped slashes and equals signs show something a layer below, or two or three.
		{word: `\/`, find: (*finding).nothing},
		{word: "%2f", find: (*finding).nothing},
		{word: "%5c", find: (*finding).nothing},
		{word: "%252f", find: (*finding).nothing},
		{word: "%25252f", find: (*finding).nothing},
		{word: ` on \u003e`, find: (*finding).nothing},
		{word: "sig%", find: (*finding).nothing},
		{word: "hooks.slack.com/services/", find: (*finding).webhook},
		{word: "discord.com/api/webhooks/", find: (*finding).webhook},
		{word: "discordapp.com/api/webhooks/", find: (*finding).webhook},
		{word: "webhook.office.com/webhookb2/", find: (*finding).webhook},
		{word: "sig=", find: (*finding).signature},
		{word: "signature=", find: (*finding).signature},
		{word: "code=", find: (*finding).oauthCode, fits: fitsParameter},
		{word: "sharedkey ", find: (*finding).accountSignature},
		{word: "pbkdf2_sha", find: (*finding).djangoHash},
		{word: "crypt ", find: (*finding).dmCrypt},
		{word: "crypt: ", find: (*finding).dmCrypt},
		{word: "user=", find: (*finding).shareUser, fits: fitsShareUser},
		{word: "username=", find: (*finding).shareUser, fits: fitsShareUser},
		{word: "ac", find: (*finding).twilio, fits: fitsTwilio},
		{word: "k10", find: (*finding).k3sToken, fits: fitsK3sToken},
		{word: "token", find: (*finding).bootstrapToken},
		{word: ".atlasv1.", find: (*finding).atlas},
		{word: "q~", find: (*finding).azureSecret},
		{word: "identified by", find: (*finding).sqlPassword},
		{word: "with password", find: (*finding).sqlPassword},
		{word: "_password by", find: (*finding).sqlPassword},
		{word: "password(", find: (*finding).sqlPassword},
		{word: " on >", find: (*finding).redisUser},
		{word: "unseal key", find: (*finding).vaultKey},
		{word: "recovery key", find: (*finding).vaultKey},
		{word: "scram-sha-256$", find: (*finding).scram},
		{word: "secret,", find: (*finding).qemuSecret},
		{word: "<<<", find: (*finding).hereString},
		{word: "kind", find: (*finding).kind},
	}
	for _, word := range []string{"cryptsetup", "chpasswd", "sudo -s", "password-stdin", "passwd --stdin", "kinit"} {
		list = append(list, trigger{word: word, find: (*finding).piped})
	}
	for _, scheme := range []string{"1", "2a", "2b", "2y", "5", "6", "y", "gy", "7", "apr1", "argon2id", "argon2i", "argon2d", "scrypt"} {
		list = append(list, trigger{word: "$" + scheme + "$", find: (*finding).cryptHash})
	}
	for _, scheme := range []string{"ssha", "sha", "smd5", "md5", "ssha256", "ssha512", "sha256", "sha512", "pbkdf2"} {
		list = append(list, trigger{word: "{" + scheme + "}", find: (*finding).ldapHash})
	}
	// The beginnings, in base64, of: {" and { with a line break, -----BEGIN, apiVersion.
	for _, word := range append(encodedWords(), "eyj", "ewog", "ewoj", "ewok", "ew0k", "ls0tls1crudjti", "yxbpvmvyc2lvb") {
		list = append(list, trigger{word: word, find: (*finding).encoded})
	}
	for _, word := range nameWords() {
		x := trigger{word: word, find: (*finding).assignment}
		if len(word) <= 4 && word != "key" { // "path", "authorization"
			x.find, x.fits = (*finding).shortAssignment, endsWord
		}
		list = append(list, x)
	}
	for _, word := range append(foreignPhrases, foreignNames...) {
		list = append(list, trigger{word: word, find: (*finding).foreign})
	}
	for _, word := range foreignNames { // as JSON of Python has them, contrase\u00f1a: a piece that is long enough to be rare
		pieces := strings.Split(strings.Trim(strconv.QuoteToASCII(word), `"\`), `\`)
		longest := slices.MaxFunc(pieces, func(a, b string) int { return len(a) - len(b) })
		if longest != word {
			list = append(list, trigger{word: strings.ToLower(longest), find: (*finding).nothing})
		}
	}
	list = append(list, trigger{word: "stringdata", find: (*finding).assignment})
	for _, x := range shapes() {
		list = append(list, trigger{word: strings.ToLower(x.prefix), find: x.find, fits: x.fits})
	}
	for name := range programs {
		list = append(list, trigger{word: strings.ToLower(name), find: (*finding).command, fits: fitsCommand(name)})
	}
	sorting.Stable(list, func(a, b trigger) int { return strings.Compare(a.word, b.word) })
	return list
}
