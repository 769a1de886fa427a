package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/testsecrets"
	"github.com/nodeforensics/nodeforensics/report"
)

// planted forms stand where a node has such: one process, mount, pod, container, dump, … for each.
func evidenceOf(forms []testsecrets.Form) forensics.Evidence {
	e := forensics.NewEvidence()
	e.Schema, e.Collected = forensics.EvidenceSchema, time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)
	e.Kubelet = &kubelet.Instance{Flags: map[string]string{}}
	d := apidump.NewDump()
	for i, f := range forms {
		uid := fmt.Sprintf("5c94cb01-1d2e-4f6b-9b5e-%012d", i)
		path := "/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~csi/v" + strconv.Itoa(i) + "/mount"
		switch f.Channel {
		case "arguments":
			e.Processes = append(e.Processes, procs.Process{PID: 1000 + i, Comm: "x", State: "S", Command: testsecrets.Argv(f.Text)})
		case "environment":
			e.Processes = append(e.Processes,
				procs.Process{PID: 1000 + i, Comm: f.Text, State: "S", Command: []string{"env", f.Text, "run"}},
				procs.Process{PID: 5000 + i, State: "S", Command: []string{"sh", "-c", "export " + f.Text + "\nexec run"}})
		case "mounts":
			e.Mounts.Mounts = append(e.Mounts.Mounts, mounts.Mount{ID: 100 + i, FSType: "cifs", MountPoint: path, SuperOptions: f.Text, Device: "0:1"})
		case "source":
			e.Mounts.Mounts = append(e.Mounts.Mounts, mounts.Mount{ID: 100 + i, FSType: "fuse.x", MountPoint: path, Source: f.Text, Device: "0:1", Class: mounts.ClassFUSE})
		case "files":
			e.PodDirs = append(e.PodDirs, kubelet.PodDir{UID: uid, Path: "/var/lib/kubelet/pods/" + uid, Unknown: []string{f.Text}})
			e.Coverage = append(e.Coverage, forensics.Source{Source: forensics.SourceLogs + ":" + f.Text, Status: forensics.SourceDenied, Detail: f.Text})
		case "containers":
			e.Containers = append(e.Containers, runtimes.Container{ID: strconv.Itoa(i), Image: f.Text, Name: f.Text})
			e.Runtimes = append(e.Runtimes, runtimes.Runtime{Problems: []string{f.Text}})
		case "dumps":
			e.Dumps = append(e.Dumps, forensics.Dump{Source: f.Text, Problems: []goroutines.Problem{}, Dump: goroutines.Dump{
				Header: f.Text, Goroutines: []goroutines.Goroutine{{
					ID: int64(i), Count: 1, State: "select", Labels: map[string]string{"a": f.Text},
					Frames: []goroutines.Frame{{Func: "main.x", File: f.Text, Args: f.Text}, {Func: f.Text}},
				}},
			}})
		case "pods", "objects":
			d.Pods = append(d.Pods, apidump.Pod{Object: apidump.Object{Name: "p" + strconv.Itoa(i), UID: uid}, Message: f.Text, Disrupted: &apidump.Condition{Message: f.Text}})
		case "flags":
			name, value, _ := strings.Cut(strings.TrimLeft(f.Text, "-"), "=")
			e.Kubelet.Flags[name] = value
		default: // what somebody says: log, csi, kernel
			e.Probes = append(e.Probes, mounts.Probe{MountID: 100 + i, Errno: "EIO", Error: f.Text})
			e.Coverage = append(e.Coverage, forensics.Source{Source: forensics.SourceHolders, Status: forensics.SourceMalformed, Detail: f.Text})
		}
	}
	e.Cluster = &d
	return e
}

// logOf has the texts in log lines of which each becomes an event, in the four formats.
func logOf(forms []testsecrets.Form, format string) string {
	var b strings.Builder
	for i, f := range forms {
		text := fmt.Sprintf("MountVolume.SetUp failed for volume \"v%d\" : %s", i, f.Text)
		uid := fmt.Sprintf("5c94cb01-1d2e-4f6b-9b5e-%012d", i)
		message := fmt.Sprintf(`Operation for "{volumeName:kubernetes.io/csi/%d podName:%s nodeName:}" failed. No retries permitted until `+
			`2026-11-20 10:28:10.701234 +0000 UTC m=+45.1 (durationBeforeRetry 500ms). Error: %s`, i, uid, text)
		head := fmt.Sprintf("E1120 10:%02d:%02d.000000    2588 nestedpendingoperations.go:348] ", i/60%60, i%60)
		switch format {
		case "klog":
			fmt.Fprintln(&b, head+message)
		case "json":
			line, _ := json.Marshal(map[string]any{"ts": 1795000000000 + i*1000, "caller": "nestedpendingoperations/nestedpendingoperations.go:348", "msg": message, "v": 0})
			fmt.Fprintf(&b, "%s\n", line)
		case "cri":
			fmt.Fprintf(&b, "2026-11-20T10:%02d:%02d.000000000Z stderr F %s\n", i/60%60, i%60, head+message)
		case "syslog":
			fmt.Fprintf(&b, "Nov 20 10:%02d:%02d node-1 kubelet[2588]: %s\n", i/60%60, i%60, head+message)
			if f.Channel == "arguments" {
				continue // the kernel quotes none
			}
			fmt.Fprintf(&b, "Nov 20 10:%02d:%02d node-1 kernel: [ %d.000000] nfs: server %s not responding, still trying\n", i/60%60, i%60, i, f.Text)
		}
	}
	return b.String()
}

// dumpOf is a goroutine dump whose words are the texts.
func dumpOf(forms []testsecrets.Form) string {
	var b strings.Builder
	for i, f := range forms {
		text := strings.ReplaceAll(f.Text, "\n", " ")
		path := "/src/x.go"
		if f.Channel == "files" {
			path = "/src/" + text
		}
		fmt.Fprintf(&b, "panic: %s\n\ngoroutine %d [select, 12 minutes]:\nmain.wait%d(0x1)\n\t%s:17 +0x1d\nmain.x(%s)\n\t/src/x.go:%d +0x2\n\n",
			text, i+1, i, path, text, i)
	}
	return b.String()
}

// maskedWord is a placeholder, also one of which a headline has room for the end only.
var maskedWord = regexp.MustCompile(`(\[masked:|…)[a-z0-9-]*:?[0-9a-f]{6}\]|(host|pod|ns|ip)-[0-9a-f]{8}`)

// shown lists the forms of which a piece is in one of the outputs.
func shown(t *testing.T, forms []testsecrets.Form, outputs map[string]string) {
	t.Helper()
	type owned struct {
		piece string
		form  int
	}
	const head = 4 // bytes, by which pieces are looked up; none is shorter
	pieces := map[string][]owned{}
	for i, f := range forms {
		for _, piece := range f.Pieces {
			pieces[piece[:head]] = append(pieces[piece[:head]], owned{piece, i})
		}
	}
	in := func(text string) map[int]int { // where a form is shown first
		found := map[int]int{}
		for at := 0; at+head <= len(text); at++ {
			for _, p := range pieces[text[at:at+head]] {
				if _, known := found[p.form]; !known && strings.HasPrefix(text[at:], p.piece) {
					found[p.form] = at
				}
			}
		}
		return found
	}
	for name, text := range outputs {
		if len(in(text)) == 0 {
			continue
		}
		text = maskedWord.ReplaceAllString(text, "@") // a placeholder may look like a piece
		for i, at := range in(text) {
			f := forms[i]
			t.Errorf("%s shows a piece of %s, %s: %s\n   as %.200q", name, f.Channel, f.Family, f.Text, text[max(0, at-80):])
		}
	}
}

// written runs the program and returns all that it printed and wrote below dir.
func written(t *testing.T, dir string, args ...string) map[string]string {
	t.Helper()
	cmd := command(t, args...)
	cmd.Dir = dir
	o := finish(t, cmd)
	if o.status != exitDone && o.status != exitFailed {
		t.Fatalf("exit status %d: %s", o.status, o.stderr)
	}
	what := strings.Join(args[:1], " ")
	all := map[string]string{what + ", stdout": o.stdout, what + ", stderr": o.stderr}
	for _, name := range namesIn(t, dir) {
		text := []byte(readFile(t, filepath.Join(dir, name)))
		if z, err := gzip.NewReader(bytes.NewReader(text)); err == nil {
			text, _ = io.ReadAll(z)
		}
		all[what+", "+name] = string(text)
	}
	return all
}

// Over 600 forms, each made up at random, in all channels: none is in any output of any command, default and strict.
func TestNoFormReachesAnyOutput(t *testing.T) {
	t.Parallel()
	forms := testsecrets.Read(testsecrets.All, 2)
	e := evidenceOf(forms)
	in := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(in, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	evidence := file("evidence.json", string(must(json.Marshal(e))))
	saved := report.New(report.Tool{Command: []string{"nodeforensics", "--token=" + forms[0].Text}}, e, forensics.Analyze(&e, nil))
	for _, f := range forms {
		saved.Findings = append(saved.Findings, forensics.Finding{ID: "mount-hung", Title: f.Text, Detail: f.Text})
		saved.Diagnoses = append(saved.Diagnoses, forensics.Diagnosis{Title: f.Text, ConfidenceWhy: f.Text})
	}
	rendered := file("report.json", string(must(json.Marshal(saved))))
	dump, earlier := file("dump.txt", dumpOf(forms)), file("earlier.txt", dumpOf(forms[:len(forms)/2]))
	runs := map[string][]string{
		"analyze": {"analyze", "--output-dir", ".", evidence},
		"strict":  {"analyze", "--redact=strict", "--output-dir", ".", evidence},
		"yaml":    {"analyze", "-o", "yaml", evidence},
		"page":    {"goroutines", dump, "-o", "html"},
		"ticket":  {"render", rendered, "-o", "markdown"},
		"render":  {"render", rendered, "--output-dir", "."},
		"dump":    {"goroutines", dump, "-o", "json", "--stacks", "--html", "x.html", "--pprof", "x.pb.gz"},
		"diff":    {"goroutines", "--diff", earlier, dump, "--stacks"},
	}
	for _, format := range []string{"klog", "json", "cri", "syslog"} {
		name := file(format+"-kubelet.log", logOf(forms, format))
		runs["logs "+format] = []string{"logs", name}
		runs["logs -o json "+format] = []string{"logs", "-o", "json", name}
		runs["analyze "+format] = []string{"analyze", "--output-dir", ".", name}
	}
	for name, args := range runs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := written(t, t.TempDir(), args...)
			shown(t, forms, all)
			if masks := strings.Count(strings.Join(values(all), ""), "[masked:"); masks < 5 {
				t.Errorf("%d placeholders only: the texts came nowhere", masks)
			}
		})
	}
}

func values(m map[string]string) []string {
	var list []string
	for v := range maps.Values(m) {
		list = append(list, v)
	}
	return list
}
