package redact_test

import (
	"encoding/base64"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/redact"
)

// hostile are words of which a pod can make a command line that is much work to look through.
var hostile = map[string]string{
	"assignments":     "key=",
	"passwords":       "password:",
	"tokens":          "token=,",
	"URLs":            "://",
	"users":           "//a:b/",
	"at signs":        "a:b@",
	"braces":          "{{{{",
	"secrets":         "secrets:{",
	"open maps":       `secrets="map[a:{`,
	"double escapes":  "%25%25",
	"escaped":         "%25252525",
	"base64":          base64.StdEncoding.EncodeToString([]byte("password=password=password=")),
	"quotes":          `password="'`,
	"open quotes":     `token='token="`,
	"backslashes":     `\\\\`,
	"escaped quotes":  `token=\\\"`,
	"private keys":    "-----BEGIN RSA PRIVATE KEY-----",
	"bearers":         "Bearer ",
	"headers":         "Authorization: Digest a=b,",
	"hashes":          "$6$",
	"programs":        "mysql -",
	"redis":           "redis-cli a ",
	"shells":          `sh -c "mysql '`,
	"pipes":           "echo | cryptsetup ",
	"JWT":             "eyJ.",
	"cookies":         "Cookie:[",
	"kinds":           `"kind":"Secret"`,
	"angles":          "token=<",
	"commas":          "password=a,",
	"dots":            "s.aaaaaa.",
	"foreign":         "密码",
	"placeholders":    "[masked:",
	"whole":           "[masked:x:123456]",
	"line ends":       "token:\n",
	"blocks":          "password: |\n ",
	"JSON in JSON":    `{\"password\":\"`,
	"unicode escapes": `\u0070assword=`,
	"nothing":         "a",
	"blanks":          "token ",
	"lists":           `token:["a",`,
	"user=":           "user=a%",
	"here strings":    "<<<a",
	"quoted quotes":   `'"'"'`,
	"HTML":            "&quot;password&#34;:",
	"Vault's keys":    "Unseal Key 1:",
	"QEMU's secrets":  "secret,data=",
	"SCRAM":           "SCRAM-SHA-256$a",
	"pairs of Vault":  "vault kv put a b=c ",
}

// work is how much of the processor a text takes, as an argument and as a text.
func work(t testing.TB, text string) time.Duration {
	t.Helper()
	r := redact.New([]byte("key"))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := processor(t)
	r.Args("x", []string{"sh", "-c", text})
	r.Text("x", text)
	r.Options("x", text)
	r.URL("x", text)
	return processor(t) - began
}

// processor is what this thread has had of the processor.
func processor(t testing.TB) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}

// A pod writes 64 KiB into its command line, and none of it takes long: before there were budgets, one took 7.8 s.
func TestHostileFieldsEndSoon(t *testing.T) {
	for name, word := range hostile {
		for _, tail := range []string{"", " ", "x"} {
			word += tail
			text := strings.Repeat(word, 64<<10/len(word))
			if d := work(t, text); d > time.Second {
				t.Errorf("%s take %v", name, d)
			}
		}
	}
}

func BenchmarkHostile(b *testing.B) {
	for name, word := range hostile {
		b.Run(name, func(b *testing.B) {
			factor := 0.0
			for b.Loop() {
				once := work(b, strings.Repeat(word, 14<<10/len(word)))
				twice := work(b, strings.Repeat(word, 28<<10/len(word)))
				factor = float64(twice) / float64(once)
			}
			b.ReportMetric(factor, "factor")
		})
	}
}
