package redact_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/redact"
)

// clean is what a report needs, or what looks like a secret and is none.
var clean = []string{
	"", "\n", "[masked:", "[masked:x:1]", `\`, "%", "=", "password", "the token is wrong", "invalid password", "password authentication",
	`orphaned pod "5c948341-c030-4996-b888-f032577d97b0" found, but volume paths are still present on disk`,
	`I0102 03:04:05.678901 2588 reconciler_common.go:163] "operationExecutor.UnmountVolume started for volume \"kube-api-access-x\" (UniqueName: \"kubernetes.io/projected/2fa11937-kube-api-access-x\") pod \"5c948341-c030-4996-b888-f032577d97b0\" (UID: \"5c948341-c030-4996-b888-f032577d97b0\") "`,
	`MountVolume.SetUp failed for volume "tls" : secret "tls-secret" not found`,
	`MountVolume.SetUp failed for volume "kube-api-access-x" : failed to fetch token: Post "https://10.0.0.1:6443/api/v1": dial tcp: i/o timeout`,
	`MountVolume.SetUp failed for volume "creds" : references non-existent secret key: tls.crt`,
	`failed to sync secret cache: timed out waiting for the condition`, `object "default"/"db-secret" not registered`,
	`"Failed to get secret" secret="default/x" err="not found"`, `secret="default/db-credentials"`,
	`"Caches populated" type="*v1.Secret" reflector="object-\"default\"/\"token\""`,
	"/var/lib/kubelet/pods/5c948341-c030-4996-b888-f032577d97b0/volumes/kubernetes.io~secret/token: device or resource busy",
	"/var/lib/kubelet/pods/x/volumes/kubernetes.io~secret/default-token-x7z2k", "open /run/secrets/kubernetes.io/serviceaccount/token: no such file",
	"image sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	"registry.k8s.io/pause@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	"cri-containerd-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope",
	"git 0123456789abcdef0123456789abcdef01234567", "pod0123456789abcdef0123456789abcdef",
	"volumes/kubernetes.io~csi/pvc-9ae9405c-7fb3-11ea-80b3-246e968d4b38/mount", "/volumes/kubernetes.io~flex/TXlWb2x1bWVOYW1lMTIzNDU2Nzg5MA==/mount",
	"volumeHandle: eyJwb29sIjoicDEiLCJ2b2x1bWUiOiJ2MSIsImNsdXN0ZXIiOiJjMSJ9", "projects/p/zones/z/disks/pvc-1##AbCdEf0123456789",
	"--token-file=/etc/kubernetes/token --tls-private-key-file=/etc/kubernetes/pki/kubelet.key", "secretfile=/etc/ceph/admin.secret",
	"--authentication-token-webhook=true --rotate-certificates --feature-gates=RequestServiceAccountToken=true,A=false",
	"http://127.0.0.1:10255/healthz?verbose", "10.0.0.5:6789,10.0.0.6:6789:/k8s", "automountServiceAccountToken: false",
	"rpc error: code = Unavailable desc = \"transport: Error while dialing: dial unix /run/containerd/containerd.sock\"",
	"goroutine 117 [syscall, 12 minutes]:\nsyscall.Syscall6(0x106, 0xffffffffffffff9c, 0xc000a0)\n", "user@host", "a@b:/c",
	"k8s.io/kubernetes/pkg/volume/secret.(*secretVolumeMounter).SetUp(0xc000, {0x1, 0x2})", "monkey: banana", "key=5", "hotkey: \"F1\"",
	"created by k8s.io/client-go/tools/cache.(*sharedIndexInformer).Run", "token.go:45", "Token(0xc000)", "tokens: 17", "12 passes: done",
	`{"kind":"Secret","apiVersion":"v1"}`, `"secretName":"db"`, `"secret":{"secretName":"db","defaultMode":420}`, "imagePullSecrets:\n- name: x",
	`level=info msg="loading plugin" type=io.containerd.grpc.v1`, "100% of 5% and +1", "C:\\new\\table", "résumé: ünïcödé",
}

func TestCleanTextStays(t *testing.T) {
	r := redact.New(nil)
	for _, s := range clean {
		if got := r.Text("test", s); got != s {
			t.Errorf("from %s\n  to %s", s, got)
		}
		for how, disguise := range disguises {
			s := disguise(s)
			if got := r.Text("test", s); got != s {
				t.Errorf("%s\nfrom %s\n  to %s", how, s, got)
			}
		}
	}
	if len(r.Ledger()) != 0 {
		t.Errorf("the ledger has %v", r.Ledger())
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"what is around stays", "a password=hunter2secret b", "a password=@ b"},
		{"a password of digits", "user=a pass=12345 vers=3", "user=a pass=@ vers=3"},
		{"results of tests", "pass=12345, fail=0", "pass=12345, fail=0"},
		{"a number of passwords", "passwords=12345", "passwords=12345"},
		{"passwords", "passwords=abcde", "passwords=@"},
		{"a short word in the plural", "creds=abcdE1 tail", "creds=@ tail"},
		{"a longer word that begins like it", "credx=abcdE1 tail", "credx=abcdE1 tail"},
		{"a URL with an empty password", "get https://admin:@10.0.0.5/x now", "get https://admin:@10.0.0.5/x now"},
		{"a share with an empty password", "//admin%@filer/share", "//admin%@filer/share"},
		{"sentence", "with token=abc123def.", "with token=@."},
		{"list of options", "-o user=a,password=b1,c,vers=3", "-o user=a,password=@,vers=3"},
		{"comma in a password", "password=b1,c", "password=@"},
		{"query", "https://h/?token=abc123&x=1", "https://h/?token=@&x=1"},
		{"semicolons", "Server=x;Password=abc123;Db=y", "Server=x;Password=@;Db=y"},
		{"shell", "export DB_PASSWORD=abc123; run --x", "export DB_PASSWORD=@; run --x"},
		{"JSON stays JSON", `{"password":"a,b","x":["y"]}`, `{"password":"@","x":["y"]}`},
		{"JSON, quote in it", `{"password":"a\"b","x":1}`, `{"password":"@","x":1}`},
		{"JSON in JSON stays such", `{"m":"{\"password\":\"a\\\"b\"}"}`, `{"m":"{\"password\":\"@\"}"}`},
		{"YAML", "a:\n  password: one two # old\n  b: c\n", "a:\n  password: @ # old\n  b: c\n"},
		{"YAML block", "  key: |\n  password: |\n    one\n\n    two\n  b: c\n", "  key: |\n  password: |\n    @\n  b: c\n"},
		{"YAML block at the end", "password: >-\n  one\n  two", "password: >-\n  @"},
		{"env file with blanks", "USER=a\nPASSWORD=one two\nX=y\n", "USER=a\nPASSWORD=@\nX=y\n"},
		{"environment in front of a command", "PASSWORD=one run --x\nnext", "PASSWORD=@ run --x\nnext"},
		{"user and password", "https://bob:abc@h/x", "https://bob:@@h/x"},
		{"at sign in the password", "https://bob:a@b@h/x?mail=a@b", "https://bob:@@h/x?mail=a@b"},
		{"scheme", "Authorization: Bearer abc", "Authorization: Bearer @"},
		{"a short token behind the scheme alone", "got Bearer abc12345 from", "got Bearer @ from"},
		{"no scheme", "Authorization: abc123", "Authorization: @"},
		{"digest", `Authorization: Digest username="a", response="b1"`, "Authorization: Digest @"},
		{"digest that was cut", "Authorization: Digest a=\"b\n" + podUID + "\n", "Authorization: Digest @\n" + podUID + "\n"},
		{"signed request", "Authorization: AWS4-HMAC-SHA256 Credential=x/y, Signature=abc", "Authorization: AWS4-HMAC-SHA256 @"},
		{"first line of a key", "-----BEGIN EC PRIVATE KEY-----\nMHcCAQ==\n-----END EC PRIVATE KEY-----", "-----BEGIN EC PRIVATE KEY-----\n@\n-----END EC PRIVATE KEY-----"},
		{"two keys", strings.Repeat("-----BEGIN EC PRIVATE KEY-----\nMHcCAQ==\n-----END EC PRIVATE KEY-----\n", 2), strings.Repeat("-----BEGIN EC PRIVATE KEY-----\n@\n-----END EC PRIVATE KEY-----\n", 2)},
		{"token in the first line of a key", "-----BEGIN PRIVATE KEY " + githubKey + " -----\n" + strings.Repeat("0aA+", 40), "-----BEGIN PRIVATE KEY @ -----\n@"},
		{"cut key and a pod", "-----BEGIN EC PRIVATE KEY-----\nMHcCAQAB\n5c948341-c030-4996-b888-f032577d97b0", "-----BEGIN EC PRIVATE KEY-----\n@\n5c948341-c030-4996-b888-f032577d97b0"},
		{"unfinished quote ends with its line", "password=\"abc\nnext", "password=\"@\nnext"},
		{"Windows", `password=dom\new\pass1 x`, "password=@ x"},
		{"pod's environment", `{"name":"A_TOKEN","value":"abc"},{"name":"B","value":"c"}`, `{"name":"A_TOKEN","value":"@"},{"name":"B","value":"c"}`},
		{"flag", "FLAG: --token=\"abc\"", "FLAG: --token=\"@\""},
		{"kubelet's klog", `"x" err="password: \"a b\"" n=1`, `"x" err="password: \"@\"" n=1`},
		{"PHP", `$config["password"] => 'abc'`, `$config["password"] => '@'`},
		{"upper case", "PASSWORD: ABC", "PASSWORD: @"},
		{"already masked", "password=[masked:option:123456]", "password=[masked:option:123456]"},
		{"already masked, and more", "password=[masked:option:123456]abc", "password=@"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := redact.New([]byte("key"))
			got := r.Text("test", c.in)
			if short := placeholder.ReplaceAllString(got, "@"); short != c.want && got != c.want {
				t.Errorf("from %s\n  to %s\nwant %s", c.in, got, c.want)
			}
			if again := r.Text("test", got); again != got {
				t.Errorf("a second time: %s", again)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"rw,vers=3.0,username=bob,password=hunter2secret,uid=0", "rw,vers=3.0,username=bob,password=@,uid=0"},
		{"rw,password=a,b,c=d", "rw,password=@,c=d"},
		{"rw,password=a,ro,soft", "rw,password=@,ro,soft"},
		{"rw,password=", "rw,password="},
		{"rw,user=bob%pw,vers=3", "rw,user=bob%@,vers=3"},
		{"rw,name=admin,secret=" + cephKey + ",acl", "rw,name=admin,secret=@,acl"},
		{"rw,key=" + cephKey, "rw,key=@"},
		{"rw,pass=x,pass2=y", "rw,pass=@,pass2=@"},
		{"allow_other,access_key_id=" + awsID + ",secret_access_key=" + awsSecret, "allow_other,access_key_id=@,secret_access_key=@"},
		{"rw,url=https://a:b@c/d", "rw,url=https://a:@@c/d"},
		{"lowerdir=/var/lib/a:/var/lib/b,upperdir=/var/lib/c,workdir=/x", ""},
		{"rw,user_id=0,group_id=0,allow_other", ""},
		{"rw,name=admin,secretfile=/etc/ceph/admin.secret", ""},
		{"rw,credentials=/etc/smb.cred,vers=3", ""},
		{"rw,vers=4.1,rsize=1048576,namlen=255,hard,proto=tcp,timeo=600,sec=sys,clientaddr=10.0.0.7,local_lock=none,addr=10.0.0.5", ""},
		{"rw,ecryptfs_sig=0123456789abcdef,ecryptfs_cipher=aes,ecryptfs_key_bytes=16", ""},
		{"", ""},
		{",,=,", ""},
	} {
		want := c.want
		if want == "" {
			want = c.in
		}
		r := redact.New(nil)
		got := r.Options("mounts", c.in)
		if short := placeholder.ReplaceAllString(got, "@"); short != want {
			t.Errorf("from %s\n  to %s\nwant %s", c.in, got, want)
		}
		if again := r.Options("mounts", got); again != got {
			t.Errorf("a second time: %s", again)
		}
	}
}

func TestArgs(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"flag with =":               {"kubelet|--token=hunter2secret|--v=2", "kubelet|--token=@|--v=2"},
		"flag and word":             {"kubelet|--token|hunter2secret|--v=2", "kubelet|--token|@|--v=2"},
		"flag, flag and word":       {"x|--quiet|--token|a b|-v", "x|--quiet|--token|@|-v"},
		"value with blanks":         {"x|--password=a b, c=d", "x|--password=@"},
		"option list":               {"mount.cifs|//srv/x|/mnt|-o|user=a,password=b,ro", "mount.cifs|//srv/x|/mnt|-o|user=a,password=@,ro"},
		"option list, attached":     {"sshfs|-opassword=b|a:b|/mnt", "sshfs|-opassword=@|a:b|/mnt"},
		"option list, long":         {"x|--options=user=a,password=b|--opt|secret=c", "x|--options=user=a,password=@|--opt|secret=@"},
		"environment":               {"env|RCLONE_PASSWORD=b c|rclone", "env|RCLONE_PASSWORD=@|rclone"},
		"environment flag":          {"docker|run|-e|DB_PASSWORD=b c|--env=API_TOKEN=d e|-p|8080:80|img", "docker|run|-e|DB_PASSWORD=@|--env=API_TOKEN=@|-p|8080:80|img"},
		"literal":                   {"kubectl|create|--from-literal=password=b c", "kubectl|create|--from-literal=password=@"},
		"user and password":         {"curl|-u|bob:b c|https://x", "curl|-u|bob:@|https://x"},
		"user and password, samba":  {"smbclient|-U|bob%b c|//x/y", "smbclient|-U|bob%@|//x/y"},
		"uid and gid":               {"nsenter|-u|1000:1000", "nsenter|-u|1000:1000"},
		"header":                    {"curl|-H|Authorization: Bearer hunter2secret99", "curl|-H|Authorization: Bearer @"},
		"sshpass":                   {"/usr/bin/sshpass|-p|b c|ssh|host", "/usr/bin/sshpass|-p|@|ssh|host"},
		"docker login":              {"docker|login|-u|bob|-p|abc", "docker|login|-u|bob|-p|@"},
		"mysql, attached":           {"mysql|-pabc|db", "mysql|-p@|db"},
		"redis":                     {"redis-cli|-a|abc", "redis-cli|-a|@"},
		"-p of an unknown program":  {"tool|-p|S3cr3t!x", "tool|-p|@"},
		"-p that is a port":         {"ssh|-p|22|host", "ssh|-p|22|host"},
		"-p that is a path":         {"mkdir|-p|/a/b|-p|a/b|-p|dir-name", "mkdir|-p|/a/b|-p|a/b|-p|dir-name"},
		"URL":                       {"git|clone|https://bob:b@git.example/x", "git|clone|https://bob:@@git.example/x"},
		"shell script":              {"sh|-c|export DB_PASSWORD=b; run", "sh|-c|export DB_PASSWORD=@; run"},
		"AWS keys after a flag":     {"s3fs|--secret-key|" + awsSecret, "s3fs|--secret-key|@"},
		"TLS key in an argument":    {"x|--key-data|" + basicAuth + "|--key|" + randomKey, "x|--key-data|@|--key|@"},
		"iSCSI":                     {"iscsiadm|-o|update|-n|node.session.auth.password|-v|abc", "iscsiadm|-o|update|-n|node.session.auth.password|-v|@"},
		"iSCSI without a secret":    {"iscsiadm|-o|update|-n|node.startup|-v|manual", "iscsiadm|-o|update|-n|node.startup|-v|manual"},
		"password with a hyphen":    {"sshpass|-p|-abc1|ssh", "sshpass|-p|@|ssh"},
		"JSON":                      {`x|{"password":"a b"}`, `x|{"password":"@"}`},
		"files":                     {"kubelet|--tls-private-key-file=/etc/k|--token-file|/etc/t|--client-key=/a/b.key", "kubelet|--tls-private-key-file=/etc/k|--token-file|/etc/t|--client-key=/a/b.key"},
		"switches":                  {"kubelet|--rotate-token=true|--token|--v=2", "kubelet|--rotate-token=true|--token|--v=2"},
		"kubelet of 1.17":           {"/usr/bin/kubelet|--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf|--pod-infra-container-image=k8s.gcr.io/pause:3.1", "/usr/bin/kubelet|--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf|--pod-infra-container-image=k8s.gcr.io/pause:3.1"},
		"shim":                      {"containerd-shim-runc-v2|-namespace|k8s.io|-id|0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "containerd-shim-runc-v2|-namespace|k8s.io|-id|0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
		"last flag without a value": {"x|--token", "x|--token"},
		"empty":                     {"x||--token=|", "x||--token=|"},
	} {
		t.Run(name, func(t *testing.T) {
			in := strings.Split(c.in, "|")
			before := strings.Join(in, "|")
			r := redact.New(nil)
			out := r.Args("command lines", in)
			if len(out) != len(in) {
				t.Errorf("%d arguments, %d before", len(out), len(in))
			}
			if got := placeholder.ReplaceAllString(strings.Join(out, "|"), "@"); got != c.want {
				t.Errorf("from %s\n  to %s\nwant %s", c.in, strings.Join(out, "|"), c.want)
			}
			if diff := cmp.Diff(out, r.Args("command lines", out)); diff != "" {
				t.Errorf("a second time: %s", diff)
			}
			if strings.Join(in, "|") != before {
				t.Error("changed what it was given")
			}
		})
	}
	if got := redact.New(nil).Args("x", nil); got == nil || len(got) != 0 {
		t.Errorf("Args(nil) = %v", got)
	}
}

func TestURL(t *testing.T) {
	for in, want := range map[string]string{
		"//user:b@server/share":       "//user:@@server/share",
		"//user:b@c@server/share":     "//user:@@server/share",
		"user%b@server":               "user%@@server",
		"ftp://user:b@server/":        "ftp://user:@@server/",
		"https://x.example/a?token=b": "https://x.example/a?token=@",
		"10.0.0.5:6789:/k8s":          "", "server:/export": "", "/dev/mapper/vg-lv": "", "tmpfs": "", "admin@fsid.cephfs=/vol": "",
		"https://x.example/a": "", "user@host:/path": "", "": "", "@": "", ":@": "", "bob:@host": "", "[fd00::1]:/x": "",
	} {
		if want == "" {
			want = in
		}
		r := redact.New(nil)
		got := r.URL("mounts", in)
		if short := placeholder.ReplaceAllString(got, "@"); short != want {
			t.Errorf("from %s\n  to %s\nwant %s", in, got, want)
		}
		if again := r.URL("mounts", got); again != got {
			t.Errorf("a second time: %s", again)
		}
	}
}

// The same secret has the same digest within a run, however it is found and escaped, and another one with another key.
func TestConsistent(t *testing.T) {
	a, b := redact.New([]byte("a")), redact.New([]byte("b"))
	digest := func(s string) string {
		t.Helper()
		found := placeholder.FindStringSubmatch(s)
		if found == nil {
			t.Fatalf("nothing is masked in %s", s)
		}
		return found[1]
	}
	want := digest(a.Text("log", "password=x/1\"y"))
	for _, s := range []string{
		a.Text("log", `{"token":"x\/1\"y"}`),
		a.Text("log", `{"m":"{\"token\":\"x/1\\\"y\"}"}`),
		a.Text("log", "http://h/?a=1&token=x%2F1%22y"),
		a.Options("mount", "rw,secret=x/1\"y"),
		a.Args("args", []string{"x", "--token", "x/1\"y"})[2],
		a.URL("mount", "//u:x/1\"y@h"),
	} {
		if got := digest(s); got != want {
			t.Errorf("%s has another digest than %s", s, want)
		}
	}
	if digest(b.Text("log", "password=x/1\"y")) == want {
		t.Error("two keys give the same digest")
	}
}

func TestKeyIsCopied(t *testing.T) {
	key := []byte("key")
	r := redact.New(key)
	before := r.Text("log", "password=abc")
	clear(key)
	if after := r.Text("log", "password=abc"); after != before {
		t.Errorf("%s, then %s", before, after)
	}
}

func TestLedger(t *testing.T) {
	r := redact.New(nil)
	if got := r.Ledger(); got == nil || len(got) != 0 {
		t.Errorf("at the beginning: %v", got)
	}
	r.Text("log", "password=hunter2secret token=abc123 and https://a:b@c")
	r.Text("dump", "password=hunter2secret")
	r.Text("log", "password=hunter2secret")
	r.Options("mount cifs", "password=hunter2secret")
	r.Text("log", "nothing")
	want := []redact.LedgerEntry{
		{Where: "dump", Rule: "assignment", Count: 1},
		{Where: "log", Rule: "assignment", Count: 3},
		{Where: "log", Rule: "url", Count: 1},
		{Where: "mount cifs", Rule: "option", Count: 1},
	}
	if diff := cmp.Diff(want, r.Ledger()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestConcurrent(t *testing.T) {
	r := redact.New(nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				r.Text("log", "password=hunter2secret")
				r.Ledger()
			}
		})
	}
	all.Wait()
	if got := r.Ledger()[0].Count; got != 800 {
		t.Errorf("count = %d; want 800", got)
	}
}
