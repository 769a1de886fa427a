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
		name: "CIFS password", secret: simple,
		texts: []string{"Mounting arguments: -t cifs -o username=bob,password=" + simple + ",vers=3.0 //srv/x /mnt", "password2=" + simple, "rw,pass=" + simple + ",ro"},
		miss:  []string{"-t cifs -o credentials=/etc/smb.cred,vers=3.0 //srv/x /mnt", "bypass=5678", "password authentication failed"},
	},
	{
		name: "OAuth 2 code", secret: randomKey,
		texts: []string{"GET /callback?code=" + randomKey + "&state=1 HTTP/1.1", "redirected to /callback?state=1&code=" + randomKey},
		miss:  []string{"barcode=" + randomKey, "GET /x?code=Unavailable HTTP/1.1"},
	},
	{
		name: "CIFS credentials file", secret: password,
		texts: []string{"username=bob\npassword=" + password + "\ndomain=x\n"},
		miss:  []string{"username=bob\ndomain=password\n"},
	},
	{
		name: "SSHFS password", secret: simple,
		texts: []string{"sshfs -o password_stdin,ssh_password=" + simple + " a@b:/c /mnt", "echo " + simple + " | sshfs --password " + simple}[:1],
		miss:  []string{"sshfs -o password_stdin,reconnect a@b:/c /mnt"},
	},
	{
		name: "rclone password", secret: randomKey,
		texts: []string{"[remote]\ntype = sftp\npass = " + randomKey + "\n", "RCLONE_CONFIG_S3_PASS=" + randomKey, "rclone mount --sftp-pass " + randomKey + " r: /mnt"},
		miss:  []string{"[remote]\ntype = compass\n"},
	},
	{
		name: "ceph secret", secret: cephKey,
		texts: []string{"name=admin,secret=" + cephKey + ",acl", "secret " + cephKey + " refused"},
		miss:  []string{"name=admin,secretfile=/etc/ceph/admin.secret", "aqua AQUARIUM"},
	},
	{
		name: "ceph keyring", secret: cephKey,
		texts: []string{"[client.admin]\n\tkey = " + cephKey + "\n", "key: " + cephKey},
		miss:  []string{"keyring = /etc/ceph/ceph.client.admin.keyring"},
	},
	{
		name: "s3fs password file", secret: awsSecret,
		texts: []string{awsID + ":" + awsSecret, "bucket:" + awsID + ":" + awsSecret + "\n"},
		miss:  []string{"passwd_file=/etc/passwd-s3fs", "AKIA is a prefix"},
	},
	{
		name: "rbd key", secret: cephKey,
		texts: []string{"rbd map pool/image --id admin --key=" + cephKey, `{"userID":"admin","userKey":"` + cephKey + `"}`},
		miss:  []string{"rbd: map failed for key pool/image", `cacheKey="default/web"`},
	},
	{
		name: "kerberos ticket in the environment", secret: kerberos,
		texts: []string{"KRB5_TICKET=" + kerberos, "Authorization: Negotiate " + kerberos, "env: " + kerberos},
		miss:  []string{"KRB5CCNAME=FILE:/tmp/krb5cc_1000", "sec=krb5", "ticket=1234"},
	},
	{
		name: "bearer header", secret: randomKey,
		texts: []string{"Authorization: Bearer " + randomKey, `-H "authorization: bearer ` + randomKey + `"`, "Authorization:[Bearer " + randomKey + "]", "got Bearer " + randomKey + " from"},
		miss:  []string{"Bearer authentication failed", "the bearer of bad news", "Authorization: Bearer <masked>", "authorization failed", "authorization: denied"},
	},
	{
		name: "basic header", secret: basicAuth,
		texts: []string{"Authorization: Basic " + basicAuth, "authorization=Basic " + basicAuth, "Proxy-Authorization: Basic " + basicAuth},
		miss:  []string{"basic authentication is off", "Basic Kubernetes knowledge", "basic.target"},
	},
	{
		name: "--token in both spellings", secret: simple,
		texts: []string{"kubelet --token=" + simple + " --v=2", "kubelet --token " + simple + " --v=2", `FLAG: --token="` + simple + `"`},
		miss: []string{
			"kubelet --token-file=/etc/kubernetes/token --rotate-certificates=true", "flag --token is deprecated", "--token --v=2",
			"--discovery-token-ca-cert-hash=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		},
	},
	{
		name: "kubeconfig client key", secret: encode(pemKey),
		texts: []string{"    client-key-data: " + encode(pemKey) + "\n", "x " + encode(pemKey) + " y", encode("apiVersion: v1\nusers:\n- user:\n    token: " + randomKey + "\n")},
		miss:  []string{"    client-key: /var/lib/kubelet/pki/kubelet-client-current.pem\n", "client-certificate-data: " + encode("-----BEGIN CERTIFICATE-----\n"+pemBody)},
	},
	{
		name: "PEM private key", secret: pemBody,
		texts: []string{pemKey, "tls.key:\n" + pemKey + "next", strings.ReplaceAll(pemKey, "RSA PRIVATE", "EC PRIVATE"), pemKey[:70], strings.ReplaceAll(pemKey, "\n", "\\n")},
		miss:  []string{"-----BEGIN CERTIFICATE-----\n" + pemBody + "\n-----END CERTIFICATE-----", "no private key", "-----BEGIN PUBLIC KEY-----\n" + pemBody},
	},
	{
		name: "AWS access key", secret: awsID,
		texts: []string{"id " + awsID + " used", "aws_access_key_id = " + awsID, "Credential=" + awsID + "/20240102/eu-central-1/s3/aws4_request"},
		miss:  []string{"XAKIAIOSFODNN7EXAMPLEX", "AKIA-IOSFODNN7EXAMPLE"},
	},
	{
		name: "AWS secret key", secret: awsSecret,
		texts: []string{"AWS_SECRET_ACCESS_KEY=" + awsSecret, "aws_secret_access_key = " + awsSecret + "\n", "--secret-key " + awsSecret, `"secretAccessKey": "` + awsSecret + `"`},
		miss:  []string{"AWS_SECRET_ACCESS_KEY=$SECRET", "AWS_SECRET_ACCESS_KEY="},
	},
	{
		name: "AWS session token", secret: "FwoGZXIvYXdzEBYaDHqa0AP1ZKmXjlJ8lSLVAd+x/y",
		texts: []string{"AWS_SESSION_TOKEN=FwoGZXIvYXdzEBYaDHqa0AP1ZKmXjlJ8lSLVAd+x/y", `"SessionToken" : "FwoGZXIvYXdzEBYaDHqa0AP1ZKmXjlJ8lSLVAd+x/y"`, "https://s3/x?X-Amz-Security-Token=FwoGZXIvYXdzEBYaDHqa0AP1ZKmXjlJ8lSLVAd+x/y&a=b"},
		miss:  []string{"AWS_SESSION_TOKEN is not set"},
	},
	{
		name: "GCP service account", secret: pemBody,
		texts: []string{`{"type":"service_account","project_id":"p","private_key_id":"0123456789abcdef","private_key":` + strconv.Quote(pemKey) + `,"client_email":"a@b"}`},
		miss:  []string{`{"type":"service_account","project_id":"p","client_email":"a@b"}`},
	},
	{
		name: "GCP service account in base64", secret: encode(`{"type":"service_account","private_key":` + strconv.Quote(pemKey) + `}`),
		texts: []string{"key.json: " + encode(`{"type":"service_account","private_key":`+strconv.Quote(pemKey)+`}`)},
		miss:  []string{"handle " + encode(`{"volume":"v1","pool":"p","cluster":"c"}`)},
	},
	{
		name: "Google API key", secret: "AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe",
		texts: []string{"key AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe", "?key=AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe&x=y"},
		miss:  []string{"AIza", "aizasydagmwka4jsxz-hjgw7isln_3nambgewqe"},
	},
	{
		name: "Azure SAS", secret: "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6",
		texts: []string{"https://a.blob.core.windows.net/c?sv=2022&sig=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6%3D&se=1", "sas=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6", "--sas-token=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6"},
		miss:  []string{"ecryptfs_sig=0123456789abcdef,ecryptfs_cipher=aes", "sig=9", "https://sas.example/x"},
	},
	{
		name: "Azure connection string", secret: "Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9v+w==",
		texts: []string{"DefaultEndpointsProtocol=https;AccountName=x;AccountKey=Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9v+w==;EndpointSuffix=y", "Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey=Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9v+w=="},
		miss:  []string{"DefaultEndpointsProtocol=https;AccountName=x;EndpointSuffix=y"},
	},
	{
		name: "GitHub token", secret: githubKey,
		texts: []string{"clone with " + githubKey, "https://" + githubKey + "@github.com/x/y", "https://x-access-token:" + githubKey + "@github.com/x"},
		miss:  []string{"ghp_short", "https://git@github.com/x/y"},
	},
	{name: "GitLab token", secret: "glpat-0123456789abcdefABCD", texts: []string{"PRIVATE-TOKEN: glpat-0123456789abcdefABCD", "x glpat-0123456789abcdefABCD"}, miss: []string{"glpat-x"}},
	{
		name: "Slack token", secret: "xoxb-123456789012-abcdefABCDEF",
		texts: []string{"posting with xoxb-123456789012-abcdefABCDEF"},
		miss:  []string{"xoxo"},
	},
	{
		name: "Slack webhook", secret: "XXXXyyyyXXXXyyyyXXXXyyyy",
		texts: []string{"https://hooks.slack.com/services/T00000000/B00000000/XXXXyyyyXXXXyyyyXXXXyyyy", `https:\/\/hooks.slack.com\/services\/T00000000\/B00000000\/XXXXyyyyXXXXyyyyXXXXyyyy`},
		miss:  []string{"https://hooks.slack.com/help"},
	},
	{
		name: "JWT", secret: jwt,
		texts: []string{"got " + jwt + " from", "cut " + jwt[:90], "/var/run/token " + jwt},
		miss:  []string{"eyJhbGciOi", encode(`{"volume":"x"}`) + "." + encode(`{"pool":"y"}`)},
	},
	{
		name: "database URL", secret: simple,
		texts: []string{"postgres://app:" + simple + "@db:5432/x?sslmode=off", "redis://:" + simple + "@cache/0", "mysql://a:" + simple + "@tcp(db:3306)/x", "mongodb+srv://a:" + simple + "@m"},
		miss:  []string{"postgres://app@db:5432/x", "postgres://db:5432/x?user=a@b", "http://[::1]:10248/healthz", "dial tcp: http://10.0.0.1:6443/a@b"},
	},
	{name: "database URL, password with a slash", secret: "pa/ss@w0rd", texts: []string{"postgres://app:pa/ss@w0rd@db:5432/x"}, miss: nil},
	{
		name: "docker config", secret: basicAuth,
		texts: []string{dockerConfig, `{"auth": "` + basicAuth + `"}`, "\"auths\": {\n  \"r\": {\n    \"auth\": \"" + basicAuth + "\"\n  }\n}"},
		miss:  []string{`{"auth":"none"}`, `"auth": "kubernetes"`, "auth: 10.0.0.5:6789"},
	},
	{
		name: "imagePullSecret", secret: encode(dockerConfig),
		texts: []string{".dockerconfigjson: " + encode(dockerConfig), `{"data":{".dockerconfigjson":"` + encode(dockerConfig) + `"}}`, "pulled with " + encode(dockerConfig)},
		miss:  []string{"imagePullSecrets:\n- name: regcred\n", `"type":"kubernetes.io/dockerconfigjson"`, "imagePullSecret: regcred"},
	},
	{
		name: "URL in a URL in a URL", secret: simple,
		texts: []string{"u=https%253A%252F%252Fbob%253A" + simple + "%2540hook", "u=https%3A%2F%2Fbob%3A" + simple + "%40hook", "u=a%253Fx%253D1%2526sig%253D" + simple + "%2526y%253D1"},
		miss:  []string{"u=https%253A%252F%252Fhook%253A8443%252Fx"},
	},
	{name: "Discord webhook", secret: "abcdefghijklmnopqrstuvwx", texts: []string{"https://discord.com/api/webhooks/123456/abcdefghijklmnopqrstuvwx"}, miss: []string{"https://discord.com/api/webhooks/123"}},
	{name: "AWS signature", secret: "0123456789abcdef0123456789abcdef", texts: []string{"https://s3/x?X-Amz-Signature=0123456789abcdef0123456789abcdef&a=b"}, miss: nil},
	{name: "pretty docker config in base64", secret: encode("{\n\t\"auths\": {\"r\": {\"auth\": \"" + basicAuth + "\"}}}"), texts: []string{"x " + encode("{\n\t\"auths\": {\"r\": {\"auth\": \""+basicAuth+"\"}}}"), "x " + encode("{\n\t\"auths\": {\"r\": {\"auth\": \""+basicAuth+"\"}}}")}, miss: nil},
	{name: "Vault token", secret: vaultToken, texts: []string{"X-Vault-Token: " + vaultToken, "login " + vaultToken + " ok"}, miss: []string{"hvs.x"}},
	{name: "old Vault token", secret: "s.0123456789ABcdefghijklmn", texts: []string{"login s.0123456789ABcdefghijklmn ok", "VAULT_TOKEN=s.0123456789ABcdefghijklmn"}, miss: []string{"pods.0123456789ABcdefghijklmn", "s.abcdefghijklmnopqrstuvwx"}},
	{
		name: "TLS key in arguments", secret: randomKey,
		texts: []string{"--tls-key=" + randomKey, "--tls-private-key " + randomKey, "--client-key-data=" + randomKey},
		miss:  []string{"--tls-private-key-file=/etc/kubernetes/pki/kubelet.key", "--tls-key=/etc/tls/tls.key"},
	},
	{
		name: "basic auth in a webhook URL", secret: simple,
		texts: []string{"posting to https://bob:" + simple + "@hook.example/x failed", `Post "https://bob:` + simple + `@hook.example/x": dial tcp`, `https:\/\/bob:` + simple + `@hook`},
		miss:  []string{"posting to https://hook.example:8443/x failed"},
	},
	{
		name: "cookie", secret: "abc123def456",
		texts: []string{"Cookie: theme=dark; session=abc123def456; x=y", "Set-Cookie: session=abc123def456; Path=/", `"Cookie":["session=abc123def456"]`, "JSESSIONID=abc123def456"},
		miss:  []string{"FS-Cache: O-cookie c=00000000b1", "cookie=17", "Set-Cookie"},
	},
	{
		name: "iSCSI CHAP secret", secret: simple,
		texts: []string{
			"node.session.auth.password = " + simple, "node.session.auth.password_in = " + simple,
			"iscsiadm -m node -o update -n node.session.auth.password -v " + simple, "discovery.sendtargets.auth.password=" + simple,
		},
		miss: []string{"node.session.auth.username = bob", "iscsiadm -m node -o update -n node.startup -v manual"},
	},
	{
		name: "LUKS key", secret: randomKey,
		texts: []string{"luks key: " + randomKey, "luksKey: " + randomKey, "LUKS_PASSPHRASE=" + randomKey, `"encryptionPassphrase":"` + randomKey + `"`, "key: " + randomKey},
		miss:  []string{"failed to load private key: open /etc/x: no such file", "--key-file=/etc/luks/key", "luks: key slot 0 unlocked", "cryptsetup --key-file - open"},
	},
	{
		name: "npm token", secret: "npm_0123456789abcdefghijABCDEFGHIJ012345",
		texts: []string{"//registry/:_authToken=npm_0123456789abcdefghijABCDEFGHIJ012345", "npm_0123456789abcdefghijABCDEFGHIJ012345"},
		miss:  []string{"npm_config_cache=/tmp/x"},
	},
	{name: "npm auth", secret: basicAuth, texts: []string{"//registry/:_auth=" + basicAuth}, miss: []string{"always-auth=true"}},
	{
		name: "SSH key", secret: sshBody,
		texts: []string{"-----BEGIN OPENSSH PRIVATE KEY-----\n" + sshBody + "\n-----END OPENSSH PRIVATE KEY-----", "id_ed25519: " + sshBody, "-----BEGIN OPENSSH PRIVATE KEY-----\n" + sshBody},
		miss:  []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0123456789abcdefghijklmnopqrstuvwxyzABCDE user@host", "IdentityFile=/root/.ssh/id_rsa"},
	},
	{
		name: "password in YAML", secret: password,
		texts: []string{"db:\n  password: " + password + "\n  user: a\n", "- password: '" + password + "'\n", "password: |\n  " + password + "\nuser: a\n", "db: {password: " + password + ", user: a}"},
		miss:  []string{"db:\n  password:\n    secretKeyRef: {name: db, key: password}\n", "passwordSecretRef: db\n", "password: null\n", "password: ${DB_PASSWORD}\n"},
	},
	{name: "several words in YAML", secret: "three little words", texts: []string{"password: three little words\n", "  - password: three little words # of old\n"}, miss: nil},
	{
		name: "password in JSON", secret: password,
		texts: []string{`{"user":"a","dbPassword":` + quoteJSON(password) + `,"x":1}`, `{"password" : ` + quoteJSON(password) + `}`},
		miss:  []string{`{"password":null}`, `{"password":""}`, `{"password":true}`},
	},
	{
		name: "environment", secret: password,
		texts: []string{"DB_PASSWORD=" + password, "export DB_PASSWORD=" + password + "\n", "DB_PASSWORD='" + password + "' run"},
		miss:  []string{"DB_PASSWORD=", "PWD=/data/Jobs", "OLDPWD=/Users", "SSH_ASKPASS=/usr/bin/x", "TOKENS=5678"},
	},
	{
		name: "environment of a pod", secret: simple,
		texts: []string{`{"name":"DB_PASSWORD","value":"` + simple + `"}`, "- name: DB_PASSWORD\n  value: " + simple + "\n", `{"key":"API_TOKEN","value":"` + simple + `"}`, `"env":["DB_PASSWORD=` + simple + `","A=b"]`},
		miss:  []string{`{"name":"DB_PASSWORD","valueFrom":{"secretKeyRef":{"name":"db","key":"password"}}}`, `{"name":"LOG_LEVEL","value":"debug"}`},
	},
	{name: "netrc", secret: simple, texts: []string{"machine git.example login bob password " + simple}, miss: []string{"login bob or password reset"}},
	{name: "share", secret: simple, texts: []string{"mount.cifs //bob:" + simple + "@server/share /mnt"}, miss: []string{"mount.cifs //server/share /mnt", "a//b:c/d@e", "// see a@b"}},
	{name: "header", secret: simple, texts: []string{"map[X-Auth-Token:[" + simple + "] A:[b]]", `{"X-Auth-Token":["` + simple + `"]}`}, miss: []string{`{"X-Auth-Token":[]}`}},
	{name: "bytes", secret: "104 117 110 116 101 114", texts: []string{"Data:map[password:[104 117 110 116 101 114]]", "password: [104 117 110 116 101 114"}, miss: []string{"tokens:[104 117 110]", "pods=[1 2 3]"}},
	{name: "XML", secret: simple, texts: []string{"<server><password>" + simple + "</password></server>"}, miss: []string{"<password/>"}},
	{name: "Go struct", secret: simple, texts: []string{"{Username:bob Password:" + simple + " Host:x}", `&{Password:"` + simple + `"}`}, miss: []string{"{Password: Token:}", "{Secret:<nil> Token:[]}"}},
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
