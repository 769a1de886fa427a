package collect

import (
	"errors"
	"strings"
	"testing"
)

func TestFollow(t *testing.T) {
	links := map[string]string{
		"/var/run": "/run", "/var/lib/kubelet": "../../data/kubelet", "/data": "/disks/1/", "/a": "b", "/b": "a", "/root": "/", "/dead/link": "/never",
	}
	safe := func(name string) bool { return name != "/dead" && !strings.HasPrefix(name, "/dead/") }
	link := func(name string) (string, error) {
		if !safe(name) {
			t.Errorf("%s was read", name)
		}
		if to, ok := links[name]; ok {
			return to, nil
		}
		return "", errors.New("no link")
	}
	for name, want := range map[string]string{
		"/":                                 "/",
		"/etc/x":                            "/etc/x",
		"/var/run/a/b":                      "/run/a/b",
		"/var/lib/kubelet/pods/1":           "/disks/1/kubelet/pods/1",
		"/var/lib/../lib/kubelet":           "/disks/1/kubelet",
		"/dead/link/x":                      "/dead/link/x",
		"/root":                             "/",
		"/root/dead/link":                   "/dead/link",
		"/a/x":                              "/a/x", // a loop
		"/data/a\xff\n":                     "/disks/1/a\xff\n",
		strings.Repeat("/root", 40):         "/",
		strings.Repeat("/root", 41):         strings.Repeat("/root", 41),
		"/etc" + strings.Repeat("/x", 2000): "/etc" + strings.Repeat("/x", 2000),
	} {
		if got := follow(name, safe, link); got != want {
			t.Errorf("%.60s leads to %.60s, want %.60s", name, got, want)
		}
	}
}
