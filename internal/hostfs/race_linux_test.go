package hostfs

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// while runs something over and over until the test has done its own part.
func while(t *testing.T, disturb func(), test func()) {
	t.Helper()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				disturb()
			}
		}
	})
	test()
	close(stop)
	wg.Wait()
}

func exchange(t *testing.T, a, b string) {
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
		t.Error(err)
	}
}

// A container exchanges a directory of its volume for a link that leads out, and back, as fast as it can.
func TestRaceDirectoryAgainstLink(t *testing.T) {
	noDescriptorsLost(t)
	outside := tree(t, map[string]string{"file": "secret"})
	root := tree(t, map[string]string{"pods/vol/file": "good", "pods/evil": "-> " + outside, "pods/rel": "-> ../../" + filepath.Base(outside)})
	both(t, func(t *testing.T, weak bool) {
		d := openDir(t, root, weak)
		f := openFS(t, root, weak)
		seen := map[string]int{}
		note := func(data []byte, err error) {
			switch {
			case err == nil:
				seen[string(data)]++
			case errors.Is(err, nodefs.ErrSymlink):
				seen["link"]++
			default:
				seen[errors.Unwrap(err).Error()]++
			}
		}
		i := 0
		while(t, func() {
			exchange(t, root+"/pods/vol", root+"/pods/"+[]string{"evil", "rel"}[i%2])
			exchange(t, root+"/pods/vol", root+"/pods/"+[]string{"evil", "rel"}[i%2])
			i++
		}, func() {
			for n := 0; n < 3000 || (n < 200_000 && (seen["good"] == 0 || seen["link"] == 0)); n++ {
				note(d.ReadFile("pods/vol/file", 100))
				note(f.ReadFile("/pods/vol/file", 100))
				note(f.ReadFile("/pods/vol/../../pods/vol/file", 100))
			}
		})
		if seen["secret"] > 0 || seen["good"] == 0 || seen["link"] == 0 {
			t.Errorf("saw %v", seen)
		}
	})
}

// Moving a directory out of the root while a ".." is looked up from it must not make that ".." lead outside.
func TestRaceMoveOutOfTheRoot(t *testing.T) {
	top := tree(t, map[string]string{"root/a/b/c/file": "good", "root/file": "good", "secret": "secret", "outside/": ""})
	f := openFS(t, top+"/root", false)
	while(t, func() {
		_ = os.Rename(top+"/root/a/b", top+"/outside/b")
		_ = os.Rename(top+"/outside/b", top+"/root/a/b")
	}, func() {
		for range 5000 {
			for _, path := range []string{"a/b/c/../../../secret", "a/b/../../../secret", "a/b/c/../../../../secret"} {
				if data, err := f.ReadFile(path, 100); err == nil {
					t.Fatalf("read %q by %s", data, path)
				}
			}
		}
	})
}

// A FIFO that is opened despite O_NONBLOCK reads as an empty file.
func TestRaceFileAgainstFIFO(t *testing.T) {
	root := tree(t, map[string]string{"file": "good"})
	must(t, unix.Mkfifo(root+"/fifo", 0o644))
	both(t, func(t *testing.T, weak bool) {
		d := openDir(t, root, weak)
		f := openFS(t, root, weak)
		var good, refused int
		note := func(data []byte, err error) {
			switch {
			case err == nil && string(data) == "good":
				good++
			case errors.Is(err, nodefs.ErrNotRegular):
				refused++
			default:
				t.Errorf("%q, %v", data, err)
			}
		}
		while(t, func() { exchange(t, root+"/file", root+"/fifo") }, func() {
			for n := 0; n < 3000 || (n < 200_000 && (good == 0 || refused == 0)); n++ {
				note(d.ReadFile("file", 100))
				note(f.ReadFile("file", 100))
			}
		})
		if good == 0 || refused == 0 {
			t.Errorf("good %d, refused %d", good, refused)
		}
	})
}

// Names come and go while they are listed.
func TestRaceEntries(t *testing.T) {
	root := tree(t, map[string]string{"stays": "x"})
	d := openDir(t, root, false)
	while(t, func() {
		_ = os.WriteFile(root+"/goes", nil, 0o644)
		_ = os.Remove(root + "/goes")
	}, func() {
		for range 3000 {
			entries, err := d.Entries(10)
			if err != nil || len(entries) == 0 || entries[len(entries)-1].Name != "stays" {
				t.Fatalf("%v, %v", entries, err)
			}
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	noDescriptorsLost(t)
	root := tree(t, map[string]string{"a/file": "x"})
	both(t, func(t *testing.T, weak bool) {
		f, err := open(root, weak)
		must(t, err)
		d, err := f.OpenDir("/")
		must(t, err)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 200 {
					if _, err := d.ReadFile("a/file", 10); err != nil && !errors.Is(err, os.ErrClosed) {
						t.Error(err)
					}
					if _, err := f.ReadFile("a/file", 10); err != nil && !errors.Is(err, os.ErrClosed) {
						t.Error(err)
					}
				}
			})
		}
		must(t, d.Close())
		must(t, f.Close())
		wg.Wait()
	})
}
