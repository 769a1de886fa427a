package read

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// A serviceReader reads what systemctl(1) says of the kubelet's service, and the state of its process in /proc/PID/status.
type serviceReader struct {
	to    *systemText
	name  string
	ours  bool // the command before, or the heading above, is about the kubelet
	above int  // lines since then
	// ends and writes are what the log beside it shows of the kubelet: then that tells more than a unit between two starts.
	ends, writes bool
	between      bool              // what was found is such a unit
	runs         bool              // the unit
	refused      *kubelet.Instance // what was found by the words of kubeadm
}

var (
	unitHeading = pattern.New(`^[●○×↻•*x] (\S+)\.service\b`)
	unitRuns    = pattern.New(`^Active: (?:active|activating \(start\)|reloading)|^active$|"reason":"KubeletRuns"`) // what internal/kubectl makes of the line
	unitStart   = pattern.New(`[#$] (?:sudo )?systemctl (?:re)?start kubelet\b`)
	unitActive  = pattern.New(`^Active: (inactive|failed|activating \(auto-restart\))(?: (.*))?$`)
	// unitWaits is a unit whose ExecStartPre has not ended for longer than TimeoutStartSec gives it by default (systemd.service(5)).
	unitWaits = pattern.New(`^Active: (activating \(start-pre\)) since .*; ((?:\d+ ?(?:h|days?|weeks?|months?|years?) |[2-9]min |\d\dmin ).*ago)`)
	// unitEnded is of a main process that has ended with an error, where nothing says that the unit is started again.
	unitEnded = pattern.New(`^(?:Process: \d+ ExecStart=\S*/kubelet\b.*|Main PID: \d+) \(code=(?:exited|dumped), status=([1-9]\d*/\w+)\)$`)
	// unitInspected is what "microk8s inspect" prints.
	unitInspected = pattern.New(`^FAIL: +Service snap\.microk8s\.daemon-kubel(?:et|ite) is not running`)
	// kubeadmRefused is what "kubeadm init" and "kubeadm join" print while the health port of the kubelet refuses connections, kubeadmServed that
	// it serves (since 1.31), or has started what kubeadm waits for.
	kubeadmRefused = pattern.New(`\bThe HTTP call equal to 'curl -sSL http://\S+:10248/healthz' (?:failed with|returned) error: .*connection refused`)
	kubeadmServed  = pattern.New(`\[kubelet-check\] The kubelet is healthy|control plane components are healthy|has initialized successfully|node has joined the cluster`)
	unitState      = pattern.New(`^ActiveState=(inactive|failed)$`)
	ofKubelet      = pattern.New(`\bsystemctl status kubelet(?:\.service)?(?:\W|$)|\bis-active kubelet(?:\.service)?(?:\s|$)|^Process: \d+ ExecStart=\S*/kubelet\b|kubelet.*/status\b|\bsystemctl\b.* show\b.*\skubelet(?:\.service)?(?:\s|$)|^Id=kubelet\.service$|^Name:\s+kubelet$`)
	asksUnit       = pattern.New(`[#$] (?:sudo )?systemctl (?:is-active|status|show)\b`) // of another one
	processStop    = pattern.New(`^State:\s+([Tt]) \((?:stopped|tracing stop)\)`)
	processID      = pattern.New(`^(?:Tgid|Pid):\s+(\d+)`)
)

// nearHeading is how many lines stand between the heading of a service, or the name of a process, and its state.
const nearHeading = 12

func (r *serviceReader) line(s string, number int) {
	text := strings.TrimSpace(s)
	r.above++
	r.ends = r.ends || strings.Contains(text, "ain process exited") || strings.Contains(text, "cheduled restart job")
	r.writes = r.writes || strings.Contains(text, " kubelet[")
	if r.between && r.ends && r.writes {
		r.to.kubelet, r.between = nil, false
	}
	if unitStart.MatchString(text) && r.to.kubelet != nil && r.to.kubelet.Expected != "" {
		r.to.kubelet = nil // what is printed later tells what came of it
	}
	if m := unitHeading.FindStringSubmatch(text); m != nil {
		r.ours, r.above, r.runs = slices.Contains(logs.KubeletUnits, m[1]), 0, false
		return
	}
	if unitInspected.MatchString(text) {
		r.to.found(&kubelet.Instance{Expected: "microk8s inspect says that its service is not running (" + savedAt(r.name, number) + ")"}, r.name)
		return
	}
	if kubeadmRefused.MatchString(text) {
		if r.to.kubelet == nil && !r.runs && !r.writes {
			r.refused = &kubelet.Instance{Expected: "kubeadm says that its health port refuses connections (" + savedAt(r.name, number) + ")"}
			r.to.found(r.refused, r.name)
		}
		return
	}
	if k := r.to.kubelet; k != nil && k == r.refused && (kubeadmServed.MatchString(text) || r.writes) {
		r.to.kubelet = nil // what it writes itself tells more
	}
	if ofKubelet.MatchString(text) {
		r.ours, r.above = true, 0
		if !unitEnded.MatchString(text) {
			return
		}
	}
	r.ours = r.ours && !asksUnit.MatchString(text)
	if !r.ours || r.above > nearHeading {
		return
	}
	saved := savedAt(r.name, number)
	switch {
	case unitRuns.MatchString(text):
		r.to.kubelet, r.runs = nil, true
	case unitEnded.MatchString(text):
		if !r.runs && r.to.kubelet == nil {
			r.to.found(&kubelet.Instance{Expected: "systemctl says that its process has ended with status " + unitEnded.FindStringSubmatch(text)[1] + " (" + saved + ")"}, r.name)
		}
	case unitWaits.MatchString(text):
		m := unitWaits.FindStringSubmatch(text)
		r.to.found(&kubelet.Instance{Expected: "systemctl says that its unit is " + m[1] + " since " + m[2] + " (" + saved + ")"}, r.name)
	case unitActive.MatchString(text):
		m := unitActive.FindStringSubmatch(text)
		r.between = strings.HasPrefix(m[1], "activating")
		r.to.found(&kubelet.Instance{Expected: "systemctl says that its unit is " + strings.TrimSpace(m[1]+" "+m[2]) + " (" + saved + ")"}, r.name)
	case unitState.MatchString(text):
		r.to.found(&kubelet.Instance{Expected: "systemctl says that its unit is " + unitState.FindStringSubmatch(text)[1] + " (" + saved + ")"}, r.name)
	case r.above == 1 && (text == "inactive" || text == "failed"):
		r.to.found(&kubelet.Instance{Expected: "systemctl says that its unit is " + text + " (" + saved + ")"}, r.name)
	case processStop.MatchString(text):
		r.to.found(&kubelet.Instance{State: processStop.FindStringSubmatch(text)[1], PID: -1}, r.name)
	case processID.MatchString(text) && r.to.kubelet != nil && r.to.kubelet.PID < 0:
		r.to.kubelet.PID = atoi(processID.FindStringSubmatch(text)[1])
	}
}

// found notes a kubelet that does not run. The last word counts.
func (x *systemText) found(k *kubelet.Instance, name string) {
	k.Flags, k.Sources, k.Endpoints = map[string]string{}, []kubelet.Source{}, []kubelet.Endpoint{}
	x.kubelet = k
	x.saw(forensics.SourceKubelet, name)
}

// stopped finds a kubelet among the processes of a listing that a signal or a debugger has stopped. Where another one runs, it may be that of a
// cluster within a container; and so may it where the listing has only processes that are stopped or blocked, among them others.
func (x *systemText) stopped() *kubelet.Instance {
	last := map[int]processRow{} // a process that is listed twice may have continued
	for _, row := range x.rows {
		if row.comm() == "kubelet" {
			last[row.pid] = row
		}
	}
	for pid, row := range last {
		others, moving := false, false
		for _, r := range x.rows {
			if ofTable := r.text == row.text && r.table == row.table; len(last) == 1 && ofTable {
				others, moving = others || r.comm() != "kubelet", moving || !strings.ContainsAny(r.state[:1], "DTtZ")
			}
		}
		if len(last) == 1 && (moving || !others) && strings.ContainsAny(row.state[:1], "Tt") {
			x.found(&kubelet.Instance{PID: pid, State: row.state[:1]}, row.text)
		}
	}
	if x.kubelet != nil && x.kubelet.PID < 0 { // the listing did not name it
		x.kubelet.PID = 0
		if x.kubelet.State != "" {
			return nil
		}
	}
	return x.kubelet
}

// A freezerReader finds the cgroups of pods that the freezer of cgroup v1 has stopped.
type freezerReader struct {
	to   *systemText
	name string
	path string // of the last cgroup that was named
}

var (
	podCgroup   = pattern.New(`/[\w./:-]*kubepods[\w./:-]*`)
	podUID      = pattern.New(poduid.Pattern)
	containerID = pattern.New(`[0-9a-f]{64}`)
)

func (r *freezerReader) line(s string, _ int) {
	if at := podCgroup.FindString(s); at != "" {
		r.path = strings.TrimSuffix(strings.TrimSuffix(at, ":FROZEN"), "/freezer.state")
	}
	text := strings.TrimSpace(s)
	uid := podUID.FindString(strings.ReplaceAll(r.path, "_", "-"))
	if (text != "FROZEN" && !strings.HasSuffix(text, "freezer.state:FROZEN")) || uid == "" || len(r.to.frozen) >= mostSaved {
		return
	}
	r.to.frozen = append(r.to.frozen, runtimes.PodCgroup{
		PodUID: uid, Path: r.path, Paths: []string{r.path}, Containers: slices.Compact(append([]string{}, containerID.FindAllString(r.path, -1)...)),
		Frozen: []runtimes.FrozenCgroup{{Path: r.path, State: "frozen", V1: true}},
	})
	r.to.saw(forensics.SourceCgroups, r.name)
}

// A cgroupReader reads how many memory cgroups the kernel has, by /proc/cgroups (cgroups(7)).
type cgroupReader struct {
	to      *systemText
	name    string
	heading bool
}

var memoryCgroups = pattern.New(`^memory\s+\d+\s+(\d+)\s+1$`)

func (r *cgroupReader) line(s string, _ int) {
	r.heading = r.heading || strings.HasPrefix(strings.TrimLeft(s, "# "), "subsys_name\t")
	if m := memoryCgroups.FindStringSubmatch(s); m != nil && r.heading {
		r.to.memoryCgroups = atoi(m[1])
		r.to.saw(forensics.SourceCgroups, r.name)
	}
}
