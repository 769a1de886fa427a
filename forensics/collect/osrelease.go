package collect

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// osName is the name of the distribution as the kubelet tells it ("kubectl get nodes -o wide", OS-IMAGE): PRETTY_NAME
// of os-release(5). It is "" where there is no such file.
func osName(fsys *hostfs.FS) (string, error) {
	for _, name := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		text, err := fsys.ReadFile(name, 64<<10)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return prettyName(string(text)), err
	}
	return "", nil
}

// prettyName reads an assignment as a shell does for the quoting that os-release(5) allows.
func prettyName(text string) string {
	for line := range strings.Lines(text) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME=")
		if !ok {
			continue
		}
		for _, quote := range []string{`"`, `'`} {
			if inner, ok := strings.CutPrefix(value, quote); ok {
				value = strings.TrimSuffix(inner, quote)
				break
			}
		}
		return strings.NewReplacer(`\"`, `"`, `\$`, `$`, "\\`", "`", `\\`, `\`).Replace(value)
	}
	return ""
}

func (c *collector) offlineNode(context.Context) (forensics.Evidence, error) {
	name, err1 := c.fs.ReadFile("/etc/hostname", 4096)
	system, err2 := osName(c.fs)
	return forensics.Evidence{Node: forensics.Node{Name: firstLine(name), OS: system}}, errors.Join(err1, err2)
}
