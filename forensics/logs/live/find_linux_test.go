package live

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// A disk is a tree of files: name and text. Times are of the same order as the list; a text that begins with "-> " is a
// symbolic link.
type entry struct{ name, text string }

func disk(t testing.TB, entries ...entry) *hostfs.FS {
	t.Helper()
	root := t.TempDir()
	for i, e := range entries {
		name := filepath.Join(root, e.name)
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		target, isLink := strings.CutPrefix(e.text, "-> ")
		if err == nil && isLink {
			err = os.Symlink(target, name)
		} else if err == nil {
			err = os.WriteFile(name, []byte(e.text), 0o644)
			at := noon.Add(time.Duration(i) * time.Minute)
			if err == nil {
				err = os.Chtimes(name, at, at)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fsys, err := hostfs.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.Close() })
	return fsys
}

// journalText is the beginning of a journal that holds nothing but a text behind its header.
func journalText(text string) string {
	head := make([]byte, 208)
	copy(head, "LPKSHHRH")
	binary.LittleEndian.PutUint64(head[88:], uint64(len(head)))
	binary.LittleEndian.PutUint64(head[96:], uint64(len(text)))
	return string(head) + text
}

// journalctl is a program that takes its place: a shell script.
func journalctl(t testing.TB, script string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "journalctl")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func paths(sources []logs.Source) (names []string) {
	for _, s := range sources {
		names = append(names, s.Path)
	}
	return names
}

// noon is when the logs of the tests begin, and collected when they were read.
var (
	noon      = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	collected = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

// lines are so many lines of a kubelet, a second apart.
func lines(from time.Time, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "I%s    2588 a.go:1] orphaned pod %d\n", from.Add(time.Duration(i)*time.Second).Format("0102 15:04:05.000000"), i)
	}
	return b.String()
}

// readOne reads one log and returns what is told of it.
func readOne(t testing.TB, source logs.Source, opt logs.Options) logs.File {
	t.Helper()
	opt.Now = collected
	return logs.Read(t.Context(), []logs.Source{source}, opt).Files[0]
}

const one = "I1120 12:00:00.000000    2588 a.go:1] x\n"

func TestTheLogsOfANodeAreFound(t *testing.T) {
	const pods = "/var/log/pods/kube-system_kube-controller-manager-master-1_0123/kube-controller-manager/"
	for _, c := range []struct {
		name    string
		entries []entry
		want    []string
		notes   []string
	}{
		{name: "nothing", notes: []string{"journal absent", "kubelet absent", "kernel absent"}},
		{
			name: "syslog daemon", want: []string{"/var/log/syslog.3.gz", "/var/log/syslog.2", "/var/log/syslog.1", "/var/log/syslog"},
			entries: []entry{{"/var/log/syslog.3.gz", "x"}, {"/var/log/syslog.2", "x"}, {"/var/log/syslog.1", "x"}, {"/var/log/syslog", "Nov 20 12:00:00 h kubelet[1]: " + one}, {"/var/log/kern.log", "x"}, {"/var/log/syslog.old", "x"}, {"/var/log/syslog-ng.log", "x"}},
			notes:   []string{"journal absent"},
		},
		{
			name: "messages by date, one in a compression that is not read", want: []string{"/var/log/messages-20261115.zst", "/var/log/messages"},
			entries: []entry{{"/var/log/messages-20261108.xz", "x"}, {"/var/log/messages-20261115.zst", "x"}, {"/var/log/messages", "x"}},
			notes:   []string{"journal absent", "/var/log/messages-20261108.xz malformed", "kubelet absent"},
		},
		{
			name: "rke2 and the kernel's file", want: []string{"/var/lib/rancher/rke2/agent/logs/kubelet-2026-11-20T10-00-00.000.log.gz", "/var/lib/rancher/rke2/agent/logs/kubelet.log", "/var/lib/rancher/rke2/agent/containerd/containerd.log", "/var/log/kern.log"},
			entries: []entry{{"/var/lib/rancher/rke2/agent/logs/kubelet-2026-11-20T10-00-00.000.log.gz", "x"}, {"/var/lib/rancher/rke2/agent/logs/kubelet.log", one}, {"/var/lib/rancher/rke2/agent/containerd/containerd.log", "x"}, {"/var/log/kern.log", "x"}},
			notes:   []string{"journal absent"},
		},
		{
			name: "directory of klog", want: []string{"/var/log/kubelet.h.root.log.INFO.20261119-000000.1", "/var/log/kubelet.h.root.log.INFO.20261120-000000.2", "/var/log/dmesg"},
			entries: []entry{{"/var/log/kubelet.h.root.log.INFO.20261119-000000.1", one}, {"/var/log/kubelet.h.root.log.ERROR.20261119-000000.1", one}, {"/var/log/kubelet.h.root.log.INFO.20261120-000000.2", one}, {"/var/log/kubelet.INFO", "-> kubelet.h.root.log.INFO.20261120-000000.2"}, {"/var/log/dmesg", "x"}},
			notes:   []string{"journal absent"},
		},
		{
			name: "docker's kubelet", want: []string{"/var/log/syslog", "/var/lib/docker/containers/bb/bb-json.log"},
			entries: []entry{{"/var/log/syslog", "x"}, {"/var/lib/docker/containers/aa/config.v2.json", `{"Name":"/web"}`}, {"/var/lib/docker/containers/aa/aa-json.log", "x"}, {"/var/lib/docker/containers/bb/config.v2.json", `{"Name":"/kubelet"}`}, {"/var/lib/docker/containers/bb/bb-json.log", "x"}},
			notes:   []string{"journal absent"},
		},
		{
			name: "controller manager, linked as docker does it", want: []string{"/var/log/k3s.log", pods + "0.log.20261120-110000.gz", pods + "0.log"},
			entries: []entry{{"/var/lib/docker/containers/cc/cc-json.log", "x"}, {"/var/log/k3s.log", one}, {pods + "0.log.20261120-110000.gz", "x"}, {pods + "1.log", ""}, {pods + "0.log", "-> /var/lib/docker/containers/cc/cc-json.log"}},
			notes:   []string{"journal absent", "kernel absent"},
		},
		{
			name: "what is old is left out", want: []string{"/var/log/kern.log"},
			entries: []entry{{"/var/log/kubelet.log", one}, {"/var/log/a", "x"}, {"/var/log/b", "x"}, {"/var/log/c", "x"}, {"/var/log/kern.log", "x"}},
			notes:   []string{"journal absent", "kubelet absent"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			since := noon
			if strings.Contains(c.name, "old") {
				since = noon.Add(2 * time.Minute)
			}
			sources, files := Find(t.Context(), disk(t, c.entries...), FindOptions{Since: since})
			var notes []string
			for _, f := range files {
				notes = append(notes, f.Path+" "+f.Status)
			}
			if strings.Contains(c.name, "linked") { // its time is that of what it leads to
				slices.Sort(c.want)
				got := paths(sources)
				slices.Sort(got)
				if !slices.Equal(got, c.want) {
					t.Errorf("%q, want %q", got, c.want)
				}
			} else if !slices.Equal(paths(sources), c.want) {
				t.Errorf("%q, want %q", paths(sources), c.want)
			}
			if !slices.Equal(notes, c.notes) {
				t.Errorf("notes %q, want %q", notes, c.notes)
			}
		})
	}
}

// TestTheKubeletsLogOfDistributions: those that have no journal, by their files. Files of the node come first; where the kubelet is in
// another mount namespace, also those that only it sees.
func TestTheKubeletsLogOfDistributions(t *testing.T) {
	for _, c := range []struct {
		name      string
		node, own []entry
		known     []string
		want      []string
	}{
		{name: "Talos", node: []entry{{"/var/log/kubelet.log.1", one}, {"/var/log/kubelet.log", one}}, want: []string{"/var/log/kubelet.log.1", "/var/log/kubelet.log"}},
		{name: "k3s agent with OpenRC", node: []entry{{"/var/log/k3s-agent.log", one}}, want: []string{"/var/log/k3s-agent.log"}},
		{name: "k3s server with OpenRC", node: []entry{{"/var/log/k3s.log", one}}, want: []string{"/var/log/k3s.log"}},
		{name: "rke2", node: []entry{{"/var/lib/rancher/rke2/agent/logs/kubelet.log", one}}, want: []string{"/var/lib/rancher/rke2/agent/logs/kubelet.log"}},
		{name: "CCE", node: []entry{{"/var/log/cce/kubernetes/kubelet.log", one}}, want: []string{"/var/log/cce/kubernetes/kubelet.log"}},
		{name: "a log of another program", node: []entry{{"/var/log/k3s-agent-install.log", one}, {"/var/log/kubelet-notes.txt", one}}},
		{
			name: "its output, in its mount namespace", known: []string{"/opt/kubelet.out"},
			node: []entry{{"/opt/kubelet.out", "of the node\n"}}, own: []entry{{"/opt/kubelet.out.1", one}, {"/opt/kubelet.out", one}},
			want: []string{"/opt/kubelet.out.1", "/opt/kubelet.out"},
		},
		{name: "only in its mount namespace", own: []entry{{"/var/log/kubelet.log", one}}, want: []string{"/var/log/kubelet.log"}},
		{
			name: "in both, which are perhaps the same file",
			node: []entry{{"/var/log/kubelet.log", one}}, own: []entry{{"/var/log/kubelet.log", one}}, want: []string{"/var/log/kubelet.log"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt := FindOptions{Since: noon.Add(-time.Hour), Kubelet: c.known}
			if c.own != nil {
				opt.KubeletFS = disk(t, c.own...)
			}
			sources, _ := Find(t.Context(), disk(t, c.node...), opt)
			if !slices.Equal(paths(sources), c.want) {
				t.Errorf("%q, want %q", paths(sources), c.want)
			}
			for _, s := range sources {
				if got := readOne(t, s, logs.Options{}); got.Status != "read" || got.Bytes != int64(len(one)) {
					t.Errorf("%s: %+v", s.Path, got)
				}
			}
		})
	}
}

func TestTheJournalIsAsked(t *testing.T) {
	const record = `{"__REALTIME_TIMESTAMP":"1795176000000000","SYSLOG_IDENTIFIER":"kubelet","_PID":"2588","MESSAGE":"I1120 12:00:00.000000    2588 a.go:1] orphaned pod"}`
	files := []entry{{"/var/log/journal/0123/system.journal", journalText("x")}, {"/var/log/syslog", "x"}}
	for _, c := range []struct {
		name, script string
		want         []string
		status       map[string]string
	}{
		{"both", "echo '" + record + "'", []string{"journal:kubelet", "journal:runtime", "journal:kernel"}, map[string]string{"journal:kubelet": "read", "journal:kernel": "read"}},
		{"half of it: the rest is in the syslog", `case "$*" in *kernel*|*docker*) exit 1;; esac; echo '` + record + "'", []string{"journal:kubelet", "/var/log/syslog"}, map[string]string{"journal:kubelet": "read", "journal:kernel": "absent", "/var/log/syslog": "read"}},
		{"systemd before 236", `case "$*" in *output-fields*) echo "journalctl: unrecognized option '--output-fields=x'" >&2; exit 1;; esac; echo '` + record + "'", []string{"journal:kubelet", "journal:runtime", "journal:kernel"}, map[string]string{"journal:kubelet": "read"}},
		{"not permitted", `echo "Hint: You are currently not seeing messages from other users and the system." >&2; exit 1`, []string{"/var/log/syslog"}, map[string]string{"journal:kubelet": "denied"}},
		{"fails", `echo "cannot" >&2; exit 1`, []string{"/var/log/syslog"}, map[string]string{"journal:kubelet": "malformed"}},
		{"fails after some records", "echo '" + record + "'; echo 'Input/output error' >&2; exit 1", []string{"journal:kubelet", "journal:runtime", "journal:kernel"}, map[string]string{"journal:kubelet": "malformed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sources, notes := Find(t.Context(), disk(t, files...), FindOptions{Since: noon, Journalctl: journalctl(t, c.script)})
			if !slices.Equal(paths(sources), c.want) {
				t.Errorf("%q, want %q", paths(sources), c.want)
			}
			all := append(logs.Read(t.Context(), sources, logs.Options{Now: collected}).Files, notes...)
			for name, status := range c.status {
				i := slices.IndexFunc(all, func(f logs.File) bool { return f.Path == name })
				if i < 0 || all[i].Status != status {
					t.Errorf("%s is not %s: %+v", name, status, all)
				}
			}
		})
	}
}

// TestTheJournalIsAskedForAnotherService has a k3s that was installed as k3s-edge, with and without a kubelet in a usual service.
func TestTheJournalIsAskedForAnotherService(t *testing.T) {
	dir := t.TempDir()
	record := func(unit string) string {
		file := filepath.Join(dir, unit)
		text := `{"__REALTIME_TIMESTAMP":"1795176000000000","SYSLOG_IDENTIFIER":"k3s","_TRANSPORT":"stdout","_SYSTEMD_UNIT":"` + unit +
			`.service","_PID":"2588","MESSAGE":"E1120 12:00:00.000000    2588 kubelet_volumes.go:263] \"There were many similar errors. Turn up verbosity to see them.\" err=\"orphaned pod \\\"5c948341-c030-4996-b888-f032577d97b0\\\" found, but failed to rmdir() volume at path /x: directory not empty\" numErrs=1"}` + "\n"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return "/bin/cat " + file
	}
	for _, c := range []struct {
		name, unit, script string
		origin             string // of the message; "" is none
	}{
		{"another service", "k3s-edge", `case "$*" in *--unit=k3s-edge*) ` + record("k3s-edge") + `;; esac`, "kubelet"},
		{"a usual one", "k3s-edge", `case "$*" in *--unit=k3s-edge*) echo 'asked for both' >&2;; *--unit=k3s*) ` + record("k3s") + `;; esac`, "kubelet"},
		{"neither", "k3s-edge", `exit 0`, ""},
		{"a service that nobody names", "", `case "$*" in *k3s-edge*) ` + record("k3s-edge") + `;; esac`, ""},
		{"another service's record", "k3s-edge", `case "$*" in *--unit=k3s-edge*) ` + record("other") + `;; esac`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := disk(t, entry{"/var/log/journal/0123/system.journal", journalText("x")})
			sources, _ := Find(t.Context(), fsys, FindOptions{Since: noon.Add(-time.Hour), Journalctl: journalctl(t, c.script), KubeletUnit: c.unit})
			story := logs.Read(t.Context(), sources, logs.Options{Now: collected})
			origin := ""
			if len(story.Events) > 0 {
				origin = story.Events[0].Origin
			}
			if origin != c.origin {
				t.Errorf("events %+v; want one of %q", story.Events, c.origin)
			}
		})
	}
}

func TestTheJournalIsAskedForWhatIsWanted(t *testing.T) {
	fsys := disk(t, entry{"/var/log/journal/0123/system.journal", journalText("x")})
	said := filepath.Join(t.TempDir(), "arguments")
	_, _ = Find(t.Context(), fsys, FindOptions{Since: noon, Journalctl: journalctl(t, `echo "$*" >> `+said)})
	text, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"--output=json", "--no-pager", fmt.Sprintf("--since=@%d", noon.Unix()), "--file=/proc/self/fd/3",
		"--unit=kubelet ", // kubeadm, EKS, GKE, AKS, Bottlerocket, minikube
		"--unit=k3s ", "--unit=rke2-server", "--unit=rke2-agent", "--unit=snap.microk8s.daemon-kubelite", "--unit=snap.kubelet-eks.daemon", "--unit=k0sworker",
		"--unit=k3s-agent", "--unit=containerd", "_TRANSPORT=kernel", "--lines=",
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
}

func TestAJournalThatDoesNotAnswerIsLeftBehind(t *testing.T) {
	fsys := disk(t, entry{"/var/log/journal/0123/system.journal", journalText("x")}, entry{"/var/log/kern.log", "x"})
	started := filepath.Join(t.TempDir(), "started")
	program := journalctl(t, "echo $$ > "+started+".$$; exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // when both have been started
		for {
			names, _ := filepath.Glob(started + ".*")
			if len(names) == 3 {
				cancel()
				return
			}
			if ctx.Err() != nil {
				return
			}
		}
	}()
	sources, notes := Find(ctx, fsys, FindOptions{Since: noon, Journalctl: program})
	if !slices.Equal(paths(sources), []string{"/var/log/kern.log"}) {
		t.Errorf("%q", paths(sources))
	}
	for _, f := range notes[:3] {
		if f.Status != "timeout" {
			t.Errorf("%+v", f)
		}
	}
	names, _ := filepath.Glob(started + ".*")
	for _, name := range names {
		pid := strings.TrimPrefix(filepath.Ext(name), ".")
		if _, err := os.Stat("/proc/" + pid); err == nil {
			if state, _ := os.ReadFile("/proc/" + pid + "/stat"); !strings.Contains(string(state), ") Z ") {
				t.Errorf("process %s goes on: %s", pid, state)
			}
		}
	}
}

// hooked does something when it is read for the first time.
type hooked struct {
	io.ReadCloser
	hook func()
}

func (h *hooked) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p[:min(len(p), 1000)])
	if h.hook != nil {
		h.hook()
		h.hook = nil
	}
	return n, err
}

func (h *hooked) Changed(read int64) string {
	return h.ReadCloser.(interface{ Changed(int64) string }).Changed(read)
}

func TestALogThatChangesWhileItIsReadIsTold(t *testing.T) {
	name := "/var/log/kubelet.log"
	for _, c := range []struct {
		says string
		hook func(path string) error
	}{
		{"truncated while it was read", func(path string) error { return os.Truncate(path, 100) }},
		{"rotated while it was read", func(path string) error {
			if err := os.Rename(path, path+".1"); err != nil {
				return err
			}
			return os.WriteFile(path, []byte(one), 0o644)
		}},
		{"removed while it was read", os.Remove},
	} {
		t.Run(c.says, func(t *testing.T) {
			fsys := disk(t, entry{name, lines(noon, 1000)})
			source := FileSource(fsys, name, "kubelet")
			open := source.Open
			source.Open = func(ctx context.Context) (io.ReadCloser, error) {
				log, err := open(ctx)
				return &hooked{log, func() {
					if err := c.hook(filepath.Join(fsys.Root(), name)); err != nil {
						t.Error(err)
					}
				}}, err
			}
			file := readOne(t, source, logs.Options{})
			if file.Status != "truncated" || !strings.Contains(file.Detail, c.says) {
				t.Errorf("%+v", file)
			}
		})
	}
}

func TestTheKernelsRingIsRead(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the kernel's log needs root")
	}
	fsys, err := hostfs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.Close() })
	source := logs.Source{Path: "/dev/kmsg", Origin: "kernel", Open: func(context.Context) (io.ReadCloser, error) { return fsys.OpenKernelLog() }}
	file := readOne(t, source, logs.Options{Boot: noon})
	if file.Status != "read" || file.Lines == 0 || file.First == nil || file.Format != "kmsg" {
		t.Errorf("%+v", file)
	}
}

// TestNoContainerIsTakenForTheKubelet has what docker writes of containers: of its own kubelet, as RKE1 starts it, and of pods
// that would like to be it.
func TestNoContainerIsTakenForTheKubelet(t *testing.T) {
	const line = `{"log":"x\n","stream":"stderr","time":"2026-11-21T11:00:00.0Z"}`
	for _, c := range []struct {
		name, config string
		want         bool
	}{
		{"RKE1's kubelet", `{"ID":"0123","Name":"/kubelet","Config":{"Labels":{"io.rancher.rke.container.name":"kubelet"}}}`, true},
		{"hyperkube", `{"ID":"0123","Name":"/hyperkube","Config":{"Labels":null}}`, true},
		{"a label of an image", `{"ID":"0123","Name":"/k8s_web_web_shop_5c948341-c030-4996-b888-f032577d97b0_0","Config":{"Labels":{"Name":"/kubelet"}}}`, false},
		{"a container called kubelet in a pod", `{"ID":"0123","Name":"/k8s_kubelet_kubelet_shop_5c948341-c030-4996-b888-f032577d97b0_0","Config":{"Labels":{"io.kubernetes.pod.uid":"5c948341-c030-4996-b888-f032577d97b0"}}}`, false},
		{"half a configuration", `{"Name":"/kubelet","Config":{"Lab`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := disk(t, entry{"/var/lib/docker/containers/0123/config.v2.json", c.config}, entry{"/var/lib/docker/containers/0123/0123-json.log", line})
			sources, _ := Find(t.Context(), fsys, FindOptions{})
			if found := slices.Contains(paths(sources), "/var/lib/docker/containers/0123/0123-json.log"); found != c.want {
				t.Errorf("%q, want the container's log: %t", paths(sources), c.want)
			}
		})
	}
}

func TestAnybodyMayWriteToTheSyslog(t *testing.T) {
	fsys := disk(t, entry{"/var/log/syslog", "Nov 21 11:00:00 n kubelet[1]: x\n"}, entry{"/var/log/kubelet.log", "x\n"})
	sources, _ := Find(t.Context(), fsys, FindOptions{})
	for _, f := range logs.Read(t.Context(), sources, logs.Options{Now: noon}).Files {
		if want := f.Path == "/var/log/syslog"; f.AnyWriter != want {
			t.Errorf("%s: any writer is %t, want %t", f.Path, f.AnyWriter, want)
		}
	}
	if !slices.Contains(paths(sources), "/var/log/syslog") {
		t.Errorf("%q", paths(sources))
	}
}

// TestTheJournalOfAnotherMachineIsReadOpen has a disk whose journal leads to this machine's: journalctl gets no path that a
// link of the disk could bend, but files that are open.
func TestTheJournalOfAnotherMachineIsReadOpen(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "own.journal")
	if err := os.WriteFile(outside, []byte(journalText("of the analyst")), 0o600); err != nil {
		t.Fatal(err)
	}
	fsys := disk(t, entry{"/var/log/journal/0123/system.journal", journalText("of the disk")}, entry{"/var/log/journal/0123/user.journal", "-> " + outside},
		entry{"/var/log/journal/0123/up.journal", "-> " + strings.Repeat("../", 40) + outside[1:]}, entry{"/var/log/journal/4567", "-> " + filepath.Dir(outside)},
		entry{"/var/log/journal/0123/inside.journal", "-> /var/log/journal/0123/system.journal"},
		entry{"/var/log/journal/0123/cut.journal", journalText("cut")[:210]}, entry{"/var/log/journal/0123/empty.journal", strings.Repeat("\x00", 300)})
	if err := syscall.Mkfifo(filepath.Join(fsys.Root(), "/var/log/journal/0123/trap.journal"), 0o600); err != nil {
		t.Fatal(err)
	}
	said := filepath.Join(t.TempDir(), "read")
	script := `for a; do case $a in --file=*) tail -c +209 "${a#--file=}" >> ` + said + `.$$; echo >> ` + said + `.$$;; --directory*) exit 1;; esac; done`
	_, _ = Find(t.Context(), fsys, FindOptions{Since: noon, Journalctl: journalctl(t, script)})
	names, _ := filepath.Glob(said + ".*")
	if len(names) != 3 {
		t.Fatalf("%q, want what three calls have read", names)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if want := "of the disk\nof the disk\n"; err != nil || string(text) != want {
			t.Errorf("read %q, %v; want %q", text, err, want)
		}
	}
}
