package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/redact"
)

// The secrets that are planted. password has what JSON and URLs escape.
const (
	password   = `S3cr3t/p4"ss&w0rd+%x`
	simple     = "hunter2horse" // no word of it is a trigger
	jwt        = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQifQ.c2lnbmF0dXJlLXNpZ25hdHVyZQ"
	cephKey    = "AQBSdFhcAAAAABAAr0JzTnlG0/RhmAJ0+qTzTA=="
	awsID      = "AKIAIOSFODNN7EXAMPLE"
	awsSecret  = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	pemBody    = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfnQ0P2pUwq7kXQ0P2pUwq7kX"
	pemKey     = "-----BEGIN RSA PRIVATE KEY-----\n" + pemBody + "\nQ0P2pUwq7kXQ0P2pUwq7kX==\n-----END RSA PRIVATE KEY-----\n"
	sshBody    = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz"
	randomKey  = "kQ7xZ2mN9pR4sT6vW8yB1dF3gH5jL0aC"
	githubKey  = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	kerberos   = "YIIGhgYGKwYBBQUCoIIGejCCBnagMDAuBgkqhkiC9xIBAgIGCSqGSIb3EgECAgYKKwYBBAGCNwICHgYKKwYBBAGC"
	vaultToken = "hvs.CAESIJ0123456789abcdefXYZ"
	basicAuth  = "dXNlcjpTM2NyM3QtcDRzc3cwcmQ="
)

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

var dockerConfig = `{"auths":{"registry.example":{"username":"bob","password":"` + simple + `","auth":"` + basicAuth + `"}}}`

// A kind is one kind of secret: the texts in which it is planted, and one that looks like them and holds none.
type kind struct {
	name   string
	secret string
	texts  []string
	miss   []string
}

var kinds = []kind{
	{
		"CIFS password", simple,
		[]string{"Mounting arguments: -t cifs -o username=bob,password=" + simple + ",vers=3.0 //srv/x /mnt", "password2=" + simple, "rw,pass=" + simple + ",ro"},
		[]string{"-t cifs -o credentials=/etc/smb.cred,vers=3.0 //srv/x /mnt", "bypass=5678", "password authentication failed"},
	},
	{
		"OAuth 2 code", randomKey,
		[]string{"GET /callback?code=" + randomKey + "&state=1 HTTP/1.1", "redirected to /callback?state=1&code=" + randomKey},
		[]string{"barcode=" + randomKey, "GET /x?code=Unavailable HTTP/1.1"},
	},
	{
		"CIFS credentials file", password,
		[]string{"username=bob\npassword=" + password + "\ndomain=x\n"},
		[]string{"username=bob\ndomain=password\n"},
	},
	{
		"SSHFS password", simple,
		[]string{"sshfs -o password_stdin,ssh_password=" + simple + " a@b:/c /mnt", "echo " + simple + " | sshfs --password " + simple}[:1],
		[]string{"sshfs -o password_stdin,reconnect a@b:/c /mnt"},
	},
	{
		"rclone password", randomKey,
		[]string{"[remote]\ntype = sftp\npass = " + randomKey + "\n", "RCLONE_CONFIG_S3_PASS=" + randomKey, "rclone mount --sftp-pass " + randomKey + " r: /mnt"},
		[]string{"[remote]\ntype = compass\n"},
	},
	{
		"ceph secret", cephKey,
		[]string{"name=admin,secret=" + cephKey + ",acl", "secret " + cephKey + " refused"},
		[]string{"name=admin,secretfile=/etc/ceph/admin.secret", "aqua AQUARIUM"},
	},
	{
		"ceph keyring", cephKey,
		[]string{"[client.admin]\n\tkey = " + cephKey + "\n", "key: " + cephKey},
		[]string{"keyring = /etc/ceph/ceph.client.admin.keyring"},
	},
	{
		"s3fs password file", awsSecret,
		[]string{awsID + ":" + awsSecret, "bucket:" + awsID + ":" + awsSecret + "\n"},
		[]string{"passwd_file=/etc/passwd-s3fs", "AKIA is a prefix"},
	},
	{
		"rbd key", cephKey,
		[]string{"rbd map pool/image --id admin --key=" + cephKey, `{"userID":"admin","userKey":"` + cephKey + `"}`},
		[]string{"rbd: map failed for key pool/image", `cacheKey="default/web"`},
	},
	{
		"kerberos ticket in the environment", kerberos,
		[]string{"KRB5_TICKET=" + kerberos, "Authorization: Negotiate " + kerberos, "env: " + kerberos},
		[]string{"KRB5CCNAME=FILE:/tmp/krb5cc_1000", "sec=krb5", "ticket=1234"},
	},
	{
		"bearer header", randomKey,
		[]string{"Authorization: Bearer " + randomKey, `-H "authorization: bearer ` + randomKey + `"`, "Authorization:[Bearer " + randomKey + "]", "got Bearer " + randomKey + " from"},
		[]string{"Bearer authentication failed", "the bearer of bad news", "Authorization: Bearer <masked>", "authorization failed", "authorization: denied"},
	},
	{
		"basic header", basicAuth,
		[]string{"Authorization: Basic " + basicAuth, "authorization=Basic " + basicAuth, "Proxy-Authorization: Basic " + basicAuth},
		[]string{"basic authentication is off", "Basic Kubernetes knowledge", "basic.target"},
	},
	{
		"--token in both spellings", simple,
		[]string{"kubelet --token=" + simple + " --v=2", "kubelet --token " + simple + " --v=2", `FLAG: --token="` + simple + `"`},
		[]string{
			"kubelet --token-file=/etc/kubernetes/token --rotate-certificates=true", "flag --token is deprecated", "--token --v=2",
			"--discovery-token-ca-cert-hash=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		},
	},
	{
		"kubeconfig client key", encode(pemKey),
		[]string{"    client-key-data: " + encode(pemKey) + "\n", "x " + encode(pemKey) + " y", encode("apiVersion: v1\nusers:\n- user:\n    token: " + randomKey + "\n")},
		[]string{"    client-key: /var/lib/kubelet/pki/kubelet-client-current.pem\n", "client-certificate-data: " + encode("-----BEGIN CERTIFICATE-----\n"+pemBody)},
	},
	{
		"PEM private key", pemBody,
		[]string{pemKey, "tls.key:\n" + pemKey + "next", strings.ReplaceAll(pemKey, "RSA PRIVATE", "EC PRIVATE"), pemKey[:70], strings.ReplaceAll(pemKey, "\n", "\\n")},
		[]string{"-----BEGIN CERTIFICATE-----\n" + pemBody + "\n-----END CERTIFICATE-----", "no private key", "-----BEGIN PUBLIC KEY-----\n" + pemBody},
	},
	{
		"AWS access key", awsID,
		[]string{"id " + awsID + " used", "aws_access_key_id = " + awsID, "Credential=" + awsID + "/20240102/eu-central-1/s3/aws4_request"},
		[]string{"XAKIAIOSFODNN7EXAMPLEX", "AKIA-IOSFODNN7EXAMPLE"},
	},
	{
		"AWS secret key", awsSecret,
		[]string{"AWS_SECRET_ACCESS_KEY=" + awsSecret, "aws_secret_access_key = " + awsSecret + "\n", "--secret-key " + awsSecret, `"secretAccessKey": "` + awsSecret + `"`},
		[]string{"AWS_SECRET_ACCESS_KEY=$SECRET", "AWS_SECRET_ACCESS_KEY="},
	},
	{
		"AWS session token", "FwoGZXIvYXdzEBYaDHqa0AP1ZKmXjlJ8lSLVAd+x/y",
		[]string{"AWS_SESSION_TOKEN=FwoGZXIvYXdzEBYaDHqa0AP1ZKmXjlJ8lSLVAd+x/y", `"SessionToken" : "FwoGZXIvYXdzEBYaDHqa0AP1ZKmXjlJ8lSLVAd+x/y"`, "https://s3/x?X-Amz-Security-Token=FwoGZXIvYXdzEBYaDHqa0AP1ZKmXjlJ8lSLVAd+x/y&a=b"},
		[]string{"AWS_SESSION_TOKEN is not set"},
	},
	{
		"GCP service account", pemBody,
		[]string{`{"type":"service_account","project_id":"p","private_key_id":"0123456789abcdef","private_key":` + strconv.Quote(pemKey) + `,"client_email":"a@b"}`},
		[]string{`{"type":"service_account","project_id":"p","client_email":"a@b"}`},
	},
	{
		"GCP service account in base64", encode(`{"type":"service_account","private_key":` + strconv.Quote(pemKey) + `}`),
		[]string{"key.json: " + encode(`{"type":"service_account","private_key":`+strconv.Quote(pemKey)+`}`)},
		[]string{"handle " + encode(`{"volume":"v1","pool":"p","cluster":"c"}`)},
	},
	{
		"Google API key", "AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe",
		[]string{"key AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe", "?key=AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe&x=y"},
		[]string{"AIza", "aizasydagmwka4jsxz-hjgw7isln_3nambgewqe"},
	},
	{
		"Azure SAS", "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6",
		[]string{"https://a.blob.core.windows.net/c?sv=2022&sig=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6%3D&se=1", "sas=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6", "--sas-token=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6"},
		[]string{"ecryptfs_sig=0123456789abcdef,ecryptfs_cipher=aes", "sig=9", "https://sas.example/x"},
	},
	{
		"Azure connection string", "Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9v+w==",
		[]string{"DefaultEndpointsProtocol=https;AccountName=x;AccountKey=Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9v+w==;EndpointSuffix=y", "Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey=Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9v+w=="},
		[]string{"DefaultEndpointsProtocol=https;AccountName=x;EndpointSuffix=y"},
	},
	{
		"GitHub token", githubKey,
		[]string{"clone with " + githubKey, "https://" + githubKey + "@github.com/x/y", "https://x-access-token:" + githubKey + "@github.com/x"},
		[]string{"ghp_short", "https://git@github.com/x/y"},
	},
	{"GitLab token", "glpat-0123456789abcdefABCD", []string{"PRIVATE-TOKEN: glpat-0123456789abcdefABCD", "x glpat-0123456789abcdefABCD"}, []string{"glpat-x"}},
	{
		"Slack token", "xoxb-123456789012-abcdefABCDEF",
		[]string{"posting with xoxb-123456789012-abcdefABCDEF"},
		[]string{"xoxo"},
	},
	{
		"Slack webhook", "XXXXyyyyXXXXyyyyXXXXyyyy",
		[]string{"https://hooks.slack.com/services/T00000000/B00000000/XXXXyyyyXXXXyyyyXXXXyyyy", `https:\/\/hooks.slack.com\/services\/T00000000\/B00000000\/XXXXyyyyXXXXyyyyXXXXyyyy`},
		[]string{"https://hooks.slack.com/help"},
	},
	{
		"JWT", jwt,
		[]string{"got " + jwt + " from", "cut " + jwt[:90], "/var/run/token " + jwt},
		[]string{"eyJhbGciOi", encode(`{"volume":"x"}`) + "." + encode(`{"pool":"y"}`)},
	},
	{
		"database URL", simple,
		[]string{"postgres://app:" + simple + "@db:5432/x?sslmode=off", "redis://:" + simple + "@cache/0", "mysql://a:" + simple + "@tcp(db:3306)/x", "mongodb+srv://a:" + simple + "@m"},
		[]string{"postgres://app@db:5432/x", "postgres://db:5432/x?user=a@b", "http://[::1]:10248/healthz", "dial tcp: http://10.0.0.1:6443/a@b"},
	},
	{"database URL, password with a slash", "pa/ss@w0rd", []string{"postgres://app:pa/ss@w0rd@db:5432/x"}, nil},
	{
		"docker config", basicAuth,
		[]string{dockerConfig, `{"auth": "` + basicAuth + `"}`, "\"auths\": {\n  \"r\": {\n    \"auth\": \"" + basicAuth + "\"\n  }\n}"},
		[]string{`{"auth":"none"}`, `"auth": "kubernetes"`, "auth: 10.0.0.5:6789"},
	},
	{
		"imagePullSecret", encode(dockerConfig),
		[]string{".dockerconfigjson: " + encode(dockerConfig), `{"data":{".dockerconfigjson":"` + encode(dockerConfig) + `"}}`, "pulled with " + encode(dockerConfig)},
		[]string{"imagePullSecrets:\n- name: regcred\n", `"type":"kubernetes.io/dockerconfigjson"`, "imagePullSecret: regcred"},
	},
	{
		"URL in a URL in a URL", simple,
		[]string{"u=https%253A%252F%252Fbob%253A" + simple + "%2540hook", "u=https%3A%2F%2Fbob%3A" + simple + "%40hook", "u=a%253Fx%253D1%2526sig%253D" + simple + "%2526y%253D1"},
		[]string{"u=https%253A%252F%252Fhook%253A8443%252Fx"},
	},
	{"Discord webhook", "abcdefghijklmnopqrstuvwx", []string{"https://discord.com/api/webhooks/123456/abcdefghijklmnopqrstuvwx"}, []string{"https://discord.com/api/webhooks/123"}},
	{"AWS signature", "0123456789abcdef0123456789abcdef", []string{"https://s3/x?X-Amz-Signature=0123456789abcdef0123456789abcdef&a=b"}, nil},
	{"pretty docker config in base64", encode("{\n\t\"auths\": {\"r\": {\"auth\": \"" + basicAuth + "\"}}}"), []string{"x " + encode("{\n\t\"auths\": {\"r\": {\"auth\": \""+basicAuth+"\"}}}"), "x " + encode("{\n\t\"auths\": {\"r\": {\"auth\": \""+basicAuth+"\"}}}")}, nil},
	{"Vault token", vaultToken, []string{"X-Vault-Token: " + vaultToken, "login " + vaultToken + " ok"}, []string{"hvs.x"}},
	{"old Vault token", "s.0123456789ABcdefghijklmn", []string{"login s.0123456789ABcdefghijklmn ok", "VAULT_TOKEN=s.0123456789ABcdefghijklmn"}, []string{"pods.0123456789ABcdefghijklmn", "s.abcdefghijklmnopqrstuvwx"}},
	{
		"TLS key in arguments", randomKey,
		[]string{"--tls-key=" + randomKey, "--tls-private-key " + randomKey, "--client-key-data=" + randomKey},
		[]string{"--tls-private-key-file=/etc/kubernetes/pki/kubelet.key", "--tls-key=/etc/tls/tls.key"},
	},
	{
		"basic auth in a webhook URL", simple,
		[]string{"posting to https://bob:" + simple + "@hook.example/x failed", `Post "https://bob:` + simple + `@hook.example/x": dial tcp`, `https:\/\/bob:` + simple + `@hook`},
		[]string{"posting to https://hook.example:8443/x failed"},
	},
	{
		"cookie", "abc123def456",
		[]string{"Cookie: theme=dark; session=abc123def456; x=y", "Set-Cookie: session=abc123def456; Path=/", `"Cookie":["session=abc123def456"]`, "JSESSIONID=abc123def456"},
		[]string{"FS-Cache: O-cookie c=00000000b1", "cookie=17", "Set-Cookie"},
	},
	{
		"iSCSI CHAP secret", simple,
		[]string{
			"node.session.auth.password = " + simple, "node.session.auth.password_in = " + simple,
			"iscsiadm -m node -o update -n node.session.auth.password -v " + simple, "discovery.sendtargets.auth.password=" + simple,
		},
		[]string{"node.session.auth.username = bob", "iscsiadm -m node -o update -n node.startup -v manual"},
	},
	{
		"LUKS key", randomKey,
		[]string{"luks key: " + randomKey, "luksKey: " + randomKey, "LUKS_PASSPHRASE=" + randomKey, `"encryptionPassphrase":"` + randomKey + `"`, "key: " + randomKey},
		[]string{"failed to load private key: open /etc/x: no such file", "--key-file=/etc/luks/key", "luks: key slot 0 unlocked", "cryptsetup --key-file - open"},
	},
	{
		"npm token", "npm_0123456789abcdefghijABCDEFGHIJ012345",
		[]string{"//registry/:_authToken=npm_0123456789abcdefghijABCDEFGHIJ012345", "npm_0123456789abcdefghijABCDEFGHIJ012345"},
		[]string{"npm_config_cache=/tmp/x"},
	},
	{"npm auth", basicAuth, []string{"//registry/:_auth=" + basicAuth}, []string{"always-auth=true"}},
	{
		"SSH key", sshBody,
		[]string{"-----BEGIN OPENSSH PRIVATE KEY-----\n" + sshBody + "\n-----END OPENSSH PRIVATE KEY-----", "id_ed25519: " + sshBody, "-----BEGIN OPENSSH PRIVATE KEY-----\n" + sshBody},
		[]string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0123456789abcdefghijklmnopqrstuvwxyzABCDE user@host", "IdentityFile=/root/.ssh/id_rsa"},
	},
	{
		"password in YAML", password,
		[]string{"db:\n  password: " + password + "\n  user: a\n", "- password: '" + password + "'\n", "password: |\n  " + password + "\nuser: a\n", "db: {password: " + password + ", user: a}"},
		[]string{"db:\n  password:\n    secretKeyRef: {name: db, key: password}\n", "passwordSecretRef: db\n", "password: null\n", "password: ${DB_PASSWORD}\n"},
	},
	{"several words in YAML", "three little words", []string{"password: three little words\n", "  - password: three little words # of old\n"}, nil},
	{
		"password in JSON", password,
		[]string{`{"user":"a","dbPassword":` + quoteJSON(password) + `,"x":1}`, `{"password" : ` + quoteJSON(password) + `}`},
		[]string{`{"password":null}`, `{"password":""}`, `{"password":true}`},
	},
	{
		"environment", password,
		[]string{"DB_PASSWORD=" + password, "export DB_PASSWORD=" + password + "\n", "DB_PASSWORD='" + password + "' run"},
		[]string{"DB_PASSWORD=", "PWD=/data/Jobs", "OLDPWD=/Users", "SSH_ASKPASS=/usr/bin/x", "TOKENS=5678"},
	},
	{
		"environment of a pod", simple,
		[]string{`{"name":"DB_PASSWORD","value":"` + simple + `"}`, "- name: DB_PASSWORD\n  value: " + simple + "\n", `{"key":"API_TOKEN","value":"` + simple + `"}`, `"env":["DB_PASSWORD=` + simple + `","A=b"]`},
		[]string{`{"name":"DB_PASSWORD","valueFrom":{"secretKeyRef":{"name":"db","key":"password"}}}`, `{"name":"LOG_LEVEL","value":"debug"}`},
	},
	{"netrc", simple, []string{"machine git.example login bob password " + simple}, []string{"login bob or password reset"}},
	{"share", simple, []string{"mount.cifs //bob:" + simple + "@server/share /mnt"}, []string{"mount.cifs //server/share /mnt", "a//b:c/d@e", "// see a@b"}},
	{"header", simple, []string{"map[X-Auth-Token:[" + simple + "] A:[b]]", `{"X-Auth-Token":["` + simple + `"]}`}, []string{`{"X-Auth-Token":[]}`}},
	{"bytes", "104 117 110 116 101 114", []string{"Data:map[password:[104 117 110 116 101 114]]", "password: [104 117 110 116 101 114"}, []string{"tokens:[104 117 110]", "pods=[1 2 3]"}},
	{"XML", simple, []string{"<server><password>" + simple + "</password></server>"}, []string{"<password/>"}},
	{"Go struct", simple, []string{"{Username:bob Password:" + simple + " Host:x}", `&{Password:"` + simple + `"}`}, []string{"{Password: Token:}", "{Secret:<nil> Token:[]}"}},
}

func quoteJSON(s string) string {
	quoted, _ := json.Marshal(s)
	return string(quoted)
}

// disguises are the ways in which a text reaches a log: as it is, quoted by klog, in JSON once and twice, in a URL.
var disguises = map[string]func(string) string{
	"plain": func(s string) string { return s },
	"klog": func(s string) string {
		return `E0102 03:04:05.678901 2588 mount.go:1] "Failed" err=` + strconv.Quote(s) + ` pod="default/web"`
	},
	"JSON":         func(s string) string { return `{"msg":` + quoteJSON(s) + `,"v":2}` },
	"JSON in JSON": func(s string) string { return `{"log":` + quoteJSON(`{"msg":`+quoteJSON(s)+`}`) + `}` },
	"URL":          func(s string) string { return "http://h/x?q=" + url.QueryEscape(s) + "&v=2" },
}

// leaks returns the form in which a secret is still to be seen.
func leaks(text, secret string) string {
	once := strings.Trim(quoteJSON(secret), `"`)
	twice := strings.Trim(quoteJSON(once), `"`)
	for _, form := range []string{secret, once, twice, strings.Trim(strconv.Quote(secret), `"`), url.QueryEscape(secret), url.PathEscape(secret), strings.ReplaceAll(secret, "/", `\/`)} {
		if strings.Contains(text, form) {
			return form
		}
		if len(form) > 12 && (strings.Contains(text, form[:8]) || strings.Contains(text, form[len(form)-8:])) {
			return form + " (a part of it)"
		}
	}
	return ""
}

func TestKinds(t *testing.T) {
	if len(kinds) < 30 {
		t.Fatalf("%d kinds", len(kinds))
	}
	for _, k := range kinds {
		for how, disguise := range disguises {
			if how == "URL" && strings.Contains(k.name, "YAML") {
				continue // no URL holds lines
			}
			t.Run(k.name+"/"+how, func(t *testing.T) {
				for _, text := range k.texts {
					planted := disguise(text)
					r := redact.New([]byte("key"))
					got := r.Text("test", planted)
					if form := leaks(got, k.secret); form != "" || !strings.Contains(got, "[masked:") {
						t.Errorf("leaks %s\n from %s\n   to %s", form, planted, got)
					}
					if again := r.Text("test", got); again != got {
						t.Errorf("a second time:\n  %s\n  %s", got, again)
					}
					if len(r.Ledger()) == 0 {
						t.Error("the ledger is empty")
					}
				}
			})
			t.Run(k.name+"/miss/"+how, func(t *testing.T) {
				for _, text := range k.miss {
					planted := disguise(text)
					if got := redact.New(nil).Text("test", planted); got != planted {
						t.Errorf("masked where nothing is to mask\n from %s\n   to %s", planted, got)
					}
				}
			})
		}
	}
}

// How the tokens of services begin, by what stands behind it, as those who give them out document it. It is the list of
// shapes.go once more: what is lost there by mistake would be printed.
const (
	beforeLetters = "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- gloas- glimt- " +
		"glffct- glrtr- glwt- GR1348941 xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- xoxe. npm_ hvs. " +
		"hvb. hvr. AIza ya29. GOCSPX- dop_v1_ doo_v1_ dor_v1_ sk_live_ rk_live_ sk_test_ rk_test_ sk_prod_ rk_prod_ " +
		"whsec_ pypi-AgE rubygems_ cio oy2 CLOJARS_ AGE-SECRET-KEY-1 sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or- " +
		"sk- hf_ api_org_ gsk_ r8_ xai- pplx- fw_ tvly- nvapi- jina_ lsv2_pt_ lsv2_sk_ csk- tgp_v1_ co_ SG. " +
		"xkeysib- xsmtpsib- NRAK- NRII- NRIQ- NRAL- NRJS- NRAA- glc_ glsa_ sntrys_ sntryu_ dt0c01. dt0s01. dt0s16. " +
		"shpat_ shpca_ shppa_ shpss_ shippo_live_ shippo_test_ sq0atp- sq0csp- EAAA EAAC EAAM EAAB PMAK- lin_api_ " +
		"lin_oauth_ ntn_ secret_ dckr_pat_ dckr_oat_ tskey- sha256~ figd_ figo_ pscale_tkn_ pscale_pw_ " +
		"pscale_oauth_ CFPAT- ops_eyJ ATATT3 ATCTT3 ATBB LTAI AKID AKCp cmVmdG dp.pt. dp.st. dp.ct. dp.sa. dp.scim. " +
		"dp.audit. nfp_ rnd_ phc_ phx_ sbp_ sb_secret_ vercel_blob_rw_ vcp_ bkua_ bkct_ fo1_ fm1_ fm2_ fm1r_ sgp_ " +
		"pnu_ rdme_ EZAK EZTK duffel_test_ duffel_live_ FLWSECK_TEST- FLWSECK- HRKU-AA p8e- tfp_ s-s4t2ud- " +
		"s-s4t2af- v1.0- ABSK bedrock-api-key-"
	beforeHex = "key- dapi pul- SK"
)

func TestTokensOfServices(t *testing.T) {
	r := redact.New(nil)
	for prefixes, rest := range map[string]string{beforeLetters: strings.Repeat(randomKey, 6), beforeHex: "0123456789abcdef0123456789abcdef01234567"} {
		for prefix := range strings.FieldsSeq(prefixes) {
			if got := r.Text("x", "volume handle "+prefix+rest+" is given"); strings.Contains(got, rest[:16]) {
				t.Errorf("not masked: %s", got)
			}
		}
	}
}
