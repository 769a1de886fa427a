package hostfs

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// procFiles are what is read of every process of the node.
var procFiles = []string{"stat", "status", "cgroup"}

// processes returns the names of all processes, or those of as many entries as a busy node has if there are fewer.
func processes(b *testing.B) []string {
	entries, err := openFS(b, "/", false).ReadDir("/proc", 1<<20)
	must(b, err)
	var pids []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name); err == nil {
			pids = append(pids, e.Name)
		}
	}
	return pids
}

func benchmarkProc(b *testing.B, read func(buf []byte, rel string) ([]byte, error)) {
	pids := processes(b)
	files := 0
	buf := make([]byte, 0, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		files = 0
		for _, pid := range pids {
			for _, name := range procFiles {
				var err error
				if buf, err = read(buf[:0], pid+"/"+name); err == nil {
					files++
				}
			}
		}
	}
	if files == 0 {
		b.Fatal("read nothing")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(files), "ns/file")
}

func BenchmarkProcAppend(b *testing.B) {
	for name, weak := range map[string]bool{"openat2": false, "weak": true} {
		b.Run(name, func(b *testing.B) {
			proc, err := openFS(b, "/", weak).OpenDir("/proc")
			must(b, err)
			defer proc.Close()
			benchmarkProc(b, func(buf []byte, rel string) ([]byte, error) { return proc.Append(buf, rel, 64<<10) })
		})
	}
}

// BenchmarkProcOS is what package os needs for the same.
func BenchmarkProcOS(b *testing.B) {
	benchmarkProc(b, func(_ []byte, rel string) ([]byte, error) { return os.ReadFile("/proc/" + rel) })
}

// BenchmarkProcKernel is what the kernel itself needs, and so the lower bound.
func BenchmarkProcKernel(b *testing.B) {
	benchmarkProc(b, func(buf []byte, rel string) ([]byte, error) {
		fd, err := unix.Open("/proc/"+rel, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		_, err = unix.Read(fd, buf[:cap(buf)])
		_ = unix.Close(fd)
		return buf, err
	})
}

func BenchmarkReadLink(b *testing.B) {
	proc, err := openFS(b, "/", false).OpenDir("/proc")
	must(b, err)
	defer proc.Close()
	self, err := proc.ReadLink("self")
	must(b, err)
	fds, err := proc.OpenDir(self + "/fd")
	must(b, err)
	defer fds.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := fds.ReadLink("0"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLstat(b *testing.B) {
	root := tree(b, map[string]string{"pods/uid/volumes/plugin/name/file": "x"})
	for name, weak := range map[string]bool{"openat2": false, "weak": true} {
		b.Run(name, func(b *testing.B) {
			d := openDir(b, root, weak)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Lstat("pods/uid/volumes/plugin/name/file"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
