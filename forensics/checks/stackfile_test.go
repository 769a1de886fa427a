package checks

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// A stackCase is one dump of testdata/stacks and what the checks say about it.
//
// The files there are dumps in the spelling of one kubelet, written from its sources and shortened by definitions:
//
//	std DIR, src DIR   what stands before the import path in file names, of the standard library and of the rest
//	define NAME        lines up to "end", for "use NAME" in stacks; "background" is added to every case
//	stack NAME         a case up to "end":
//	  want ID SEVERITY SUBJECT [because ENTITY, ENTITY]   one for each finding, in any order; "miss" is none
//	  says TEXT        stands in the title or detail of one of them
//	  key FRAME [ID]   without the frames that contain it, the check ID (default: the first wanted) says nothing
//	  aggregated ID    the check has something to say about the same stack in the debug=1 form, too
//	  process PID PPID COMM STATE, driver NAME   further evidence
//	  nobackground     no other goroutines
//
// A line "func(args) file.go:7" is a frame with its location.
type stackCase struct {
	name       string
	wants      []string
	says       []string
	keys       []stackKey
	aggregated []string
	processes  []procs.Process
	driver     string
	dump       string
}

type stackKey struct{ frame, check string }

// stackFile is one file being read.
type stackFile struct {
	std, src    string
	definitions map[string][]string
	cases       []stackCase
}

func readStacks(tb testing.TB, name string) []stackCase {
	tb.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	f := stackFile{definitions: map[string][]string{}}
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		word, rest, _ := strings.Cut(lines[i], " ")
		switch {
		case lines[i] == "" || lines[i][0] == '#':
		case word == "std":
			f.std = rest
		case word == "src":
			f.src = rest
		case word == "define" || word == "stack":
			end := i + 1
			for lines[end] != "end" {
				end++
			}
			if word == "define" {
				f.definitions[rest] = lines[i+1 : end]
			} else {
				f.cases = append(f.cases, f.stack(tb, rest, lines[i+1:end]))
			}
			i = end
		default:
			tb.Fatalf("%s:%d: %q is not understood", name, i+1, lines[i])
		}
	}
	return f.cases
}

func (f *stackFile) stack(tb testing.TB, name string, lines []string) stackCase {
	tb.Helper()
	c := stackCase{name: name}
	var dump []string
	background := true
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "want":
			c.wants = append(c.wants, rest)
		case "miss":
		case "says":
			c.says = append(c.says, rest)
		case "key":
			frame, check, ok := strings.Cut(rest, " ")
			if !ok {
				check, _, _ = strings.Cut(c.wants[0], " ")
			}
			c.keys = append(c.keys, stackKey{frame, check})
		case "aggregated":
			c.aggregated = append(c.aggregated, rest)
		case "process":
			c.processes = append(c.processes, parseProcess(tb, rest))
		case "driver":
			c.driver = rest
		case "nobackground":
			background = false
		default:
			dump = append(dump, line)
		}
	}
	if background {
		dump = append(append(dump, ""), "use background")
	}
	c.dump = f.expand(tb, dump)
	return c
}

func parseProcess(tb testing.TB, line string) procs.Process {
	tb.Helper()
	fields := strings.Fields(line)
	pid, err1 := strconv.Atoi(fields[0])
	ppid, err2 := strconv.Atoi(fields[1])
	if err1 != nil || err2 != nil || len(fields) != 4 {
		tb.Fatalf("process %q: want PID PPID COMM STATE", line)
	}
	return procs.Process{PID: pid, PPID: ppid, Comm: fields[2], State: fields[3], Command: []string{fields[2]}}
}

var (
	frameLine   = regexp.MustCompile(`^(\S.*\)) (\S+:\d+)$`)
	creatorLine = regexp.MustCompile(`^(created by \S+(?: in goroutine \d+)?) (\S+:\d+)$`)
)

// expand writes a dump as the runtime does.
func (f *stackFile) expand(tb testing.TB, lines []string) string {
	tb.Helper()
	var b strings.Builder
	for _, line := range lines {
		if name, ok := strings.CutPrefix(line, "use "); ok {
			body, ok := f.definitions[name]
			if !ok {
				tb.Fatalf("%q is not defined", name)
			}
			b.WriteString(f.expand(tb, body))
			continue
		}
		parts := frameLine.FindStringSubmatch(line)
		if parts == nil {
			parts = creatorLine.FindStringSubmatch(line)
		}
		switch {
		case parts != nil:
			fmt.Fprintf(&b, "%s\n\t%s +0x1d\n", parts[1], f.file(parts[1], parts[2]))
		case line == "" || strings.HasPrefix(line, "goroutine "):
			b.WriteString(line + "\n")
		default:
			tb.Fatalf("%q is no frame", line)
		}
	}
	return b.String()
}

// file is where a function stands in the source tree.
func (f *stackFile) file(function, base string) string {
	pkg := strings.TrimPrefix(function, "created by ")
	if i := strings.IndexAny(pkg, "("); i >= 0 {
		pkg = pkg[:i]
	}
	slash := strings.LastIndexByte(pkg, '/')
	dot := strings.IndexByte(pkg[slash+1:], '.')
	pkg = pkg[:slash+1+dot]
	first, _, _ := strings.Cut(pkg, "/")
	root := f.src
	if !strings.Contains(first, ".") {
		root = f.std
	}
	return path.Join(root, pkg, base)
}

// evidence is what is known in a case: a dump of a kubelet, and nothing of the node but what the case says.
func (c stackCase) evidence(tb testing.TB, dump string) forensics.Evidence {
	tb.Helper()
	e := forensics.NewEvidence()
	addDump(tb, &e, dump, 0)
	e.Cover(forensics.Source{Source: "goroutines:dump", Status: forensics.SourceRead})
	if len(c.processes) > 0 {
		e.Processes = c.processes
		e.Kubelet = &kubelet.Instance{PID: c.processes[0].PPID}
	}
	if c.driver != "" {
		e.PodDirs = []kubelet.PodDir{{UID: deadUID, Volumes: []kubelet.Volume{{Plugin: "kubernetes.io/csi", Name: "v", VolData: &kubelet.VolData{Driver: c.driver}}}}}
	}
	return e
}
