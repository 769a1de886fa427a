package report

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

// addStack shows the innermost frames. Arguments are those of one goroutine and mean nothing for a group.
func (row *groupRow) addStack(frames []goroutines.Frame, creator *goroutines.Frame, args bool) {
	const deepest = 60
	row.Top = cell(telling(frames), 160)
	if creator != nil {
		row.Creator = cell(shortFunc(creator.Func), 160)
	}
	for _, f := range frames[:min(len(frames), deepest)] {
		row.Frames = append(row.Frames, newFrame(f, args))
	}
	if len(frames) > deepest {
		row.Note = fmt.Sprintf("%d outer frames are not shown.", len(frames)-deepest)
	}
}

func newFrame(f goroutines.Frame, args bool) shown {
	call := shortFunc(f.Func)
	if args {
		call += "(" + f.Args + ")"
	}
	line := cell(call, 200)
	if f.File != "" {
		line += "  " + cell(path.Base(f.File)+":"+strconv.Itoa(f.Line), 80)
	}
	return line
}

func stackNote(g goroutines.Goroutine) string {
	switch {
	case g.Elided > 0:
		return "The Go runtime omitted frames in the middle."
	case g.Cut:
		return "The dump lacks the outer frames."
	}
	return ""
}

// telling is the innermost function that shows what a goroutine does.
func telling(frames []goroutines.Frame) string {
	plumbing := []string{"runtime.", "syscall.", "internal/", "os.", "sync.", "golang.org/x/sys/", "net.", "bufio.", "io.", "time."}
	for _, f := range frames {
		if !slices.ContainsFunc(plumbing, func(p string) bool { return strings.HasPrefix(f.Func, p) }) {
			return shortFunc(f.Func)
		}
	}
	if len(frames) > 0 {
		return shortFunc(frames[len(frames)-1].Func)
	}
	return ""
}

// shortFunc drops the import path up to the last two elements: "pkg/kubelet.(*Kubelet).syncLoop".
func shortFunc(name string) string {
	dir, base := path.Split(name)
	if i := strings.IndexByte(name, '['); i >= 0 && i < len(dir) {
		return name
	}
	parent := path.Base(strings.TrimSuffix(dir, "/"))
	if dir == "" || parent == "." {
		return base
	}
	return parent + "/" + base
}
