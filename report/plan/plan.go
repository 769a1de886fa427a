// Package plan turns a report into a shell script that removes leftovers of orphaned pods.
//
// The script changes nothing without --apply. It repeats its checks before each step: the pod must still be orphaned, no process
// may use its directory, and no mount may be there in any mount namespace. It unmounts what is not in use. It removes empty
// directories, empty files of subpaths, and vol_data.json, and keeps a copy of the latter. It removes nothing else. It moves
// leftover data aside only on request. It refuses every other step and states the reason.
//
// The report is hostile input: trust.go has what of it can become part of the script. The root directory of the kubelet is an
// option of the script. The script enters it one name at a time.
//
// Like the renderers it is pure: the same report gives the same script, on any machine.
package plan

import (
	_ "embed"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// The functions of which a script is made.
var (
	//go:embed script/begin.txt
	beginPart string // environment and options
	//go:embed script/start.txt
	startPart string // preconditions of the script
	//go:embed script/enter.txt
	enterPart string // how a directory is entered
	//go:embed script/look.txt
	lookPart string // guards
	//go:embed script/steps.txt
	stepsPart string
)

// Script writes the script for the evidence of a report, by the classes of leftovers of this version. A report without the facts
// that a script needs is an error, and then nothing is written.
func Script(w io.Writer, e *forensics.Evidence) error {
	if err := usable(e); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	s := script{e: e, model: forensics.NewModel(e)}
	s.head()
	// The steps are a function: a truncated script is a syntax error, and nothing of it runs.
	s.put("\nsteps() {")
	s.pods()
	s.put("\nstep end\n}\n\noptions \"$@\"\nstart\nsteps")
	if s.b.Len() > maxScript {
		return fmt.Errorf("plan: the script would have %d bytes; the limit is %d: it would be too long to read", s.b.Len(), maxScript)
	}
	_, err := io.WriteString(w, s.b.String())
	return err
}

// A script is being written.
type script struct {
	b     strings.Builder
	e     *forensics.Evidence
	model *forensics.Model
}

// put writes a line of the script.
func (s *script) put(line string) {
	s.b.WriteString(line)
	if !strings.HasSuffix(line, "\n") {
		s.b.WriteByte('\n')
	}
}

// comment writes untrusted text as a comment.
func (s *script) comment(format string, args ...any) {
	s.put("# " + visible(fmt.Sprintf(format, args...)))
}

// decline writes a step that is refused.
func (s *script) decline(what, why string) {
	s.put("step name " + word(what))
	s.put("step decline " + word(why))
}

func (s *script) head() {
	s.put("#!/bin/sh")
	s.comment("Removes leftovers of orphaned pods on node %s, by a report of %s.", s.e.Node.Name, s.e.Collected.UTC().Format(time.RFC3339))
	s.put(`#
# Without --apply it changes nothing and prints the steps. It trusts neither its report nor the pods:
# - It works below the root directory of the kubelet only. That is /var/lib/kubelet, or the DIR of --kubelet-root. It enters each
#   directory one name at a time. Each must belong to root, be no symbolic link, and be on the same mount.
# - It does not start if the report is of another node, older than an hour, or from before the last boot.
# - It repeats its checks before each step. The pod must still be orphaned: no cgroup, no process, no container, not in the
#   --pods list. No process may have its working directory or an open file in the pod directory. No mount may be there or
#   be a bind mount from there, in any mount namespace.
# - It never enters a mount, never deletes a tree and never deletes data. It uses rmdir, unlink and umount, which fail on a
#   directory that is not empty, and on a mount that is in use.
# - It uses no network. Run it in the mount namespace of the host.
#
# Exit status: 0 all steps were done or not necessary, 2 the script did not start, 3 some steps were refused.
`)
	s.put("node='" + s.e.Node.Name + "'")
	s.put(fmt.Sprintf("collected=%d collected_nanoseconds=%09d boot=%d # seconds since 1970",
		s.e.Collected.Unix(), s.e.Collected.Nanosecond(), s.e.Node.Boot.Unix()))
	s.put("report_root='" + root(s.e) + "' # compared only, never trusted\n")
	for _, part := range []string{beginPart, startPart, enterPart, lookPart, stepsPart} {
		s.put(part)
	}
}

// pods writes the steps for each directory of an orphaned pod, and refuses those of pods that can exist.
func (s *script) pods() {
	gone, unknown := 0, 0
	for _, d := range s.e.PodDirs {
		switch state, reason := s.model.PodState(d.UID); state {
		case forensics.PodOrphaned:
			gone++
			s.pod(d, reason)
		case forensics.PodUnknown, forensics.PodLikelyOrphaned, forensics.PodPossiblyOrphaned: // only the kubelet's list is a proof
			unknown++
		}
		if s.b.Len() > maxScript {
			return
		}
	}
	if unknown > 0 {
		s.declineAll(fmt.Sprintf("%s cannot be distinguished from those of live pods: see the report", text.Plural(unknown, "pod directory")))
	}
	if ok, _ := s.e.Saw(forensics.SourcePodDirs); !ok {
		s.declineAll("pod directories were not collected: see the report")
	}
	if gone == 0 {
		s.put("\necho 'The report has no pod directory that is proven to be orphaned.'")
	}
}

func (s *script) declineAll(why string) {
	s.put("")
	s.decline("pod directories", why)
}

// pod writes the steps for one directory: first its mounts, the last one first, then the leftovers.
func (s *script) pod(d kubelet.PodDir, why string) {
	s.put("")
	s.comment("---- pod %s: %s", s.title(d.UID), why)
	if err := unfit(s.e, d, len(s.model.PodMounts(d.UID))); err != nil {
		s.decline(d.Path, err.Error())
		return
	}
	disk := ""
	if m, ok := s.model.Host().Covering(path.Dir(d.Path)); ok && device.MatchString(m.Device) {
		disk = m.Device
	}
	s.put("step pod " + d.UID + " '" + disk + "' " + word("pod "+s.title(d.UID)))
	left := forensics.Leftovers(s.model, d)
	if left[0].Class == kubelet.ASWUncertain {
		left = left[:1] // the restart removes the rest
	}
	s.unmounts(d, left)
	for _, l := range left {
		s.leftover(d, l)
	}
}

// title names a pod: with its name only if that is a valid one.
func (s *script) title(uid string) string {
	pod := s.model.Pod(uid)
	if lengthy(pod.Name+"/"+pod.Namespace) || !podName.MatchString(pod.Name) || pod.Namespace != "" && !podName.MatchString(pod.Namespace) {
		return uid
	}
	return pod.String()
}

// target sets the path of the next step. It refuses a path that the kubelet does not create, and then returns false.
func (s *script) target(d kubelet.PodDir, p string, shape *pattern.Pattern) bool {
	rel := below(d, p, shape)
	if rel == "" {
		s.decline(p, "a kubelet creates nothing like this here: find out what it is")
		return false
	}
	s.put("step at " + rel)
	return true
}
