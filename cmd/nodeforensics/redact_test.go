package main

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// planted are secrets, and texts in which they stand, of every kind that a node is known to hold.
var planted = func() map[string][2]string {
	const (
		word   = "hunter2horse"
		random = "kQ7xZ2mN9pR4sT6vW8yB1dF3gH5jL0aC"
		ceph   = "AQBSdFhcAAAAABAAr0JzTnlG0/RhmAJ0+qTzTA=="
		aws    = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYPLANTEDKEY"
		basic  = "dXNlcjpTM2NyM3QtcDRzc3cwcmQ="
		body   = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfnQ0P2pUwq7kXQ0P2pUwq7kX"
		jwt    = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQifQ.c2lnbmF0dXJlLXNpZ25hdHVyZQ"
		kerb   = "YIIGhgYGKwYBBQUCoIIGejCCBnagMDAuBgkqhkiC9xIBAgIGCSqGSIb3EgECAgYKKwYBBAGCNwICHgYKKwYBBAGC"
	)
	pem := "-----BEGIN RSA PRIVATE KEY-----\n" + body + "\n-----END RSA PRIVATE KEY-----\n"
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	docker := `{"auths":{"registry.example":{"auth":"` + basic + `"}}}`
	split := `pa"s/s` + "w0rd" + `&h0rse`
	quoted, _ := json.Marshal(`{"password":` + string(must(json.Marshal(split))) + `}`)
	return map[string][2]string{
		"cifs password":               {word, "-t cifs -o username=bob,password=" + word + ",vers=3.0 //srv/x /m"},
		"cifs credentials file":       {word, "username=bob\npassword=" + word + "\ndomain=x\n"},
		"sshfs password":              {word, "sshfs -o ssh_password=" + word + " a@b:/c /m"},
		"rclone password":             {random, "rclone mount --sftp-pass " + random + " r: /m"},
		"ceph secret":                 {ceph, "name=admin,secret=" + ceph + ",acl"},
		"ceph keyring":                {ceph, "[client.admin]\n\tkey = " + ceph + "\n"},
		"s3fs passwd":                 {aws, "AKIAIOSFODNN7PLANTED:" + aws},
		"rbd key":                     {ceph, "rbd map pool/image --id admin --key=" + ceph},
		"kerberos ticket":             {kerb, "KRB5_TICKET=" + kerb},
		"bearer header":               {random, "Authorization: Bearer " + random},
		"basic header":                {basic, "Authorization: Basic " + basic},
		"--token=":                    {word, "kubelet --token=" + word + " --v=2"},
		"--token":                     {word, "kubelet --token " + word + " --v=2"},
		"client-key-data":             {encode(pem), "client-key-data: " + encode(pem)},
		"pem":                         {body, pem},
		"aws access key":              {"AKIAIOSFODNN7PLANTED", "id AKIAIOSFODNN7PLANTED used"},
		"aws secret key":              {aws, "AWS_SECRET_ACCESS_KEY=" + aws},
		"aws session token":           {"FwoGZXIvYXdzEBYaDHqa0AP1ZKmXjlJ8lSLVAd", "AWS_SESSION_TOKEN=FwoGZXIvYXdzEBYaDHqa0AP1ZKmXjlJ8lSLVAd"},
		"gcp service account":         {body, `{"type":"service_account","private_key":` + string(must(json.Marshal(pem))) + `}`},
		"azure sas":                   {"Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6", "https://a.example/c?sv=2022&sig=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6%3D&se=1"},
		"azure connection string":     {"Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9v", "AccountName=x;AccountKey=Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9v+w==;EndpointSuffix=y"},
		"github token":                {"ghp_0123456789abcdefghijABCDEFGHIJ012345", "clone with ghp_0123456789abcdefghijABCDEFGHIJ012345"},
		"gitlab token":                {"glpat-0123456789abcdefABCD", "PRIVATE-TOKEN: glpat-0123456789abcdefABCD"},
		"slack token":                 {"xoxb-123456789012-abcdefABCDEF", "with xoxb-123456789012-abcdefABCDEF"},
		"jwt":                         {jwt, "got " + jwt + " from"},
		"database url":                {word, "postgres://app:" + word + "@db:5432/x"},
		"docker config auth":          {basic, docker},
		"imagePullSecrets":            {encode(docker), ".dockerconfigjson: " + encode(docker)},
		"vault token":                 {"hvs.CAESIJ0123456789abcdefXYZ", "login hvs.CAESIJ0123456789abcdefXYZ ok"},
		"tls key in arguments":        {random, "--tls-private-key " + random},
		"basic auth in a webhook":     {word, `Post "https://bob:` + word + `@hook.example/x": dial tcp`},
		"cookie":                      {"abc123def456", "Cookie: theme=dark; session=abc123def456; x=y"},
		"iscsi chap":                  {word, "node.session.auth.password = " + word},
		"luks key file":               {random, "luks key: " + random},
		"npm token":                   {"npm_0123456789abcdefghijABCDEFGHIJ012345", "//r/:_authToken=npm_0123456789abcdefghijABCDEFGHIJ012345"},
		"ssh key":                     {"b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz\n"},
		"yaml":                        {word, "db:\n  password: " + word + "\n  user: a\n"},
		"json":                        {word, `{"user":"a","dbPassword":"` + word + `"}`},
		"environment":                 {word, "DB_PASSWORD=" + word},
		"environment of a pod":        {word, `{"name":"DB_PASSWORD","value":"` + word + `"}`},
		"split by escapes of JSON":    {"w0rd", `{"log":` + string(quoted) + `}`},
		"split by escapes of URLs":    {"w0rd", "https://h/x?password=" + url.QueryEscape(split) + "&y=1"},
		"split by both":               {"w0rd", string(must(json.Marshal("https://h/x?password=" + url.QueryEscape(split) + "&y=1")))},
		"an escape inside a password": {"h0rse", `{"password":"pa\u0073\u0073\/h0rse"}`},
	}
}()

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// ownKeys are what the program tells evidence by, which has to stay what it is. Even what the kernel, Go and Kubernetes name is
// masked: evidence is a file that anybody may have written, and a process calls itself what it likes.
var ownKeys = []string{"schema", "collected"}

// strictKeys are words of the kernel's, Go's or Kubernetes' own, in which strict masking looks for no names; see vocabulary in
// package forensics.
var strictKeys = strings.Fields(`schema frames created_by func args state comm wchan stack wait syscall device fs_type plugin driverName
	uid pod_uid container_id mirror_uid kernel arch version collected method call status phase path_from wait_from form errno`)

// plant sets every string below v to text, but the fields that are its own.
func plant(v reflect.Value, key, text string, own []string) {
	if slices.Contains(own, key) && v.Type() != reflect.TypeFor[time.Time]() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(text)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			plant(v.Field(i), name, text, own)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		plant(v.Elem(), key, text, own)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		plant(v.Index(0), key, text, own)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		plant(value, key, text, own)
		if v.Type().Key() == reflect.TypeFor[string]() {
			v.SetMapIndex(reflect.ValueOf("key"), value)
		}
	}
}

// outputs writes evidence as JSON, has it analyzed, and returns what was written and printed, by name.
func outputs(t *testing.T, e forensics.Evidence, args ...string) map[string]string {
	t.Helper()
	e.Schema = forensics.EvidenceSchema
	file := filepath.Join(t.TempDir(), "evidence.json")
	if err := os.WriteFile(file, must(json.Marshal(e)), 0o600); err != nil {
		t.Fatal(err)
	}
	o := analyze(t, exitDone, append(args, file)...)
	all := map[string]string{"stdout": o.stdout, "stderr": o.stderr}
	for _, name := range namesIn(t, o.dir) {
		all[name] = readFile(t, filepath.Join(o.dir, name))
	}
	for _, format := range []string{formatYAML, formatMarkdown} {
		o := finish(t, command(t, append(append([]string{"analyze", "-o", format}, args...), file)...))
		all[format] = o.stdout
	}
	if len(all) != 6 {
		t.Fatalf("got %d outputs", len(all))
	}
	return all
}

// Secrets stand in every string of the evidence, and their bytes in no output.
func TestPlantedSecretsReachNoOutput(t *testing.T) {
	t.Parallel()
	for kind, p := range planted {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var e forensics.Evidence
			plant(reflect.ValueOf(&e).Elem(), "", p[1], ownKeys)
			for name, text := range outputs(t, e) {
				if i := strings.Index(text, p[0]); i >= 0 {
					t.Errorf("%s is in %s: %.200q", p[0], name, text[max(0, i-100):])
				}
			}
		})
	}
}

func TestStrictMasksNamesInEveryOutput(t *testing.T) {
	t.Parallel()
	const uid = "5c94cb01-1d2e-4f6b-9b5e-2a7a4c1de201"
	const names = "zebra/quagga-0 quagga-0 data-quagga-0 zebra 10.17.3.9 https://[fd00:17::3]:6443/x okapi-7 okapi-7.lynx.example " +
		"registry.gnu.corp.net/app:1 " + `escaped\nzebra %2Fzebra%2Fquagga-0 ` +
		"stays: " + uid + " sha256:" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef 127.0.0.1 kube-system"
	var e forensics.Evidence
	plant(reflect.ValueOf(&e).Elem(), "", names, strictKeys)
	e.Node.Name = "okapi-7.lynx.example"
	e.Pods[0].UID, e.Pods[0].Namespace, e.Pods[0].Name = uid, "zebra", "quagga-0"
	e.PodDirs[0].UID, e.PodDirs[0].Path = uid, "/var/lib/kubelet/pods/"+uid
	e.Mounts.Mounts[0].MountPoint = "/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~nfs/v"
	e.Mounts.Mounts[0].FSType, e.Mounts.Mounts[0].Class, e.Mounts.Mounts[0].Source = "nfs", "network", "gazelle:/export"
	e.Probes[0].Error = "nfs: server gazelle not responding"
	secrets := []string{"zebra", "quagga", "okapi", "lynx", "10.17.3.9", "fd00:17", "gnu.corp", "gazelle"}
	all := outputs(t, e, "--redact", "strict")
	for name, text := range all {
		for _, secret := range secrets {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s is in %s: %.200q", secret, name, text[max(0, i-100):])
			}
			if strings.Contains(name, secret) {
				t.Errorf("%s is in the name of the file %s", secret, name)
			}
		}
		if filepath.Ext(name) != ".json" {
			continue
		}
		for _, want := range []string{uid, "sha256:0123456789abcdef", "127.0.0.1", "kube-system", "/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~nfs/v", `"rule": "pod-name"`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s is gone from %s", want, name)
			}
		}
	}
	for name, text := range outputs(t, e) { // the test would see them
		if filepath.Ext(name) == ".json" && !strings.Contains(text, "quagga-0") {
			t.Error("names are masked without being asked for")
		}
	}
}

// What strict masks must not change the verdict.
func TestStrictKeepsTheVerdict(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kubelet-1.17.4-hung-cephfs", "kubelet-1.34.4-hung-csi"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := []string{capture(t, name, "goroutine.debug2"), capture(t, name, "mountinfo")}
			if _, err := os.Stat(capture(t, name, "pods.json")); err == nil {
				files = append(files, capture(t, name, "pods.json"))
			}
			plain := analyze(t, exitDone, files...).report(t)
			strict := analyze(t, exitDone, append([]string{"--redact=strict"}, files...)...).report(t)
			if len(plain.Findings) == 0 || len(plain.Findings) != len(strict.Findings) || len(plain.Diagnoses) != len(strict.Diagnoses) {
				t.Fatalf("%d findings and %d root causes became %d and %d", len(plain.Findings), len(plain.Diagnoses), len(strict.Findings), len(strict.Diagnoses))
			}
			for i := range plain.Findings {
				a, b := plain.Findings[i], strict.Findings[i]
				if a.ID != b.ID || a.Severity != b.Severity || a.Subject.Kind != b.Subject.Kind || len(a.Because) != len(b.Because) {
					t.Errorf("%s about %v became %s about %v", a.ID, a.Subject, b.ID, b.Subject)
				}
			}
		})
	}
}

// The same secret has the same placeholder, in whatever file it stood.
func TestOneKeyForAllFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "mountinfo"), filepath.Join(dir, "kubelet.log")}
	texts := []string{
		"36 35 0:46 / /mnt rw - cifs //srv/x rw,username=bob,password=hunter2horse\n",
		"E1120 10:00:00.000000    9825 kubelet_volumes.go:154] Orphaned pod \"5c948341-c030-4996-b888-f032577d97b0\" found, but volume paths " +
			"are still present on disk password=hunter2horse : There were a total of 2 errors similar to this. Turn up verbosity to see them.\n",
	}
	for i, name := range files {
		if err := os.WriteFile(name, []byte(texts[i]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := analyze(t, exitDone, files...)
	text := readFile(t, r.file(t, ".json"))
	if strings.Contains(text, "hunter2horse") {
		t.Error("the secret is in the report")
	}
	placeholders := map[string]bool{}
	for _, m := range regexp.MustCompile(`\[masked:[a-z-]+:([0-9a-f]{6})\]`).FindAllStringSubmatch(text, -1) {
		placeholders[m[1]] = true
	}
	if len(placeholders) != 1 {
		t.Errorf("placeholders %v", placeholders)
	}
}
