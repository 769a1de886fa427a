package redact

import "strings"

// Shapes are from the documentation of those who give out the tokens.

// A shape is a secret that shows what it is by how it begins.
type shape struct {
	rule, prefix string
	is           func(byte) bool
	// least is how many bytes of that class follow the prefix at least.
	least int
}

func isTokenDot(c byte) bool { return isToken(c) || c == '.' }

func isBase64Padded(c byte) bool { return isBase64(c) || c == '=' }

func isUpperAlnum(c byte) bool { return isUpper(c) || isDigit(c) }

// families are shapes of one service: prefixes, the class of bytes behind them, and how many of these there are at least.
var families = []struct {
	rule, prefixes string
	is             func(byte) bool
	least          int
}{
	{"github-token", "ghp_ gho_ ghu_ ghs_ ghr_", isAlnum, 20},
	{"github-token", "github_pat_", isToken, 20},
	{"gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- gloas- glimt- glffct- glrtr- glwt-", isToken, 16},
	{"gitlab-token", "GR1348941", isToken, 16},
	{"slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", isToken, 10},
	{"slack-token", "xoxe.", isTokenDot, 10},
	{"npm-token", "npm_", isAlnum, 30},
	{"vault-token", "hvs. hvb. hvr.", isToken, 16},
	{"google-key", "AIza", isToken, 30},
	{"google-token", "ya29.", isTokenDot, 20},
	{"google-secret", "GOCSPX-", isToken, 20},
	{"digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", isAlnum, 32},
	{"stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_ sk_prod_ rk_prod_", isAlnum, 10},
	{"stripe-key", "whsec_", isBase64Padded, 16},
	{"pypi-token", "pypi-AgE", isToken, 32},
	{"rubygems-token", "rubygems_", isAlnum, 32},
	{"crates-token", "cio", isAlnum, 32},
	{"nuget-key", "oy2", isAlnum, 43},
	{"clojars-token", "CLOJARS_", isAlnum, 40},
	{"age-key", "AGE-SECRET-KEY-1", isAlnum, 32},
	{"ssh-key", "b3BlbnNzaC1rZXktdjE", isBase64Padded, 0}, // openssh-key-v1
	{"kerberos-ticket", "YII", isBase64Padded, 60},        // GSS-API, as in Negotiate
	{"model-key", "sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or-", isToken, 20},
	{"model-key", "sk-", isToken, 32},
	{"model-key", "hf_ api_org_ gsk_ r8_ xai- pplx- fw_ tvly- nvapi- jina_ lsv2_pt_ lsv2_sk_ csk- tgp_v1_ co_", isToken, 30},
	{"mail-key", "SG.", isTokenDot, 40},
	{"mail-key", "key-", isLowerHex, 32},
	{"mail-key", "xkeysib- xsmtpsib-", isToken, 40},
	{"newrelic-key", "NRAK- NRII- NRIQ- NRAL- NRJS- NRAA-", isToken, 19},
	{"grafana-token", "glc_ glsa_", isBase64Padded, 24},
	{"grafana-token", "eyJrIjoi", isBase64Padded, 40},
	{"sentry-token", "sntrys_ sntryu_", isBase64Padded, 32},
	{"databricks-token", "dapi", isLowerHex, 32},
	{"dynatrace-token", "dt0c01. dt0s01. dt0s16.", isTokenDot, 40},
	{"shopify-token", "shpat_ shpca_ shppa_ shpss_", isAlnum, 30},
	{"shippo-token", "shippo_live_ shippo_test_", isAlnum, 32},
	{"square-token", "sq0atp- sq0csp- EAAA", isToken, 20},
	{"facebook-token", "EAAC EAAM EAAB", isAlnum, 60},
	{"postman-key", "PMAK-", isToken, 40},
	{"linear-key", "lin_api_ lin_oauth_", isAlnum, 32},
	{"notion-token", "ntn_ secret_", isAlnum, 40},
	{"pulumi-token", "pul-", isLowerHex, 40},
	{"docker-token", "dckr_pat_ dckr_oat_", isToken, 20},
	{"tailscale-key", "tskey-", isToken, 20},
	{"openshift-token", "sha256~", isToken, 40},
	{"figma-token", "figd_ figo_", isToken, 32},
	{"planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", isTokenDot, 30},
	{"contentful-token", "CFPAT-", isToken, 40},
	{"1password-token", "ops_eyJ", isBase64Padded, 60},
	{"atlassian-token", "ATATT3 ATCTT3 ATBB", isBase64Padded, 28},
	{"alibaba-key", "LTAI", isAlnum, 16},
	{"tencent-key", "AKID", isAlnum, 32},
	{"artifactory-key", "AKCp", isAlnum, 60},
	{"artifactory-token", "cmVmdG", isAlnum, 50},
	{"doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", isToken, 30},
	{"netlify-token", "nfp_", isToken, 36},
	{"render-key", "rnd_", isAlnum, 24},
	{"posthog-key", "phc_ phx_", isAlnum, 32},
	{"supabase-key", "sbp_ sb_secret_", isToken, 20},
	{"vercel-token", "vercel_blob_rw_ vcp_", isToken, 24},
	{"buildkite-token", "bkua_ bkct_", isAlnum, 40},
	{"fly-token", "fo1_ fm1_ fm2_ fm1r_", isBase64Padded, 40},
	{"sourcegraph-token", "sgp_", isToken, 40},
	{"prefect-token", "pnu_", isAlnum, 36},
	{"readme-key", "rdme_", isAlnum, 60},
	{"easypost-key", "EZAK EZTK", isAlnum, 54},
	{"duffel-token", "duffel_test_ duffel_live_", isToken, 40},
	{"flutterwave-key", "FLWSECK_TEST- FLWSECK-", isAlnum, 12},
	{"heroku-key", "HRKU-AA", isToken, 40},
	{"adobe-secret", "p8e-", isAlnum, 32},
	{"typeform-token", "tfp_", isTokenDot, 50},
	{"intra42-secret", "s-s4t2ud- s-s4t2af-", isAlnum, 60},
	{"cloudflare-key", "v1.0-", isToken, 150},
	{"aws-key", "ABSK", isBase64Padded, 100},
	{"aws-key", "bedrock-api-key-", isBase64Padded, 40},
	{"twilio-key", "SK", isLowerHex, 32},
}

// shapes are the families, one by one.
func shapes() []shape {
	var list []shape
	for _, f := range families {
		for prefix := range strings.FieldsSeq(f.prefixes) {
			list = append(list, shape{f.rule, prefix, f.is, f.least})
		}
	}
	return list
}

// fits says whether a token can begin at a place. Prefixes of few bytes are common in text, and do not count where a word
// goes on with them.
func (x shape) fits(s string, from, to int) bool {
	if s[from:to] != x.prefix || len(s)-to < x.least || x.least > 0 && !x.is(s[to]) {
		return false
	}
	return len(x.prefix) > 5 || !isAlnum(at(s, from-1)) || isEscaped(s, from)
}

// isEscaped says whether what stands before a place may be an escape: "\n", "%0A".
func isEscaped(s string, i int) bool {
	return at(s, i-2) == '\\' || at(s, i-3) == '%'
}

func (x shape) find(f *finding, from, to int) {
	end := span(f.s, to, x.is)
	f.spend(end - to)
	if end-to < x.least || x.least > 0 && len(x.prefix) <= 5 && !strings.ContainsAny(f.s[to:end], "0123456789") {
		return
	}
	f.hit = true
	f.add(x.rule, from, end)
}
