package redact

import (
	"encoding/base64"
	"slices"
	"strings"
)

// awsKey is for access key ids, and for the secret that stands behind one in the password file of s3fs.
func (f *finding) awsKey(from, to int) {
	end := span(f.s[:min(len(f.s), from+24)], to, isUpperAlnum)
	if end-from != 20 || !all(f.s[from:end], isUpperAlnum) || isAlnum(at(f.s, end)) {
		return
	}
	f.add("aws-key", from, end)
	if at(f.s, end) == ':' || hasFold(f.s, end, "%3a") || at(f.s, end) == ' ' {
		start := span(f.s, end, func(c byte) bool { return c == ':' || c == ' ' || c == '%' })
		if last := span(f.s, start, isBase64); last-start > 32 && (at(f.s, end) != ' ' || looksRandom(f.s[start:last])) {
			f.add("aws-key", start, last)
		}
	}
}

// oldVaultToken is for those from before Vault 1.10.
func (f *finding) oldVaultToken(from, to int) {
	if end := span(f.s, to, isAlnum); end == to+24 && !isNameChar(at(f.s, end)) && !all(f.s[to:end], isLower) {
		f.add("vault-token", from, end)
	}
}

func fitsOldVaultToken(s string, from, to int) bool {
	return s[from] == 's' && isAlnum(at(s, to)) && !isNameChar(at(s, from-1))
}

// cephKey is for the keys of cephx: 28 bytes in base64, of which the first is always 1 (src/auth/Crypto.h).
func (f *finding) cephKey(from, to int) {
	if end := span(f.s, to, isBase64); end == from+38 && strings.HasPrefix(f.s[end:], "==") {
		f.add("ceph-key", from, end+2)
	}
}

func fitsCephKey(s string, from, to int) bool { return s[from:to] == "AQ" && !isBase64(at(s, from-1)) }

// jwtHeader is how long the first part of a token can be; in practice it is some 100 bytes.
const jwtHeader = 2048

// jwt is for JSON web tokens, whole or cut: a header that names an algorithm, a dot, and more.
func (f *finding) jwt(from, to int) {
	if isAlnum(at(f.s, from-1)) {
		return
	}
	header := span(f.s[:min(len(f.s), to+jwtHeader)], to, isToken)
	if at(f.s, header) != '.' {
		return
	}
	decoded, err := base64.RawURLEncoding.DecodeString(f.s[from:header])
	if err != nil || !strings.Contains(string(decoded), `"alg"`) {
		return
	}
	end := span(f.s, header+1, func(c byte) bool { return isToken(c) || c == '.' })
	if end-header > 8 {
		f.add("jwt", from, end)
	}
}

// encoded is for base64 of something that holds a secret itself: a docker configuration, a service account, a PEM file, a
// kubeconfig, an assignment. The place is in it.
func (f *finding) encoded(from, to int) {
	isStandard := func(c byte) bool { return isAlnum(c) || c == '+' || c == '/' }
	if f.depth > 2 || from < f.code.to {
		return
	}
	start := spanBack(f.s[:from], from, isStandard)
	end := span(f.s, to, isStandard)
	f.code.from, f.code.to = start, end
	f.spend(3 * (end - start))
	for _, skip := range []int{0, 1, 2, 3} { // of a path, or of an escape before it
		if start+skip >= from && skip > 0 || skip > 0 && f.depth > 0 {
			return
		}
		from := start + skip
		decoded, err := base64.RawStdEncoding.DecodeString(f.s[from : end-(end-from)%4])
		if err != nil || len(decoded) < 15 || !isPrintable(decoded) {
			continue
		}
		inner := look(f.r, string(decoded), 0, f.depth+1, f.fuel)
		if inner != nil && (len(inner.secrets) > 0 || inner.cut < len(decoded)) {
			f.add("encoded", from, span(f.s, end, func(c byte) bool { return c == '=' }))
			return
		}
	}
}

// isPrintable says whether decoded bytes are a text.
func isPrintable(b []byte) bool {
	for _, c := range b[:min(len(b), 64)] {
		if c < ' ' && !isSpace(c) || c == 0x7f || c == 0 {
			return false
		}
	}
	return true
}

// encodedWords are what base64 has in it of the names of secrets, at each of the three places where a name can begin.
func encodedWords() []string {
	var list []string
	for _, word := range []string{"password", "passwd", "secret", "token", "_pass", "_key", "https://", "http://", "postgres", "mysql://", "redis://", "mongodb", "amqp://"} {
		for _, word := range []string{word, strings.ToUpper(word), strings.ToUpper(word[:1]) + word[1:]} {
			for skip := range 3 {
				code := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", skip) + word))
				from := (skip*8 + 5) / 6
				if to := (skip + len(word)) * 8 / 6; to-from >= 6 {
					list = append(list, strings.ToLower(code[from:to]))
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// cryptHash is for what crypt(3) makes of passwords: "$6$salt$hash", "$2y$10$…", "$argon2id$v=19$m=1$salt$hash".
func (f *finding) cryptHash(from, to int) {
	end := span(f.s, to, func(c byte) bool { return isBase64(c) || strings.IndexByte("$.=,", c) >= 0 })
	f.spend(end - from)
	if end = max(to, spanBack(f.s, end, func(c byte) bool { return strings.IndexByte(",=$", c) >= 0 })); end-to >= 20 {
		f.add("password-hash", from, end)
	}
}

// ldapHash is for "{SSHA}…", as directories have it.
func (f *finding) ldapHash(from, to int) {
	if end := span(f.s, to, isBase64Padded); end-to >= 20 {
		f.add("password-hash", from, end)
	}
}

// djangoHash is for "pbkdf2_sha256$1000$salt$hash".
func (f *finding) djangoHash(from, to int) {
	end := span(f.s[:min(len(f.s), to+256)], to, func(c byte) bool { return isBase64Padded(c) || c == '$' })
	if strings.Count(f.s[to:end], "$") >= 3 {
		f.add("password-hash", from, end)
	}
}

// dmCrypt is for the tables of dm-crypt: "crypt aes-xts-plain64 KEY 0 8:16 0" (Documentation/admin-guide/device-mapper).
func (f *finding) dmCrypt(_, to int) {
	cipher := span(f.s, to, isBlank)
	end := span(f.s[:min(len(f.s), cipher+reach)], cipher, func(c byte) bool { return isNameChar(c) || c == ':' })
	key := span(f.s, end, isBlank)
	if key == end || end == cipher || strings.IndexByte(f.s[cipher:end], '-') < 0 {
		return
	}
	last := span(f.s, key, func(c byte) bool { return isLowerHex(c | 0x20) })
	f.spend(last - key)
	if last-key >= 32 {
		f.add("dm-crypt-key", key, last)
	}
}

// k3sToken is for "K10<hash of the CA>::server:<password>".
func (f *finding) k3sToken(from, to int) {
	hash := span(f.s, to, isAlnum)
	f.spend(hash - to)
	if hash-to >= 32 && strings.HasPrefix(f.s[hash:], "::") {
		f.add("k3s-token", from, f.wordEnd(hash))
	}
}

// bootstrapToken is for "abcdef.0123456789abcdef" of kubeadm, where a word says that it is a token. The part before the
// dot is public.
func (f *finding) bootstrapToken(_, to int) {
	id := span(f.s[:min(len(f.s), to+24)], to, func(c byte) bool { return !isLower(c) && !isDigit(c) && c != '\n' })
	if to == id {
		return
	}
	for range 3 { // "token for cluster …"
		dot := span(f.s, id, func(c byte) bool { return isLower(c) || isDigit(c) })
		end := span(f.s[:min(len(f.s), dot+20)], dot+min(1, len(f.s)-dot), func(c byte) bool { return isLower(c) || isDigit(c) })
		if dot-id == 6 && at(f.s, dot) == '.' && end-dot == 17 {
			f.add("bootstrap-token", id, end)
			return
		}
		id = span(f.s, dot, func(c byte) bool { return isBlank(c) || isQuote(c) })
		if id == dot || dot-id > reach {
			return
		}
	}
}

// atlas is for the tokens of Terraform: "xxx.atlasv1.yyy".
func (f *finding) atlas(from, to int) {
	start := spanBack(f.s[max(0, from-32):from], from-max(0, from-32), isAlnum) + max(0, from-32)
	if end := span(f.s, to, isToken); end-to >= 32 && from-start >= 10 {
		f.add("terraform-token", start, end)
	}
}

// azureSecret is for the client secrets of Entra: three characters, a digit, "Q~" and 31 more.
func (f *finding) azureSecret(from, to int) {
	isPart := func(c byte) bool { return isTokenDot(c) || c == '~' }
	if end := span(f.s[:min(len(f.s), to+48)], to, isPart); end-to >= 31 && from >= 4 && isDigit(f.s[from-1]) && all(f.s[from-4:from], isPart) {
		f.add("azure-secret", from-4, end)
	}
}

// telegram is for "1234567890:AA…" of bots.
func (f *finding) telegram(from, to int) {
	id := spanBack(f.s[max(0, from-12):from], from-max(0, from-12), isDigit) + max(0, from-12)
	if end := span(f.s[:min(len(f.s), to+48)], to, isToken); end-to >= 33 && from-id >= 8 {
		f.add("telegram-token", from+1, end)
	}
}

func fitsTelegram(s string, from, to int) bool { return s[from:to] == ":AA" && isDigit(at(s, from-1)) }

func fitsK3sToken(s string, from, to int) bool {
	return s[from:to] == "K10" && !isAlnum(at(s, from-1)) && isAlnum(at(s, to)) && isAlnum(at(s, to+31))
}

// fitsParameter is for the parameters of URLs. JSON of Go writes & as \u0026.
func fitsParameter(s string, from, _ int) bool {
	return at(s, from-1) == '?' || at(s, from-1) == '&' || strings.HasSuffix(s[:from], `\u0026`)
}

// oauthCode is for "?code=…" of OAuth 2.
func (f *finding) oauthCode(_, to int) {
	if end := span(f.s, to, isTokenDot); looksRandom(f.s[to:end]) {
		f.add("signature", to, end)
	}
}

// accountSignature is for "SharedKey account:signature" of Azure.
func (f *finding) accountSignature(_, to int) {
	name := span(f.s[:min(len(f.s), to+reach)], to, isAlnum)
	if end := span(f.s, name+min(1, len(f.s)-name), isBase64Padded); at(f.s, name) == ':' && end-name >= 32 {
		f.add("signature", name+1, end)
	}
}

// redisUser is for the passwords in the ACLs of Redis: "user bob on >password".
func (f *finding) redisUser(_, to int) { f.add("assignment", to, f.wordEnd(to)) }

// shareUser is for "user=bob%password" of CIFS, where it is no escape of a URL.
func (f *finding) shareUser(_, to int) {
	end := f.wordEnd(to)
	percent := strings.IndexByte(f.s[to:end], '%')
	if percent <= 0 || strings.ContainsAny(f.s[to:end], "/&") {
		return
	}
	if comma := strings.IndexByte(f.s[to:end], ','); comma > percent {
		end = to + comma
	} else if comma >= 0 {
		return
	}
	f.add("option", to+percent+1, end)
}

func fitsShareUser(s string, from, _ int) bool { return at(s, from-1) != '?' && at(s, from-1) != '&' }

// twilio is for the account and the token of Twilio, "AC…:…".
func (f *finding) twilio(_, to int) { f.add("twilio-key", to+33, span(f.s, to+33, isLowerHex)) }

func fitsTwilio(s string, from, to int) bool {
	return s[from:to] == "AC" && at(s, to+32) == ':' && isLowerHex(s[to]) && all(s[to:to+32], isLowerHex) && span(s, to+33, isLowerHex) == to+65
}

// puttyKey is for the files of PuTTY's keys.
func (f *finding) puttyKey(_, to int) {
	start := span(f.s, to, func(c byte) bool { return isSpace(c) || isDigit(c) })
	f.add("private-key", start, f.pemEnd(start))
}

// discordToken is for "M<base64 of an id>.<time>.<signature>" behind the name of the service.
func (f *finding) discordToken(_, to int) {
	from := span(f.s[:min(len(f.s), to+reach)], to, func(c byte) bool { return isBlank(c) || isQuote(c) || c == ':' || c == '=' })
	end := span(f.s[:min(len(f.s), from+2*reach)], from, isTokenDot)
	parts := strings.Split(f.s[from:end], ".")
	if len(parts) == 3 && len(parts[0]) >= 23 && len(parts[1]) == 6 && len(parts[2]) >= 27 {
		f.add("discord-token", from, end)
	}
}

// sqlPassword is for "IDENTIFIED BY 'x'", "WITH PASSWORD 'x'", "AUTH x".
func (f *finding) sqlPassword(_, to int) {
	i := span(f.s, to, isBlank)
	if v, ok := quotedAt(f.s[:min(len(f.s), i+256)], i); ok && v.to > v.from {
		f.add("assignment", v.from, v.to)
	}
}

// vaultKey is for what Vault prints when it is initialised: "Unseal Key 1: x", "Recovery Key 1: x".
func (f *finding) vaultKey(_, to int) {
	i := span(f.s, to, func(c byte) bool { return isBlank(c) || isDigit(c) || isQuote(c) })
	if at(f.s, i) != ':' {
		return
	}
	start := span(f.s, i+1, func(c byte) bool { return isBlank(c) || isQuote(c) })
	if end := span(f.s, start, isBase64Padded); end-start >= 32 {
		f.add("vault-token", start, end)
	}
}

// scram is for what PostgreSQL and Kafka make of passwords: "SCRAM-SHA-256$4096:salt$stored:server".
func (f *finding) scram(_, to int) {
	end := span(f.s, to, func(c byte) bool { return isBase64Padded(c) || c == '$' || c == ':' })
	f.spend(end - to)
	if end-to >= 32 {
		f.add("password-hash", to, end)
	}
}

// qemuSecret is for "-object secret,id=s0,data=x", see qemu(1).
func (f *finding) qemuSecret(_, to int) {
	end := span(f.s, to, func(c byte) bool { return c > ' ' && !isQuote(c) && c != '\\' })
	f.spend(end - to)
	if i := strings.Index(f.s[to:end], "data="); i >= 0 {
		from := to + i + len("data=")
		if comma := strings.IndexByte(f.s[from:end], ','); comma >= 0 {
			end = from + comma
		}
		f.add("argument", from, end)
	}
}

// hereString is for "kinit bob <<< 'x'" of shells.
func (f *finding) hereString(_, to int) {
	i := span(f.s, to, isBlank)
	v, ok := quotedAt(f.s[:min(len(f.s), i+256)], i)
	if !ok {
		v = value{from: i, to: f.wordEnd(i)}
	}
	f.spend(v.to - i)
	if v.from < v.to && looksSecret(f.s[v.from:v.to]) {
		f.add("argument", v.from, v.to)
	}
}
