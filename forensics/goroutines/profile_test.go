package goroutines

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func gz(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestWriteProfile(t *testing.T) {
	d := parseOne(t, readFixture(t, captures[0]+"/debug2.txt.gz"))
	var b bytes.Buffer
	if err := WriteProfile(&b, d); err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var total int64
	var hung *profile.Sample
	for _, s := range p.Sample {
		total += s.Value[0]
		if s.Label["role"][0] == "sync loop" {
			hung = s
		}
	}
	if total != int64(len(d.Goroutines)) {
		t.Errorf("samples hold %d goroutines, want %d", total, len(d.Goroutines))
	}
	if hung == nil || hung.Label["state"][0] != "syscall" || hung.NumLabel["wait"][0] != 12 || hung.NumUnit["wait"][0] != "minutes" ||
		hung.Label["created_by"][0] != "k8s.io/kubernetes/cmd/kubelet/app.startKubelet" {
		t.Errorf("sample of the sync loop: %+v", hung)
	}
}

// What was written reads back with the same stacks, inlined calls included.
func TestWriteProfileRoundTrip(t *testing.T) {
	for _, c := range captures {
		d := parseOne(t, readFixture(t, c+"/debug2.txt.gz"))
		var b bytes.Buffer
		if err := WriteProfile(&b, d); err != nil {
			t.Fatal(err)
		}
		strip := func(d Dump) map[string]int {
			stacks := map[string]int{}
			for _, g := range d.Goroutines {
				var s strings.Builder
				for i, f := range g.Frames {
					// The outermost can be inlined into a wrapper that no form shows.
					if f.Inlined && i < len(g.Frames)-1 {
						s.WriteString("inlined ")
					}
					s.WriteString(f.Func + " " + f.File + "\n")
				}
				stacks[s.String()] += g.Count
			}
			return stacks
		}
		diff(t, c, strip(d), strip(parseOne(t, b.Bytes())))
	}
}

// go tool pprof opens it and finds the state.
func TestWriteProfileForPprof(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command: ", err)
	}
	file := filepath.Join(t.TempDir(), "out.pb.gz")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteProfile(f, parseOne(t, readFixture(t, captures[0]+"/debug2.txt.gz"))); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(goTool, "tool", "pprof", "-top", "-tagfocus=state=syscall", "-focus=IsLikelyNotMountPoint", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "k8s.io/utils/mount.(*Mounter).IsLikelyNotMountPoint") {
		t.Errorf("pprof prints\n%s", out)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestWriteProfileError(t *testing.T) {
	boom := errors.New("boom")
	if err := WriteProfile(failingWriter{boom}, Dump{}); !errors.Is(err, boom) {
		t.Errorf("error = %v", err)
	}
}

func TestKubeletVersion(t *testing.T) {
	for c, want := range map[string]string{captures[0]: "1.17.4", captures[1]: "1.34.4"} {
		for _, form := range []string{"debug2.txt.gz", "debug1.txt.gz", "debug0.pb.gz"} {
			if got, ok := KubeletVersion(parseOne(t, readFixture(t, c+"/"+form))); got != want || !ok {
				t.Errorf("%s %s: %q, %v", c, form, got, ok)
			}
		}
	}
	tests := []struct{ name, file, want string }{
		{"module", "/root/go/pkg/mod/k8s.io/kubernetes@v1.34.4/pkg/kubelet/kubelet.go", "1.34.4"},
		{"k3s", "/go/pkg/mod/github.com/k3s-io/kubernetes@v1.28.5-k3s1/pkg/kubelet/kubelet.go", "1.28.5-k3s1"},
		{"trimmed path", "k8s.io/kubernetes@v1.30.2/pkg/kubelet/kubelet.go", "1.30.2"},
		{"trimmed path of a module", "github.com/k3s-io/kubernetes@v1.30.2-k3s1/pkg/kubelet/kubelet.go", "1.30.2-k3s1"},
		{"anago", "/workspace/anago-v1.16.3-beta.0.55+2d3c76f9091b6b/src/k8s.io/kubernetes/_output/dockerized/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go", "1.16.3"},
		{"anago release", "/workspace/anago-v1.13.12/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go", "1.13.12"},
		{"pseudo version", "/go/pkg/mod/k8s.io/kubernetes@v1.28.6-0.20240115000000-abcdef012345/pkg/x.go", "1.28"},
		{"staging", "/go/pkg/mod/k8s.io/client-go@v0.29.3/x.go", "1.29.3"},
		{"cAdvisor", "/go/pkg/mod/github.com/google/cadvisor@v0.44.1/fs/fs.go", "1.24"},
		{"cAdvisor of two minors", "/go/pkg/mod/github.com/google/cadvisor@v0.35.0/fs/fs.go", ""},
		{"GOPATH", "/go/src/k8s.io/kubernetes/_output/dockerized/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go", ""},
		{"trimpath", "pkg/kubelet/kubelet.go", ""},
		{"other version", "/x/kubernetes@v2.1.0/x.go", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			frame := Frame{Func: "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).Run", File: test.file}
			got, ok := KubeletVersion(Dump{Goroutines: []Goroutine{{Frames: []Frame{frame}}}})
			if got != test.want || ok != (test.want != "") {
				t.Errorf("%q, %v; want %q", got, ok, test.want)
			}
			frame.Func = "main.main"
			if got, ok := KubeletVersion(Dump{Goroutines: []Goroutine{{Frames: []Frame{frame}}}}); ok {
				t.Errorf("no kubelet: %q", got)
			}
		})
	}
	t.Run("the best hint wins", func(t *testing.T) {
		creator := Frame{Func: "k8s.io/kubernetes/pkg/kubelet.x", File: "/k8s.io/kubernetes@v1.34.4/x.go"}
		g := Goroutine{Frames: []Frame{{File: "/google/cadvisor@v0.44.1/x.go"}, {File: "/k8s.io/client-go@v0.29.3/x.go"}}, CreatedBy: &creator}
		if got, _ := KubeletVersion(Dump{Goroutines: []Goroutine{g}}); got != "1.34.4" {
			t.Errorf("%q", got)
		}
	})
}
