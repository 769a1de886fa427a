// Package plan turns a report into a shell script that cleans up after pods that are gone, as a careful engineer would.
//
// The script does nothing unless it is told to (--apply), and looks again before each step: the pod must still be gone,
// nothing may use its directory, and nothing may be mounted there in any mount namespace. It unmounts what is not in
// use, removes empty directories, empty files of subpaths and vol_data.json, of which it keeps a copy, and nothing else.
// Data that was left is at most moved aside. What it does not do it refuses with the reason.
//
// The report is hostile input: see trust.go for what of it can come into the script. Where the kubelet's root directory is
// the script learns from the person who runs it, and it goes there one name after the other.
//
// Like the renderers it is pure: the same report gives the same script, on any machine.
package plan

import (
	_ "embed"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// The functions of which a script is made.
var (
	//go:embed script/begin.txt
	beginPart string // environment and options
	//go:embed script/start.txt
	startPart string // what must hold before anything is done
	//go:embed script/enter.txt
	enterPart string // how a directory is entered
	//go:embed script/look.txt
	lookPart string // guards
	//go:embed script/steps.txt
	stepsPart string
)

// Script writes the script for the evidence of a report. It is judged anew, by this version's classes of leftovers. A report
// that no script can be made of is an error, and then nothing is written.
func Script(w io.Writer, e *forensics.Evidence) error {
	if err := usable(e); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	s := script{e: e, model: forensics.NewModel(e)}
	s.head()
	// Steps in a function: a script that was cut on its way is a syntax error, and nothing of it runs.
	s.put("\nsteps() {")
	s.pods()
	s.put("\nstep end\n}\n\noptions \"$@\"\nstart\nsteps")
	if s.b.Len() > maxScript {
		return fmt.Errorf("plan: the script would have %d bytes, and at most %d are written: nobody could read it", s.b.Len(), maxScript)
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

// comment writes text from anywhere as a comment.
func (s *script) comment(format string, args ...any) {
	s.put("# " + visible(fmt.Sprintf(format, args...)))
}

// decline writes that nothing is done about something.
func (s *script) decline(what, why string) {
	s.put("step name " + word(what))
	s.put("step decline " + word(why))
}

func (s *script) head() {
	s.put("#!/bin/sh")
	s.comment("Cleans up after pods that are gone, on node %s, as it was found at %s.", s.e.Node.Name, s.e.Collected.UTC().Format(time.RFC3339))
	s.put(`#
# Without --apply it changes nothing and says what it would do. It trusts neither the report that it was made of nor the pods:
# - It works below the root directory of the kubelet only, /var/lib/kubelet unless you say --kubelet-root DIR, and goes to each
#   directory one name after the other: each must be root's, no link, and on the same mount.
# - It does not start if the report is of another node, older than an hour, or from before the last boot.
# - Before each step it looks again: the pod must still be gone (no cgroup, no process, no container, not in the list of --pods),
#   no process may stand in its directory or have a file open there, and nothing may be mounted there or bound from there
#   in any mount namespace.
# - It never follows a mount, never deletes a tree and never deletes data. The kernel has the last word: rmdir, unlink
#   and umount fail rather than take what is not empty, mounted or in use.
# - It uses no network. Run it where the kubelet's mounts are: in the mount namespace of the host.
#
# Exit status: 0 everything was done or need not be done, 2 it did not start, 3 some steps were refused.
`)
	s.put("node='" + s.e.Node.Name + "'")
	s.put(fmt.Sprintf("collected=%d collected_nanoseconds=%09d boot=%d # seconds since 1970",
		s.e.Collected.Unix(), s.e.Collected.Nanosecond(), s.e.Node.Boot.Unix()))
	s.put("report_root='" + root(s.e) + "' # compared, never believed\n")
	for _, part := range []string{beginPart, startPart, enterPart, lookPart, stepsPart} {
		s.put(part)
	}
}

// pods writes the steps for each directory of a pod that is gone, and refuses those of pods that may not be.
func (s *script) pods() {
	gone, unknown := 0, 0
	for _, d := range s.e.PodDirs {
		switch state, reason := s.model.PodState(d.UID); state {
		case forensics.PodOrphaned:
			gone++
			s.pod(d, reason)
		case forensics.PodUnknown:
			unknown++
		}
		if s.b.Len() > maxScript {
			return
		}
	}
	if unknown > 0 {
		s.declineAll(fmt.Sprintf("%s could not be told from those of live pods: see the report", text.Plural(unknown, "pod directory")))
	}
	if ok, _ := s.e.Saw(forensics.SourcePodDirs); !ok {
		s.declineAll("the directories of pods were not read: see the report")
	}
	if gone == 0 {
		s.put("\necho 'The report shows no directory of a pod that is proven to be gone.'")
	}
}

func (s *script) declineAll(why string) {
	s.put("")
	s.decline("directories of pods", why)
}

// pod writes the steps for one directory: first its mounts, the last one first, then what they leave and what else is left.
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
		left = left[:1] // with the restart goes the rest
	}
	s.unmounts(d, left)
	for _, l := range left {
		s.leftover(d, l)
	}
}

// title is what a pod is called: by its name only if that is one.
func (s *script) title(uid string) string {
	pod := s.model.Pod(uid)
	if lengthy(pod.Name+"/"+pod.Namespace) || !podName.MatchString(pod.Name) || pod.Namespace != "" && !podName.MatchString(pod.Namespace) {
		return uid
	}
	return pod.String()
}

// target sets what the next step is about. It refuses what is not where the kubelet has such a thing, and then says false.
func (s *script) target(d kubelet.PodDir, p string, shape *regexp.Regexp) bool {
	rel := below(d, p, shape)
	if rel == "" {
		s.decline(p, "no kubelet has such a thing in that place: find out what it is")
		return false
	}
	s.put("step at " + rel)
	return true
}
