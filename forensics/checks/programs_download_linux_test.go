//go:build download

package checks

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// toolchains are the releases of Go that the program in testdata/programs is built with: the oldest that the go command can
// fetch. Others that print differently: go1.12.17, go1.16.15, go1.17.13, go1.20.14, go1.21.13, go1.23.12.
var toolchains = flag.String("toolchains", "go1.9.7", "releases of Go to build the blocked program with")

// TestProgramsOfOtherReleases is TestPrograms with other releases of Go.
func TestProgramsOfOtherReleases(t *testing.T) {
	for toolchain := range strings.SplitSeq(*toolchains, ",") {
		t.Run(toolchain, func(t *testing.T) { judgeProgram(t, toolchain) })
	}
}

// TestProgramsGRPC judges dumps of a real program that asks a container runtime and a CSI driver by gRPC over a unix
// socket: a process that takes questions and answers none. As a module it has the names of kubelets from 1.25 on.
func TestProgramsGRPC(t *testing.T) {
	for _, toolchain := range []string{"local", "go1.21.13"} {
		t.Run(toolchain, func(t *testing.T) {
			binary := buildModule(t, toolchain)
			socket := filepath.Join(t.TempDir(), "s")
			launch(t, func() {}, binary, "serve", socket).awaitLine(t, "serves")
			p := launch(t, func() {}, binary, "ask", socket)
			p.awaitLine(t, "ready")
			dumps := p.dumps(t, func() {})
			for _, form := range []string{"debug2", "abort"} {
				t.Run(form, func(t *testing.T) {
					aged := regexp.MustCompile(`\[select\]:`).ReplaceAll(dumps[form], []byte("[select, 4 minutes]:"))
					e := forensics.NewEvidence()
					addRealDump(t, &e, aged)
					a := forensics.Analyze(&e, All())
					if got, want := sorted(summaries(a)), []string{
						"csi-operation-stuck warning subsystem volume-manager",
						"kubelet-pleg-unhealthy warning subsystem pleg because runtime runtime",
						"runtime-unresponsive critical runtime runtime",
					}; !slices.Equal(got, want) {
						t.Errorf("findings = %q, want %q", got, want)
					}
					wantText(t, a, "csi-operation-stuck", "NodePublishVolume")
					wantText(t, a, "runtime-unresponsive", "for ListPodSandbox: 1 goroutine", "not a file system")
				})
			}
			for _, form := range []string{"debug1", "debug0"} {
				e := forensics.NewEvidence()
				addRealDump(t, &e, dumps[form])
				if a := forensics.Analyze(&e, All()); len(a.Findings) > 0 {
					t.Errorf("%s: two questions under way are called a fault: %q", form, summaries(a))
				}
			}
		})
	}
}

// buildModule builds testdata/grpc with a release of Go.
func buildModule(t *testing.T, toolchain string) string {
	t.Helper()
	recordSources(t, "testdata/grpc")
	out := filepath.Join(t.TempDir(), "kubelet")
	cmd := exec.Command("go", "build", "-o", out, "./cmd/kubelet")
	cmd.Dir = "testdata/grpc"
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain, "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0")
	text, err := cmd.CombinedOutput()
	switch {
	case err != nil && (bytes.Contains(text, []byte("download")) || bytes.Contains(text, []byte("dial tcp"))):
		t.Skipf("%s, or the modules, cannot be had: %s", toolchain, text)
	case err != nil:
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}
