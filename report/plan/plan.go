// Package plan turns a report into a shell script that cleans up after pods that are gone, as a careful engineer would.
//
// The script does nothing unless it is told to (--apply), and looks again before each step: the pod must still be gone,
// nothing may use its directory, and nothing may be mounted there in any mount namespace. It unmounts what is not in
// use, removes empty directories, empty files of subpaths and vol_data.json, of which it keeps a copy, and nothing else.
// Data that was left is at most moved aside. What it does not do it refuses with the reason.
//
// Like the renderers it is pure: the same report gives the same script, on any machine.
package plan

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// functions are the guards and steps of which a script is made.
//
//go:embed functions.txt
var functions string

// Script writes the script for the evidence of a report. It is judged anew, by this version's classes of leftovers.
func Script(w io.Writer, e *forensics.Evidence) error {
	s := script{e: e, model: forensics.NewModel(e)}
	s.head()
	s.put(functions)
	// Steps in a function: a script that was cut on its way is a syntax error, and nothing of it runs.
	s.put("\nsteps() {")
	s.pods()
	s.put("\nstep end\n}\n\noptions \"$@\"\nstart\nsteps")
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

func (s *script) head() {
	s.put("#!/bin/sh")
	s.comment("Cleans up after pods that are gone, on node %s, as it was found at %s.", s.e.Node.Name, s.e.Collected.UTC().Format(time.RFC3339))
	s.put(`#
# Without --apply it changes nothing and says what it would do. Before each step it looks again: the pod must still be
# gone (no cgroup, no process, not in the kubelet's list if that can be had), no process may stand in its directory or
# have a file open there, and nothing may be mounted there or bound from there in any mount namespace. It never follows
# a mount, never deletes a tree and never deletes data. The kernel has the last word: rmdir, unlink and umount fail
# rather than take what is not empty, mounted or in use.
#
# Exit status: 0 everything was done or need not be done, 2 it did not start, 3 some steps were refused.
`)
	s.put(assign("node", s.e.Node.Name))
	s.put(assign("pods_urls", strings.Join(podsURLs(s.e.Kubelet), " ")))
}

// podsURLs are where the kubelet may tell its pods: where it did, then the other addresses that belong to it.
func podsURLs(k *kubelet.Instance) []string {
	var urls []string
	if k == nil {
		return nil
	}
	for _, e := range k.Endpoints {
		u, err := url.Parse(e.URL)
		if err != nil || e.Status == "not-owned" || e.Status == "refused" || u.Port() == "10248" || !hostPort.MatchString(u.Host) {
			continue
		}
		list := u.Scheme + "://" + u.Host + "/pods"
		if u.Path == "/pods" && e.Status == "ok" {
			urls = slices.Insert(urls, 0, list)
		} else {
			urls = append(urls, list)
		}
	}
	return slices.Compact(urls)
}

var (
	hostPort = regexp.MustCompile(`^(\[[0-9a-f:]+\]|[0-9A-Za-z.-]+):[0-9]+$`)
	podUID   = regexp.MustCompile(`^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})$`)
)

// pods writes the steps for each directory of a pod that is gone, and refuses those of pods that may not be.
func (s *script) pods() {
	if s.e.Root != "/" {
		s.declineAll("the report is of files below " + s.e.Root + ", not of the node that this runs on")
		return
	}
	gone, unknown, why := 0, 0, ""
	for _, d := range s.e.PodDirs {
		switch state, reason := s.model.PodState(d.UID); state {
		case forensics.PodOrphaned:
			gone++
			s.pod(d, reason)
		case forensics.PodUnknown:
			unknown, why = unknown+1, reason
		}
	}
	if unknown > 0 {
		s.declineAll(fmt.Sprintf("%s could not be told from those of live pods: %s", forensics.Plural(unknown, "pod directory"), why))
	}
	if ok, why := s.e.Saw(forensics.SourcePodDirs); !ok {
		s.declineAll("the directories of pods were not read: " + why)
	}
	if gone == 0 {
		s.put("\necho 'The report shows no directory of a pod that is proven to be gone.'")
	}
}

func (s *script) declineAll(why string) {
	s.put("")
	s.put(assign("show", "directories of pods"))
	s.put("step decline " + word(why))
}

// pod writes the steps for one directory: first its mounts, the last one first, then what they leave and what else is left.
func (s *script) pod(d kubelet.PodDir, why string) {
	s.put("")
	s.comment("---- pod %s: %s", s.model.Pod(d.UID), why)
	reason := unfit(d.Path, d)
	if d.Error != "" {
		reason = "it was not read to its end: " + d.Error
	}
	if reason != "" {
		s.put(assign("show", visible(d.Path)))
		s.put("step decline " + word(reason))
		return
	}
	disk := ""
	if m, ok := s.model.Host().Covering(path.Dir(d.Path)); ok {
		disk = m.Device
	}
	s.put(assign("dir", mountinfo(d.Path)))
	s.put("step pod " + word(d.UID) + ` "$dir" ` + word(disk) + " " + word("pod "+s.model.Pod(d.UID).String()))
	left := s.model.Leftovers(d)
	if left[0].Class == kubelet.ASWUncertain {
		left = left[:1] // with the restart goes the rest
	}
	s.unmounts(d, left)
	for _, l := range left {
		s.leftover(d, l)
	}
}

// unfit says why a path of the report cannot be used in a script.
func unfit(p string, d kubelet.PodDir) string {
	switch {
	case !podUID.MatchString(d.UID) || path.Base(d.Path) != d.UID:
		return "the directory is not named after the UID of a pod"
	case strings.ContainsRune(p, '\ufffd') || strings.ContainsRune(p, 0) || forensics.FromValidUTF8(p) != p:
		return "its name has bytes that a report cannot tell"
	case !path.IsAbs(p) || path.Clean(p) != p || p != d.Path && !strings.HasPrefix(p, d.Path+"/"):
		return "it is not below the directory of the pod"
	}
	return ""
}

// unmounts writes the steps for all mounts of a pod's volumes.
func (s *script) unmounts(d kubelet.PodDir, left []kubelet.Leftover) {
	wanted := map[string]bool{}
	for _, l := range left {
		for _, point := range l.MountPoints {
			wanted[point] = l.Volume != nil || l.Subpath != nil
		}
	}
	for _, m := range slices.Backward(s.model.PodMounts(d.UID)) {
		if known, ok := wanted[m.MountPoint]; ok {
			delete(wanted, m.MountPoint)
			s.unmount(d, m, known)
		} else if done := slices.Contains(allPoints(left), m.MountPoint); done {
			s.unmount(d, m, true) // another one of a stack
		}
	}
	for _, point := range slices.Sorted(maps.Keys(wanted)) {
		s.put("")
		s.target(point)
		s.put("step decline " + word("it is mounted, but not in the mount table that was read: perhaps only in the kubelet's mount namespace"))
	}
}

func (s *script) unmount(d kubelet.PodDir, m mounts.Mount, ofVolume bool) {
	s.put("")
	s.comment("%s from %s is still mounted, and nobody else unmounts it.", m.FSType, m.Source)
	s.comment("risk: none while it is in use, umount then fails; a CSI driver is not told, and the volume stays staged and attached")
	s.target(m.MountPoint)
	if reason := unfit(m.MountPoint, d); reason != "" {
		s.put("step decline " + word(reason))
		return
	}
	reason := ""
	switch h, ok := s.model.Health(m.Device); {
	case !ofVolume:
		reason = "no kubelet mounts anything here: find out who did"
	case m.Class == mounts.ClassMemory && m.FSType != "devtmpfs" && !s.isCopy(d, m.Device):
		reason = "it is in memory only: unmounting it destroys what is in it. If nobody needs that, umount -c does it"
	case ok && slices.Contains([]mounts.Status{mounts.StatusHung, mounts.StatusFrozen, mounts.StatusUnanswered, mounts.StatusSlow}, h.Status):
		reason = "its file system does not answer as it should (" + string(h.Status) + "), and umount would wait for it: see the steps for mount-hung in the report"
	}
	if reason != "" {
		s.put("step leave-mounted " + word(reason))
		return
	}
	s.put("step unmount " + word(m.Device) + " " + word(m.FSType))
}

// isCopy says that a file system in memory holds what the API server has, too.
func (s *script) isCopy(d kubelet.PodDir, device string) bool {
	return slices.ContainsFunc(s.model.PodMounts(d.UID), func(m mounts.Mount) bool {
		plugin := path.Base(path.Dir(m.MountPoint))
		return m.Device == device && slices.Contains([]string{
			"kubernetes.io~secret", "kubernetes.io~projected", "kubernetes.io~downward-api", "kubernetes.io~configmap",
		}, plugin)
	})
}

// target sets what the next step is about.
func (s *script) target(p string) {
	if !strings.ContainsFunc(p, notPlain) && mountinfo(p) == p {
		s.put("step at '" + p + "'")
		return
	}
	s.put(assign("path", p))
	s.put(assign("enc", mountinfo(p)))
	s.put(assign("show", visible(p)))
}

// leftover writes the step for one leftover, with its class, its reason and its risk.
func (s *script) leftover(d kubelet.PodDir, l kubelet.Leftover) {
	s.put("")
	s.comment("%s: %s", l.Class, l.Why)
	s.target(l.Path)
	if reason := unfit(l.Path, d); reason != "" {
		s.put("step decline " + word(reason))
		return
	}
	switch l.Class {
	case kubelet.LiveMount, kubelet.SubpathMountLeft:
		s.afterUnmount(l)
	case kubelet.CSIVolDataLeft:
		s.comment("risk: none for data: a copy of the file is kept, and nothing else is removed than empty directories")
		s.put("step remove-vol-data")
	case kubelet.DataLeft:
		s.moveData(l)
	case kubelet.SubpathFileLeft:
		switch {
		case l.Holds:
			s.moveData(l)
		case l.Fate == kubelet.FateHeals:
			s.heals()
		default:
			s.comment("risk: none for data: only an empty file is removed")
			s.put("step remove-target")
		}
	case kubelet.EmptyDirLeft:
		s.emptyDir(l)
	case kubelet.BlockLeft:
		s.afterUnmount(l)
	case kubelet.ASWUncertain:
		s.comment("risk: a restart loses what the kubelet knows and its goroutines; this only saves them, and restarts nothing")
		s.put("step save-evidence")
	case kubelet.LeftUnread:
		s.put("step decline " + word(l.Why))
	default: // SelfHeals, Pending
		s.heals()
	}
}

func (s *script) heals() { s.put("step note " + word("the kubelet removes it by itself")) }

// emptyDir removes an empty directory that the kubelet does not.
func (s *script) emptyDir(l kubelet.Leftover) {
	if l.Fate == kubelet.FateHeals {
		s.heals()
		return
	}
	s.comment("risk: none for data: only an empty directory is removed")
	switch {
	case l.Subpath != nil:
		s.put("step remove-target")
	case isCSI(l.Volume):
		s.put("step remove-vol-data")
	default:
		s.put("step remove-dir")
	}
}

// afterUnmount removes what was mounted on, where the kubelet does not.
func (s *script) afterUnmount(l kubelet.Leftover) {
	minor := s.model.KubeletMinor()
	switch {
	case len(l.MountPoints) == 0:
		s.heals()
	case l.Class == kubelet.BlockLeft:
		s.put("step note " + word("once it is unmounted the kubelet removes it by itself"))
	case l.Subpath != nil && minor < 27:
		s.comment("risk: none for data: only an empty file or directory is removed")
		s.put("step remove-target")
	case isCSI(l.Volume):
		s.comment("risk: none for data: a copy of vol_data.json is kept, and nothing else is removed than empty directories")
		s.put("step remove-vol-data")
	case l.Volume != nil && minor < 18:
		s.comment("risk: none for data: only an empty directory is removed")
		s.put("step remove-dir")
	case l.Volume == nil && l.Subpath == nil: // the unmount itself was refused
	default:
		s.put("step note " + word("once it is unmounted the kubelet removes it by itself"))
	}
}

func isCSI(v *kubelet.Volume) bool {
	return v != nil && strings.HasSuffix(path.Dir(v.Path), "/volumes/kubernetes.io~csi")
}

// moveData moves what nobody may throw away, if the script is told to.
func (s *script) moveData(l kubelet.Leftover) {
	in := (*kubelet.Contents)(nil)
	switch {
	case l.Volume != nil:
		in = l.Volume.Inside
	case l.Subpath != nil:
		in = l.Subpath.Inside
	}
	holds := "something"
	if in != nil {
		holds = fmt.Sprintf("%s, %s, %s", forensics.Plural(in.Files, "file"), forensics.Plural(int(in.Bytes), "byte"), forensics.Plural(in.Dirs, "further directory"))
	}
	s.comment("risk: this may be the only copy of somebody's data. It is renamed, never copied and never deleted")
	s.put("step move-data " + word(holds))
}

func allPoints(left []kubelet.Leftover) []string {
	var points []string
	for _, l := range left {
		points = append(points, l.MountPoints...)
	}
	return points
}
