package plan

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/report"
)

// TestScriptTouches runs scripts of reports that were forged at random, with every program that changes something written down:
// they act on names in directories of pods that are gone, and nowhere else.
func TestScriptTouches(t *testing.T) {
	if !alone(t) {
		return
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	total := 0
	for i := range 4 {
		t.Run(fmt.Sprintf("seed %d round %d", seed, i), func(t *testing.T) {
			tr := newTree(t)
			for _, uid := range []string{uidLive, uidA, uid("c"), uidA + "-evil"} {
				tr.write(uid, csi+"/vol_data.json", volData)
				tr.write(uid, csi+"/mount/", "")
				tr.write(uid, nfs+"/", "")
				tr.write(uid, sub, "")
				tr.write(uid, "volumes/kubernetes.io~nfs/full/file", "precious")
				tr.mount(uid, "volumes/kubernetes.io~secret/s", "tmpfs", "tmpfs", 0)
			}
			left := filepath.Join(tr.root, "left")
			must(t, os.Mkdir(left, 0o700))
			r := tr.report("1.17.4")
			forgeAnything(random, tr, &r)
			var script bytes.Buffer
			if err := Script(&script, &r.Evidence); err != nil {
				return
			}
			before := links(t, tr.root)
			log := filepath.Join(t.TempDir(), "log")
			tr.run(logging(t, script.Bytes(), log), "--apply", "--move-data", left, "--pods", tr.podList(uidLive))
			total += checkTouched(t, tr, left, log)
			after := links(t, tr.root)
			maps.DeleteFunc(before, func(line, _ string) bool { return gone(tr, line) || strings.HasPrefix(line, tr.root+"/left") })
			maps.DeleteFunc(after, func(line, _ string) bool { return gone(tr, line) || strings.HasPrefix(line, tr.root+"/left") })
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("something of others was changed (-before +after):\n%s", diff)
			}
		})
	}
	if total == 0 {
		t.Errorf("seed %d: no script did anything", seed)
	}
}

// gone says that a path lies in the directory of a pod that is gone.
func gone(tr tree, path string) bool {
	return slices.ContainsFunc([]string{uidA, uid("c")}, func(uid string) bool {
		return path == tr.pod(uid) || strings.HasPrefix(path, tr.pod(uid)+"/")
	})
}

// forgeAnything exchanges some texts of a report for those that could do harm.
func forgeAnything(random *rand.Rand, tr tree, r *report.Report) {
	e := &r.Evidence
	var all []*string
	for i := range e.PodDirs {
		d := &e.PodDirs[i]
		all = append(all, &d.UID, &d.Path)
		for j := range d.Volumes {
			all = append(all, &d.Volumes[j].Path, &d.Volumes[j].Name, &d.Volumes[j].Plugin)
			for k := range d.Volumes[j].MountPoints {
				all = append(all, &d.Volumes[j].MountPoints[k])
			}
		}
		for j := range d.Subpaths {
			all = append(all, &d.Subpaths[j].Path)
		}
	}
	for i := range e.Mounts.Mounts {
		if m := &e.Mounts.Mounts[i]; strings.HasPrefix(m.MountPoint, tr.root) {
			e.Probes = append(e.Probes, mounts.Probe{Device: m.Device})
			m.Class = mounts.ClassBlock
			all = append(all, &m.MountPoint, &m.FSType)
		}
	}
	e.Pods = []kubelet.Pod{{UID: uid("f"), Source: "kubelet"}} // nothing of what is here lives
	var texts []string
	for _, text := range all {
		texts = append(texts, *text)
	}
	texts = append(texts, tr.root, tr.root+"/pods", "/etc", "..", "/", uidLive, tr.pod(uidLive), tr.pod(uidLive)+"/"+csi, "a\nb", "ext4", "-rf")
	for range 1 + random.IntN(6) {
		text := all[random.IntN(len(all))]
		switch other := texts[random.IntN(len(texts))]; random.IntN(5) {
		case 0:
			*text = other
		case 1:
			*text += "/" + other
		case 2:
			*text = strings.ReplaceAll(*text, uidA, uidLive)
		case 3:
			*text += []string{"-evil", "/..", "/../../../" + uidLive + "/" + csi, "/mount", "\n"}[random.IntN(5)]
		case 4:
			*text = filepath.Dir(*text)
		}
	}
}

// logging lets a script write down what it runs that changes something, with where it stands.
func logging(t *testing.T, script []byte, log string) []byte {
	t.Helper()
	bin := t.TempDir()
	for _, name := range []string{"rmdir", "unlink", "mv", "umount", "dd", "mkdir", "mktemp", "rm", "cp", "ln"} {
		program, err := exec.LookPath(name)
		must(t, err)
		text := fmt.Sprintf("#!/bin/sh\nprintf '%%s|%s|%%s\\n' \"$(pwd -P)\" \"$*\" >>%s\nexec %s \"$@\"\n", name, log, program)
		must(t, os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755)) //nolint:gosec // it has to be executable
	}
	const path = "\nPATH=/usr/sbin:"
	if bytes.Count(script, []byte(path)) != 1 {
		t.Fatal("the script sets PATH otherwise")
	}
	return bytes.Replace(script, []byte(path), []byte("\nPATH="+bin+":/usr/sbin:"), 1)
}

// checkTouched checks what was run, and returns how many commands changed something in pods that are gone.
func checkTouched(t *testing.T, tr tree, left, log string) int {
	t.Helper()
	text, err := os.ReadFile(log)
	if os.IsNotExist(err) {
		return 0
	}
	must(t, err)
	plain := regexp.MustCompile(`^(-- |-c )?\./[A-Za-z0-9._~-]+$`)
	moved := regexp.MustCompile(`^-T -- \./[A-Za-z0-9._~-]+ ` + regexp.QuoteMeta(left) + `/[0-9a-f-]+\.[0-9]+\.[A-Za-z0-9]{6}/data$`)
	n := 0
	for line := range strings.Lines(string(text)) {
		at, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "|")
		name, args, _ := strings.Cut(rest, "|")
		ok := gone(tr, at)
		switch name {
		case "rmdir", "unlink", "umount":
			ok = ok && plain.MatchString(args)
		case "mv":
			ok = ok && moved.MatchString(args)
		case "dd":
			ok = ok && strings.HasPrefix(args, "if=./vol_data.json of=/") && !strings.Contains(args, "of="+tr.root)
		case "mkdir":
			ok = ok && strings.Contains(args, "/nodeforensics-plan-")
		case "mktemp":
			ok = strings.Contains(args, "/nodeforensics-plan-") || strings.HasPrefix(args, "-d "+left+"/")
		default:
			ok = false
		}
		if !ok {
			t.Errorf("it ran %s", line)
		}
		n++
	}
	return n
}
