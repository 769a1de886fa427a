package plan

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScriptFailsClosed lets each program that the script looks with fail in some way while something speaks against the step.
func TestScriptFailsClosed(t *testing.T) {
	if !alone(t) {
		return
	}
	for name, obstacle := range map[string]func(tr tree){
		"a process stands in it": func(tr tree) { sleeper(tr, filepath.Join(tr.pod(uidA), nfs)) },
		"mounted elsewhere": func(tr tree) {
			elsewhere(tr, `mount -t tmpfs none "$1"`, filepath.Join(tr.pod(uidA), nfs))
			elsewhere(tr, `mount -t tmpfs none "$1"`, filepath.Join(tr.pod(uidA), csi, "mount"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t)
			tr.write(uidA, nfs+"/", "")
			tr.write(uidA, csi+"/vol_data.json", volData)
			tr.write(uidA, csi+"/mount/", "")
			script := plan(t, tr.report("1.17.4"))
			obstacle(tr)
			before := links(t, tr.root)
			for _, tool := range []string{"awk", "find", "grep", "xargs", "sort", "tr", "head"} {
				for _, how := range []string{"exit 0", "exit 1", `"$real" "$@" | head -c 20`} {
					if out, status := tr.run(failing(t, script, tool, how), "--apply"); strings.Contains(out, "done  ") {
						t.Errorf("%s: %s: exit status %d", tool, how, status)
					}
				}
			}
			if diff := cmp.Diff(before, links(t, tr.root)); diff != "" {
				t.Errorf("something was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// failing lets a script have a program that fails.
func failing(t *testing.T, script []byte, tool, how string) []byte {
	t.Helper()
	bin := t.TempDir()
	program, err := exec.LookPath(tool)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(bin, tool), fmt.Appendf(nil, "#!/bin/sh\nreal=%s\nPATH=/usr/bin:/bin\n%s\n", program, how), 0o755)) //nolint:gosec // it has to be executable
	return bytes.Replace(script, []byte("\nPATH=/usr/sbin:"), []byte("\nPATH="+bin+":/usr/sbin:"), 1)
}
