package mounts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want Mount
	}{
		"manual": {
			`36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`,
			Mount{
				ID: 36, ParentID: 35, Device: "98:0", Root: "/mnt1", MountPoint: "/mnt2", Options: "rw,noatime",
				Master: 1, FSType: "ext3", Class: ClassBlock, Source: "/dev/root", SuperOptions: "rw,errors=continue",
			},
		},
		"every optional field and unknown ones": {
			`1 2 0:5 / /a rw shared:7 new master:8 newer:x:y propagate_from:9 unbindable - tmpfs none rw`,
			Mount{
				ID: 1, ParentID: 2, Device: "0:5", Root: "/", MountPoint: "/a", Options: "rw",
				Shared: 7, Master: 8, PropagateFrom: 9, Unbindable: true,
				FSType: "tmpfs", Class: ClassMemory, Source: "none", SuperOptions: "rw",
			},
		},
		"escapes": {
			`1 2 0:5 /a\040b\134c /tab\011nl\012sp\040bs\134end rw - fuse.my\040fs \043host:/x\040y rw,lowerdir=/a\054b`,
			Mount{
				ID: 1, ParentID: 2, Device: "0:5", Root: `/a b\c`, MountPoint: "/tab\tnl\nsp bs\\end", Options: "rw",
				FSType: "fuse.my fs", Class: ClassFUSE, Source: "#host:/x y", SuperOptions: `rw,lowerdir=/a\054b`,
			},
		},
		"an escaped backslash before digits is no escape": {
			`1 2 0:5 / /a\134040 rw - tmpfs a\134134 rw`,
			Mount{
				ID: 1, ParentID: 2, Device: "0:5", Root: "/", MountPoint: `/a\040`, Options: "rw",
				FSType: "tmpfs", Class: ClassMemory, Source: `a\134`, SuperOptions: "rw",
			},
		},
		"what is no escape stays": {
			`1 2 0:5 /\777 /\04 rw - tmpfs a\08b\ rw`,
			Mount{
				ID: 1, ParentID: 2, Device: "0:5", Root: `/\777`, MountPoint: `/\04`, Options: "rw",
				FSType: "tmpfs", Class: ClassMemory, Source: `a\08b\`, SuperOptions: "rw",
			},
		},
		"invalid UTF-8, plain and escaped": {
			"1 2 0:5 / /\xff\\303\\244 rw - tmpfs none rw",
			Mount{
				ID: 1, ParentID: 2, Device: "0:5", Root: "/", MountPoint: "/\xffä", Options: "rw",
				FSType: "tmpfs", Class: ClassMemory, Source: "none", SuperOptions: "rw",
			},
		},
		"empty source": {
			`1 2 0:5 / /a rw - tmpfs  rw,size=1k`,
			Mount{
				ID: 1, ParentID: 2, Device: "0:5", Root: "/", MountPoint: "/a", Options: "rw",
				FSType: "tmpfs", Class: ClassMemory, Source: "", SuperOptions: "rw,size=1k",
			},
		},
		"source is a dash": {
			`1 2 0:5 / /a rw - tmpfs - rw`,
			Mount{
				ID: 1, ParentID: 2, Device: "0:5", Root: "/", MountPoint: "/a", Options: "rw",
				FSType: "tmpfs", Class: ClassMemory, Source: "-", SuperOptions: "rw",
			},
		},
		"Linux 3.9 cifs with spaces and a dash": {
			`1 2 0:5 / /a rw - cifs //srv/My\040Docs rw,unc=\\srv\My - Docs,uid=0`,
			Mount{
				ID: 1, ParentID: 2, Device: "0:5", Root: "/", MountPoint: "/a", Options: "rw",
				FSType: "cifs", Class: ClassNetwork, Source: "//srv/My Docs", SuperOptions: `rw,unc=\\srv\My - Docs,uid=0`,
			},
		},
		"removed root": {
			`1 2 254:0 /var/x//deleted /a rw - ext4 /dev/vda rw`,
			Mount{
				ID: 1, ParentID: 2, Device: "254:0", Root: "/var/x//deleted", MountPoint: "/a", Options: "rw",
				FSType: "ext4", Class: ClassBlock, Source: "/dev/vda", SuperOptions: "rw",
			},
		},
		"namespace file": {
			`652 25 0:4 net:[4026532277] /run/netns/cni-1 rw shared:331 - nsfs nsfs rw`,
			Mount{
				ID: 652, ParentID: 25, Device: "0:4", Root: "net:[4026532277]", MountPoint: "/run/netns/cni-1",
				Options: "rw", Shared: 331, FSType: "nsfs", Class: ClassPseudo, Source: "nsfs", SuperOptions: "rw",
			},
		},
		"IPv6 export": {
			`9 2 0:52 / /n rw,relatime shared:3 - nfs4 [fd00::1]:/export rw,vers=4.2,hard,addr=fd00::1`,
			Mount{
				ID: 9, ParentID: 2, Device: "0:52", Root: "/", MountPoint: "/n", Options: "rw,relatime", Shared: 3,
				FSType: "nfs4", Class: ClassNetwork, Source: "[fd00::1]:/export",
				SuperOptions: "rw,vers=4.2,hard,addr=fd00::1",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, errs := Parse(strings.NewReader(tc.text + "\n"))
			if len(errs) != 0 {
				t.Fatal(errs)
			}
			if diff := cmp.Diff([]Mount{tc.want}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

const goodLine = "36 35 98:0 /mnt1 /mnt2 rw - ext3 /dev/root rw\n"

func TestParseBadLines(t *testing.T) {
	for name, tc := range map[string]struct{ line, want string }{
		"text":                 {"hello", "too few fields"},
		"no mount point":       {"1 2 0:5 /", "too few fields"},
		"no optional fields":   {"1 2 0:5 / /a rw", "too few fields"},
		"no separator":         {"1 2 0:5 / /a rw shared:1 tmpfs none rw", `no field "-"`},
		"no source":            {"1 2 0:5 / /a rw - tmpfs", "too few fields"},
		"no superblock option": {"1 2 0:5 / /a rw - tmpfs none", "too few fields"},
		"no type":              {"1 2 0:5 / /a rw -  none rw", "too few fields"},
		"id is no number":      {"x 2 0:5 / /a rw - tmpfs none rw", "mount id: "},
		"id is negative":       {"-1 2 0:5 / /a rw - tmpfs none rw", "mount id: "},
		"parent is too large":  {"1 2147483648 0:5 / /a rw - tmpfs none rw", "parent id: "},
		"device has no colon":  {"1 2 5 / /a rw - tmpfs none rw", "is not major:minor"},
		"device is no number":  {"1 2 0:x / /a rw - tmpfs none rw", "device: "},
		"peer group":           {"1 2 0:5 / /a rw shared:x - tmpfs none rw", "peer group: "},
		"master":               {"1 2 0:5 / /a rw master: - tmpfs none rw", "master: "},
		"propagate_from":       {"1 2 0:5 / /a rw propagate_from - tmpfs none rw", "propagate_from: "},
		"too long":             {strings.Repeat("x", 3*maxLine), "longer than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			got, errs := Parse(strings.NewReader(goodLine + "\n" + tc.line + "\n" + goodLine))
			if len(got) != 2 {
				t.Errorf("mounts = %v; want the two good lines", got)
			}
			if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), "mountinfo line 3: ") ||
				!strings.Contains(errs[0].Error(), tc.want) {
				t.Errorf("errors = %v; want one for line 3 with %q", errs, tc.want)
			}
		})
	}
}

func TestParseManyBadLines(t *testing.T) {
	got, errs := Parse(strings.NewReader(strings.Repeat("x\n", 1000) + goodLine))
	if len(got) != 1 || len(errs) != maxLineErrors+1 {
		t.Fatalf("%d mounts, %d errors; want 1, %d", len(got), len(errs), maxLineErrors+1)
	}
	if want := "mountinfo: 900 more lines like these"; errs[maxLineErrors].Error() != want {
		t.Errorf("last error = %v; want %s", errs[maxLineErrors], want)
	}
}

// TestParseLongLine has a line that is longer than the reader's buffer, and than what bufio.Scanner takes.
func TestParseLongLine(t *testing.T) {
	options := "rw,lowerdir=" + strings.Repeat("/layer:", 20_000)
	text := goodLine + "1 2 0:5 / /a rw - overlay overlay " + options + "\n" + goodLine
	got, errs := Parse(iotest.HalfReader(strings.NewReader(text)))
	if len(errs) != 0 || len(got) != 3 || got[1].SuperOptions != options {
		t.Errorf("%d mounts, errors %v; want 3 with the long options", len(got), errs)
	}
}

func TestParseReaderFails(t *testing.T) {
	text := goodLine + goodLine + "1 2 0:5 / /a rw - tmpfs none r"
	boom := errors.New("boom")
	got, errs := Parse(io.MultiReader(strings.NewReader(text), iotest.ErrReader(boom)))
	if len(got) != 2 {
		t.Errorf("%d mounts; want the two whole lines", len(got))
	}
	if len(errs) != 1 || !errors.Is(errs[0], boom) || !strings.HasPrefix(errs[0].Error(), "mountinfo after line 2: ") {
		t.Errorf("errors = %v; want boom after line 2", errs)
	}
}

func TestParseEnds(t *testing.T) {
	for name, text := range map[string]string{
		"no newline at the end": strings.TrimSuffix(goodLine, "\n"),
		"blank lines":           "\n" + goodLine + "\n\n",
	} {
		if got, errs := Parse(strings.NewReader(text)); len(got) != 1 || len(errs) != 0 {
			t.Errorf("%s: %v, %v; want one mount", name, got, errs)
		}
	}
	if got, errs := Parse(strings.NewReader("")); got == nil || len(got) != 0 || len(errs) != 0 {
		t.Errorf("empty: %#v, %v; want an empty slice", got, errs)
	}
}

// format prints a mount as the kernel does, with "#" escaped everywhere.
func format(m Mount) string {
	escape := strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`, "#", `\043`)
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %s %s %s %s", m.ID, m.ParentID, m.Device, escape.Replace(m.Root), escape.Replace(m.MountPoint),
		m.Options)
	for _, group := range []struct {
		tag string
		id  int
	}{{"shared", m.Shared}, {"master", m.Master}, {"propagate_from", m.PropagateFrom}} {
		if group.id != 0 {
			fmt.Fprintf(&b, " %s:%d", group.tag, group.id)
		}
	}
	if m.Unbindable {
		b.WriteString(" unbindable")
	}
	fmt.Fprintf(&b, " - %s %s %s\n", escape.Replace(m.FSType), escape.Replace(m.Source), m.SuperOptions)
	return b.String()
}

// captures returns the mount tables of real kubelets.
func captures(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("testdata/*.mountinfo")
	if err != nil || len(names) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	found := map[string][]byte{}
	for _, name := range names {
		if found[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// TestParseCaptures prints what was parsed from real tables and wants the same bytes.
func TestParseCaptures(t *testing.T) {
	for name, text := range captures(t) {
		list, errs := Parse(bytes.NewReader(text))
		if len(errs) != 0 {
			t.Errorf("%s: %v", name, errs)
		}
		var printed strings.Builder
		for _, m := range list {
			printed.WriteString(format(m))
			if m.Class == ClassUnknown {
				t.Errorf("%s: type %s has no class", name, m.FSType)
			}
		}
		if diff := cmp.Diff(string(text), printed.String()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	// Lines one by one: the fuzzer takes minutes to make a long seed shorter.
	for line := range bytes.Lines(captures(f)["kubelet-1.17.4-hung-cephfs.mountinfo"]) {
		f.Add(line)
	}
	f.Add([]byte(goodLine + "bad\n" + `1 2 0:5 /\134 /a\040b rw unbindable x - fuse.a\011b  rw` + "\n"))
	f.Add([]byte("1 2 0:5 / /a rw shared:1 master:0002 - - - -"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := bytes.Count(text, []byte("\n")) + 1
		list, errs := Parse(bytes.NewReader(text))
		if len(list)+len(errs) > lines+1 {
			t.Errorf("%d mounts and %d errors of %d lines", len(list), len(errs), lines)
		}
		for _, err := range errs {
			var line int
			if _, scanErr := fmt.Sscanf(err.Error(), "mountinfo line %d:", &line); scanErr == nil && (line < 1 || line > lines) {
				t.Errorf("error of %d lines: %v", lines, err)
			}
		}
		var printed strings.Builder
		for _, m := range list {
			printed.WriteString(format(m))
		}
		again, errs := Parse(strings.NewReader(printed.String()))
		if len(errs) != 0 {
			t.Errorf("printed again: %v", errs)
		}
		if !slices.Equal(list, again) {
			t.Errorf("parse(print(x)) is not x: -want +got:\n%s", cmp.Diff(list, again))
		}
		x := (&Table{Mounts: list}).Index()
		for _, m := range list {
			x.Covering(m.MountPoint)
			x.Ancestors(m.ID)
		}
	})
}

// manyMounts prints a table like that of a node with n mounts, most of them of pods.
func manyMounts(n int) []byte {
	var b bytes.Buffer
	b.WriteString("27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n")
	b.WriteString("42 27 254:0 /var/lib/kubelet /var/lib/kubelet rw,relatime shared:2 - ext4 /dev/vda rw,discard\n")
	for i := 2; i < n; i++ {
		pod := fmt.Sprintf("/var/lib/kubelet/pods/%08x-c030-4996-b888-f032577d97b0", i/4)
		id := 100 + i
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, "%d 42 0:%d / %s/volumes/kubernetes.io~projected/kube-api-access-%d rw,relatime shared:%d - tmpfs tmpfs rw,size=3906250k\n", id, id, pod, i, id)
		case 1:
			fmt.Fprintf(&b, "%d 42 0:47 /volumes/pvc-%d %s/volumes/kubernetes.io~csi/pvc-%d/mount rw,nosuid,nodev,relatime shared:%d - ceph 10.0.0.5:6789:/k8s rw,name=admin,secret=<hidden>,acl\n", id, i, pod, i, id)
		case 2:
			fmt.Fprintf(&b, "%d 42 0:47 /volumes/pvc-%d %s/volume-subpaths/pvc-%d/app/0 rw,nosuid,nodev,relatime shared:%d - ceph 10.0.0.5:6789:/k8s rw,name=admin,secret=<hidden>,acl\n", id, i, pod, i, id)
		case 3:
			fmt.Fprintf(&b, "%d 27 0:%d / /run/containerd/io.containerd.runtime.v2.task/k8s.io/%064x/rootfs rw,relatime shared:%d - overlay overlay rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/1/fs,upperdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/%d/fs,workdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/%d/work\n", id, id, i, id, i, i)
		}
	}
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	text := manyMounts(3000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if list, errs := Parse(bytes.NewReader(text)); len(list) != 3000 || len(errs) != 0 {
			b.Fatal(len(list), errs)
		}
	}
}
