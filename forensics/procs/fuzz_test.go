package procs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("26459 (a) (b)" + statTail))
	f.Add([]byte("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 21"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseStat(text)
		if err != nil {
			if s != (Stat{}) {
				t.Errorf("half a result %+v with %v", s, err)
			}
			return
		}
		if s.ID <= 0 || s.State == "" {
			t.Errorf("ParseStat = %+v", s)
		}
		line := fmt.Sprintf("%d (%s) %s %d 0 0 0 0 %d 0 0 0 0 0 0 0 0 0 0 %d 0 %d", s.ID, s.Comm, s.State, s.PPID, s.Flags, s.Threads, s.StartTicks)
		if s.Processor != -1 {
			line += strings.Repeat(" 0", fieldProcessor-fieldStart-1) + fmt.Sprintf(" %d", s.Processor)
		}
		if again, err := ParseStat([]byte(line)); err != nil || again != s {
			t.Errorf("ParseStat(%q) = %+v, %v; want %+v", line, again, err, s)
		}
	})
}

func FuzzParseSyscall(f *testing.F) {
	f.Add("262 0xffffffffffffff9c 0x63d87030c40 0x63d865286b8 0x0 0x0 0x0 0x63d86fdf1e8 0x40e50e\n")
	f.Add("-1 0x7ffe0895bbf8 0x499303")
	f.Add("running")
	f.Fuzz(func(t *testing.T, text string) {
		s, ok := ParseSyscall(text)
		if !ok {
			if s.Args != nil || s.Number != 0 {
				t.Errorf("half a result %+v", s)
			}
			return
		}
		if len(s.Args) != syscallArgs || s.Number < 0 {
			t.Errorf("ParseSyscall(%q) = %+v", text, s)
		}
		line := fmt.Sprintf("%d %s", s.Number, strings.Join(s.Args, " "))
		if again, ok := ParseSyscall(line); !ok || !slices.Equal(again.Args, s.Args) || again.Number != s.Number {
			t.Errorf("ParseSyscall(%q) = %+v, %t; want %+v", line, again, ok, s)
		}
	})
}

func FuzzCgroup(f *testing.F) {
	f.Add("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + systemdUID + ".slice/crio-" + cid + ".scope/container")
	f.Add("11:memory:/kubepods/pod" + staticUID + "/" + cid + "\n0::/\n")
	f.Fuzz(func(t *testing.T, text string) {
		check := func(path, pod, container string) {
			if n := len(pod); n != 0 && n != uuidLength && n != staticUIDLength || strings.Contains(pod, "_") {
				t.Errorf("pod UID %q in %q", pod, path)
			}
			if !strings.Contains(strings.ReplaceAll(path, "_", "-"), pod) || !strings.Contains(path, container) {
				t.Errorf("%q and %q are not in %q", pod, container, path)
			}
			if container != "" && (len(container) != containerIDLength || countHex(container) != containerIDLength) {
				t.Errorf("container id %q in %q", container, path)
			}
		}
		pod, container := PodFromCgroup(text)
		check(text, pod, container)
		path, pod, container := ParseCgroup([]byte(text))
		if !strings.Contains(text, path) {
			t.Errorf("ParseCgroup(%q) = %q", text, path)
		}
		check(path, pod, container)
	})
}

func FuzzClassifyWait(f *testing.F) {
	files, err := filepath.Glob("testdata/*.threads.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no captures", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for thread := range strings.SplitSeq(string(text), "## ") {
			f.Add("request_wait_answer", thread)
		}
	}
	f.Add("percpu_rwsem_wait", "percpu_rwsem_wait\n__percpu_down_read\nvfs_write")
	f.Add("0", "0x\npath_openat")
	f.Fuzz(func(t *testing.T, wchan, stack string) {
		frames := ParseStack(stack)
		w := ClassifyWait(wchan, frames)
		if w.Kind == WaitUnknown {
			if w != (Wait{}) {
				t.Errorf("unknown, but %+v", w)
			}
			return
		}
		if w.Meaning == "" {
			t.Errorf("no meaning: %+v", w)
		}
		known := append(slices.Clone(frames), wchan)
		if !slices.ContainsFunc(known, func(frame string) bool { return frameName(frame) == w.Function }) {
			t.Errorf("function %q is not among %q", w.Function, known)
		}
		if again := ClassifyWait(wchan, strings.Split(stack, "\n")); len(frames) > 0 && again.Kind != w.Kind {
			t.Errorf("lines give %+v, names %+v", again, w)
		}
	})
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("Uid:\t0\t0\t0\t0\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s := ParseStatus(text); s.UID < -1 || !s.Counted && s.Switches != 0 {
			t.Errorf("ParseStatus = %+v", s)
		}
		_ = ParseStack(string(text))
	})
}
