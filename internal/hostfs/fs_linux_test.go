package hostfs

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

func TestResolve(t *testing.T) {
	noDescriptorsLost(t)
	root := tree(t, map[string]string{
		"etc/hostname":         "node",
		"var/lib/kubelet/pods": "x",
		"var/log/pods/p/0.log": "line",
		"abs":                  "-> /etc/hostname",
		"data/kubelet":         "-> /var/lib/kubelet",
		"rel":                  "-> data/../data/./kubelet",
		"chain1":               "-> chain2/lib",
		"chain2":               "-> /var/",
		"escape":               "-> ../../../../../../../../etc/hostname",
		"escape-dir":           "-> /../..",
		"loop":                 "-> loop",
		"ping":                 "-> pong",
		"pong":                 "-> ping",
		"dangling":             "-> /nowhere/at/all",
		"through-file":         "-> etc/hostname/x",
		"self":                 "-> .",
	})
	f := openFS(t, root, false)
	for _, c := range []struct {
		name, path, want string
		err              error
	}{
		{name: "root", path: "/", want: "/"},
		{name: "empty is the root", path: "", want: "/"},
		{name: "no leading slash", path: "etc", want: "/etc"},
		{name: "slashes and dots", path: "//etc/.///hostname/", want: "/etc/hostname"},
		{name: "dot dot at the root", path: "/../../etc", want: "/etc"},
		{name: "absolute target restarts at the root", path: "/abs", want: "/etc/hostname"},
		{name: "directory link in the middle", path: "/data/kubelet/pods", want: "/var/lib/kubelet/pods"},
		{name: "dot dot after a link is the target's parent", path: "/data/kubelet/..", want: "/var/lib"},
		{name: "relative target with dots", path: "/rel/pods", want: "/var/lib/kubelet/pods"},
		{name: "link to link", path: "/chain1/kubelet", want: "/var/lib/kubelet"},
		{name: "dots never leave the root", path: "/escape", want: "/etc/hostname"},
		{name: "absolute dots never leave the root", path: "/escape-dir/etc", want: "/etc"},
		{name: "forty links", path: strings.Repeat("/self", 40) + "/etc", want: "/etc"},
		{name: "forty-one links", path: strings.Repeat("/self", 41) + "/etc", err: nodefs.ErrTooManyLinks},
		{name: "loop", path: "/loop", err: nodefs.ErrTooManyLinks},
		{name: "loop of two", path: "/ping/x", err: nodefs.ErrTooManyLinks},
		{name: "dangling", path: "/dangling", err: fs.ErrNotExist},
		{name: "file as directory", path: "/etc/hostname/x", err: unix.ENOTDIR},
		{name: "link through a file", path: "/through-file", err: unix.ENOTDIR},
		{name: "missing", path: "/etc/x", err: fs.ErrNotExist},
		{name: "long name", path: "/" + strings.Repeat("x", 256), err: unix.ENAMETOOLONG},
		{name: "NUL", path: "/etc\x00/hostname", err: unix.EINVAL},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := f.Resolve(c.path)
			if c.err != nil {
				wantErr(t, c.path, err, c.err)
			} else if err != nil || got != c.want {
				t.Errorf("Resolve(%q) = %q, %v; want %q", c.path, got, err, c.want)
			}
		})
	}
}

// What is outside the root must not be reachable, however one asks.
func TestNothingOutsideTheRoot(t *testing.T) {
	outside := tree(t, map[string]string{"secret": "secret"})
	root := tree(t, map[string]string{
		"abs":       "-> " + outside + "/secret",
		"abs-dir":   "-> " + outside,
		"dots":      "-> ../../../../../../../../.." + outside + "/secret",
		"deep/dots": "-> ../../../../../../../../.." + outside,
		"proc":      "-> /proc/self/root" + outside,
	})
	both(t, func(t *testing.T, weak bool) {
		f := openFS(t, root, weak)
		d := openDir(t, root, weak)
		for _, path := range []string{
			"abs", "abs-dir/secret", "dots", "deep/dots/secret", "proc/secret",
			"../../../../../../../.." + outside + "/secret", outside + "/secret",
		} {
			if data, err := f.ReadFile(path, 100); err == nil {
				t.Errorf("FS read %q from %s", data, path)
			}
			if data, err := d.ReadFile(path, 100); err == nil {
				t.Errorf("Dir read %q from %s", data, path)
			}
			if _, err := d.OpenDir(path); err == nil {
				t.Errorf("Dir opened %s", path)
			}
		}
	})
}

func TestMagicLinks(t *testing.T) {
	f := openFS(t, "/", false)
	must(t, os.Chdir("/"))
	for _, path := range []string{"/proc/self/root", "/proc/self/cwd/etc", "/proc/self/exe", "/proc/self/ns/mnt", "/proc/thread-self/root/etc"} {
		_, err := f.Resolve(path)
		wantErr(t, path, err, nodefs.ErrSymlink)
	}
	got, err := f.Resolve("/proc/mounts") // a link of text, by way of another one
	if err != nil || !strings.HasPrefix(got, "/proc/") || !strings.HasSuffix(got, "/mounts") || strings.Contains(got, "self") {
		t.Errorf("/proc/mounts is %q, %v", got, err)
	}
	if target, err := f.ReadLink("/proc/self/root"); err != nil || target != "/" {
		t.Errorf("its text is %q, %v", target, err)
	}
	proc, err := f.OpenDir("/proc")
	must(t, err)
	defer proc.Close()
	self, err := proc.ReadLink("self")
	must(t, err)
	for _, path := range []string{self + "/root/etc/passwd", self + "/exe", "self/stat"} {
		_, err := proc.ReadFile(path, 100)
		wantErr(t, path, err, nodefs.ErrSymlink)
	}
	for _, path := range []string{self + "/root/etc/mtab", self + "/cwd/proc/self"} {
		_, err := proc.ReadLink(path)
		wantErr(t, path, err, nodefs.ErrSymlink)
	}
	if _, err := proc.ReadLink(self + "/fd/0"); err != nil {
		t.Error(err)
	}
}

func TestReadLinkAndLstat(t *testing.T) {
	root := tree(t, map[string]string{
		"file": "12345", "dir/": "", "link": "-> file", "linkdir": "-> dir", "dir/up": "-> ../file",
		"long": "-> " + strings.Repeat("/abcdefgh", 400),
	})
	both(t, func(t *testing.T, weak bool) {
		f := openFS(t, root, weak)
		d := openDir(t, root, weak)
		for path, want := range map[string]string{
			"link": "file", "dir/up": "../file", "long": strings.Repeat("/abcdefgh", 400),
		} {
			if got, err := f.ReadLink("/" + path); err != nil || got != want {
				t.Errorf("FS.ReadLink(%s) = %q, %v", path, got, err)
			}
			if got, err := d.ReadLink(path); err != nil || got != want {
				t.Errorf("Dir.ReadLink(%s) = %q, %v", path, got, err)
			}
		}
		if got, err := f.ReadLink("/linkdir/up"); err != nil || got != "../file" {
			t.Errorf("FS.ReadLink below a link = %q, %v", got, err)
		}
		_, err := f.ReadLink("/file")
		wantErr(t, "readlink of a file", err, unix.EINVAL)
		_, err = d.ReadLink("file")
		wantErr(t, "readlink of a file", err, unix.EINVAL)
		_, err = d.ReadLink("linkdir/up")
		wantErr(t, "readlink below a link", err, nodefs.ErrSymlink)
		for path, want := range map[string]fs.FileMode{"file": 0, "dir": fs.ModeDir, "link": fs.ModeSymlink, ".": fs.ModeDir} {
			ours, err := d.Lstat(path)
			must(t, err)
			if ours.Mode.Type() != want {
				t.Errorf("Dir.Lstat(%s) is of type %v", path, ours.Mode)
			}
			same, err := f.Lstat("/" + path)
			must(t, err)
			if diff := cmp.Diff(same, ours); diff != "" {
				t.Errorf("%s: -FS +Dir\n%s", path, diff)
			}
		}
	})
}

func TestLstatSaysWhatOSSays(t *testing.T) {
	root := tree(t, map[string]string{"file": "12345", "dir/": "", "link": "-> file"})
	must(t, os.Chmod(root+"/file", 0o741|fs.ModeSetuid|fs.ModeSticky))
	must(t, os.Chmod(root+"/dir", 0o750|fs.ModeSetgid))
	special(t, root)
	f := openFS(t, root, false)
	for _, name := range []string{"file", "dir", "link", "fifo", "socket", "device", "block"} {
		want, err := os.Lstat(root + "/" + name)
		if err != nil {
			continue // made by root only
		}
		got, err := f.Lstat(name)
		must(t, err)
		if got.Mode != want.Mode() || got.Size != want.Size() || !got.ModTime.Equal(want.ModTime()) {
			t.Errorf("%s: %+v, want %v %d %v", name, got, want.Mode(), want.Size(), want.ModTime())
		}
		var st unix.Stat_t
		must(t, unix.Lstat(root+"/"+name, &st))
		wantInfo := nodefs.Info{
			Mode: got.Mode, Size: got.Size, ModTime: got.ModTime, Blocks: st.Blocks, ChangeTime: got.ChangeTime,
			Dev: st.Dev, Ino: st.Ino, Nlink: uint64(st.Nlink), UID: st.Uid, GID: st.Gid, //nolint:unconvert // uint32 on arm64
		}
		if diff := cmp.Diff(wantInfo, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if sec, nsec := st.Ctim.Unix(); got.ChangeTime.Unix() != sec || int64(got.ChangeTime.Nanosecond()) != nsec {
			t.Errorf("%s changed %v", name, got.ChangeTime)
		}
	}
}

func TestOpen(t *testing.T) {
	root := tree(t, map[string]string{"file": "x", "link": "-> ."})
	for path, want := range map[string]error{"": fs.ErrInvalid, root + "/file": unix.ENOTDIR, root + "/none": fs.ErrNotExist} {
		_, err := Open(path)
		wantErr(t, path, err, want)
	}
	f := openFS(t, root+"/link//", false)
	if f.Root() != root+"/link" || f.Live() {
		t.Errorf("root %q, live %v", f.Root(), f.Live())
	}
	if _, err := f.ReadFile("file", 10); err != nil {
		t.Error(err)
	}
	if live := openFS(t, "//", false); live.Root() != "/" || !live.Live() {
		t.Errorf("root %q, live %v", live.Root(), live.Live())
	}
}

func TestClosed(t *testing.T) {
	noDescriptorsLost(t)
	f, err := Open(tree(t, map[string]string{"file": "x"}))
	must(t, err)
	d, err := f.OpenDir("/")
	must(t, err)
	file, err := f.OpenFile("/file")
	must(t, err)
	must(t, f.Close())
	if _, err := d.ReadFile("file", 10); err != nil {
		t.Errorf("the directory closed with the FS: %v", err)
	}
	must(t, d.Close())
	must(t, file.Close())
	_, err = f.Resolve("/")
	wantErr(t, "closed FS", err, fs.ErrClosed)
	_, err = d.ReadFile("file", 10)
	wantErr(t, "closed Dir", err, fs.ErrClosed)
	_, err = d.Entries(10)
	wantErr(t, "closed Dir", err, fs.ErrClosed)
	_, err = file.Read(make([]byte, 1))
	wantErr(t, "closed File", err, fs.ErrClosed)
	wantErr(t, "closed FS", f.Close(), fs.ErrClosed)
	wantErr(t, "closed Dir", d.Close(), fs.ErrClosed)
	wantErr(t, "closed File", file.Close(), fs.ErrClosed)
}
