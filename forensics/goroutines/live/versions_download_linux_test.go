//go:build download

package live

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// The versions of Go to test with, and the variants of programs of each, separated by blanks. Without them, these are the oldest, a
// middle and the newest version whose programs are read. All that are known:
//
//	LIVE_GO_VERSIONS="1.13.15 1.14.15 1.15.15 1.16.15 1.17.13 1.18.10 1.19.13 1.20.14 1.21.13 1.22.12 1.23.12 1.24.11 1.25.5 1.27.0" \
//	LIVE_GO_VARIANTS="plain stripped pie arm64" go test -tags download -run TestOtherVersions ./forensics/goroutines/live
//
// With the variant "arm64-kernel", they run on a kernel of that processor, too (-run TestArm64Kernel), in a virtual machine that is emulated:
// qemu-system-aarch64 and the packages of package testvm are needed for that.
const (
	versionsVariable = "LIVE_GO_VERSIONS"
	variantsVariable = "LIVE_GO_VARIANTS"
	onKernel         = "arm64-kernel"
)

func otherVersions() string { return cmp.Or(os.Getenv(versionsVariable), "1.13.15 1.20.14 1.27.0") }

// TestOtherVersions is TestVersions with other versions of Go.
func TestOtherVersions(t *testing.T) {
	for version := range strings.FieldsSeq(otherVersions()) {
		for name := range strings.FieldsSeq(cmp.Or(os.Getenv(variantsVariable), "stripped arm64")) {
			if name == onKernel {
				continue
			}
			t.Run(version+"/"+name, func(t *testing.T) { compareVariant(t, version, variants[name]) })
		}
	}
}

// TestNewerVersionOfOthers is TestNewerVersion with programs that versions with other layouts have compiled.
func TestNewerVersionOfOthers(t *testing.T) {
	for version := range strings.FieldsSeq(otherVersions()) {
		t.Run(version, func(t *testing.T) { readAsNewer(t, version) })
	}
}

// TestArm64Kernel reads programs of several versions of Go on a kernel for arm64, where that is asked for.
func TestArm64Kernel(t *testing.T) {
	const programs = "/programs"
	if testvm.Inside() {
		if runtime.GOARCH != "arm64" {
			t.Fatal(runtime.GOARCH)
		}
		list, err := filepath.Glob(programs + "/*")
		if err != nil || len(list) == 0 {
			t.Fatal(list, err)
		}
		for _, name := range list {
			t.Run(filepath.Base(name), func(t *testing.T) { compare(t, exec.Command(name), Read) })
		}
		return
	}
	if !slices.Contains(strings.Fields(os.Getenv(variantsVariable)), onKernel) {
		return
	}
	m := testvm.Machine{Arch: "arm64", Files: map[string]string{}}
	for version := range strings.FieldsSeq("local " + otherVersions()) {
		m.Files[programs+"/"+version] = build(t, version, variants["arm64"].flags, variants["arm64"].env...)
	}
	testvm.Run(t, m)
}
