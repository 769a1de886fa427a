package redact

import (
	"encoding/base64"
	"strings"
)

// A shape is a secret that shows what it is by how it begins.
type shape struct {
	rule, prefix string
	is           func(byte) bool
	// least is how many bytes of that class follow the prefix at least.
	least int
}

// shapes are from the documentation of those who give out the tokens.
var shapes = []shape{
	{"github-token", "ghp_", isAlnum, 20},
	{"github-token", "gho_", isAlnum, 20},
	{"github-token", "ghu_", isAlnum, 20},
	{"github-token", "ghs_", isAlnum, 20},
	{"github-token", "ghr_", isAlnum, 20},
	{"github-token", "github_pat_", isToken, 20},
	{"gitlab-token", "glpat-", isToken, 16},
	{"gitlab-token", "gldt-", isToken, 16},
	{"gitlab-token", "glrt-", isToken, 16},
	{"gitlab-token", "glcbt-", isToken, 16},
	{"gitlab-token", "glptt-", isToken, 16},
	{"gitlab-token", "glft-", isToken, 16},
	{"gitlab-token", "glsoat-", isToken, 16},
	{"gitlab-token", "glagent-", isToken, 16},
	{"slack-token", "xoxa-", isToken, 10},
	{"slack-token", "xoxb-", isToken, 10},
	{"slack-token", "xoxc-", isToken, 10},
	{"slack-token", "xoxd-", isToken, 10},
	{"slack-token", "xoxe-", isToken, 10},
	{"slack-token", "xoxe.", func(c byte) bool { return isToken(c) || c == '.' }, 10},
	{"slack-token", "xoxo-", isToken, 10},
	{"slack-token", "xoxp-", isToken, 10},
	{"slack-token", "xoxr-", isToken, 10},
	{"slack-token", "xoxs-", isToken, 10},
	{"slack-token", "xapp-", isToken, 10},
	{"npm-token", "npm_", isAlnum, 30},
	{"vault-token", "hvs.", isToken, 16},
	{"vault-token", "hvb.", isToken, 16},
	{"vault-token", "hvr.", isToken, 16},
	{"google-key", "AIza", isToken, 30},
	{"google-token", "ya29.", func(c byte) bool { return isToken(c) || c == '.' }, 20},
	{"google-secret", "GOCSPX-", isToken, 20},
	{"digitalocean-token", "dop_v1_", isAlnum, 32},
	{"stripe-key", "sk_live_", isAlnum, 16},
	{"stripe-key", "rk_live_", isAlnum, 16},
	{"pypi-token", "pypi-AgE", isToken, 32},
	{"age-key", "AGE-SECRET-KEY-1", isAlnum, 32},
	{"ssh-key", "b3BlbnNzaC1rZXktdjE", func(c byte) bool { return isBase64(c) || c == '=' }, 0}, // openssh-key-v1
	{"kerberos-ticket", "YII", func(c byte) bool { return isBase64(c) || c == '=' }, 60},        // GSS-API, as in Negotiate
}

func (x shape) find(f *finding, from, to int) {
	if f.s[from:to] != x.prefix {
		return
	}
	if end := span(f.s, to, x.is); end-to >= x.least {
		f.add(x.rule, from, end)
	}
}

// awsKey is for access key ids, and for the secret that stands behind one in the password file of s3fs.
func (f *finding) awsKey(from, to int) {
	isID := func(c byte) bool { return isUpper(c) || isDigit(c) }
	end := span(f.s[:min(len(f.s), from+24)], to, isID)
	if end-from != 20 || !all(f.s[from:end], isID) || isAlnum(at(f.s, end)) {
		return
	}
	f.add("aws-key", from, end)
	if at(f.s, end) == ':' {
		if last := span(f.s, end+1, isBase64); last-end > 32 {
			f.add("aws-key", end+1, last)
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
// kubeconfig.
func (f *finding) encoded(from, _ int) {
	isStandard := func(c byte) bool { return isAlnum(c) || c == '+' || c == '/' }
	if f.depth > 2 || isStandard(at(f.s, from-1)) {
		return
	}
	end := span(f.s, from, isStandard)
	decoded, err := base64.RawStdEncoding.DecodeString(f.s[from : end-(end-from)%4])
	if err != nil || len(decoded) < 24 {
		return
	}
	if inner := look(f.machine, string(decoded), 0, f.depth+1); inner != nil && len(inner.secrets) > 0 {
		f.add("encoded", from, span(f.s, end, func(c byte) bool { return c == '=' }))
	}
}
