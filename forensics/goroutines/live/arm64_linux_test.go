package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// TestArm64Kernel reads programs of several versions of Go on a kernel for arm64, where that is asked for: see versionsVariable.
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
	for version := range strings.FieldsSeq("local " + os.Getenv(versionsVariable)) {
		m.Files[programs+"/"+version] = build(t, version, variants["arm64"].flags, variants["arm64"].env...)
	}
	testvm.Run(t, m)
}
