package kubectl

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// described is an object of which a description or a row of a table shows something.
type described struct {
	kind, namespace, name, node string
	// indent is what stands before the names of its fields; the last of them and its further lines belong together.
	indent, last string
	fields       map[string][]string
	claims       []string // of a pod
	line         int      // of a row
}

var (
	fieldOf   = pattern.New(`^(\s*)([A-Z][\w ()-]*?):\s*(.*?)\s*$`)
	claimName = pattern.New(`^\s+ClaimName:\s+([a-z0-9][a-z0-9.-]*)\s*$`)
	lasts     = pattern.New(`^Terminating(?: \((?:lasts (\S+)|(?:expires|since) (` + date + `))\))?$`)
	finalizer = pattern.New(`[^\s\[\],]+`)

	// namespaced begins a row. A list of several kinds ("get pvc,pv") has them before the names.
	namespaced = `^\s*(?:([a-z0-9][a-z0-9-]*)\s+)?(?:pod/|persistentvolumeclaim/)?([a-z0-9][a-z0-9.-]*)\s+`
	modes      = `(?:RWO|ROX|RWX|RWOP)(?:,(?:RWO|ROX|RWX|RWOP))*`
	// podRow is one of "get pods": [NAMESPACE] NAME READY STATUS RESTARTS AGE [IP NODE …].
	podRow = pattern.New(namespaced + `\d+/\d+\s+([A-Z][\w:/-]*)\s+\d+(?: \(\S+ ago\))?(?:\s*$|\s+(` + span + `)(?:\s+(?:<none>|[\da-f.:]+)\s+([\w.-]+|<none>))?(?:\s.*)?$)`)
	// claimRow is one of "get pvc": [NAMESPACE] NAME STATUS VOLUME CAPACITY ACCESS MODES …; volumeRow one of "get pv": NAME CAPACITY
	// ACCESS MODES RECLAIM POLICY STATUS CLAIM ….
	claimRow  = pattern.New(namespaced + `Terminating\s+(?:([a-z0-9][\w.-]*)\s+\d+\w*\s+` + modes + `\s|(pvc-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\s*$)`) // the end may be cut off
	volumeRow = pattern.New(`^\s*(?:persistentvolume/)?([a-z0-9][a-z0-9.-]*)\s+\d+\w*\s+` + modes + `\s+(Delete|Retain|Recycle)\s+Terminating\s+([a-z0-9][\w-]*/[\w.-]+)\s`)
)

// field takes a line of the description that is being read.
func (d *described) field(line string) {
	if d.fields["Events"] != nil { // which come last
		return
	}
	if m := claimName.FindStringSubmatch(line); m != nil {
		d.claims = append(d.claims, m[1])
		return
	}
	m := fieldOf.FindStringSubmatch(line)
	switch {
	case m != nil && m[1] == d.indent:
		d.last = m[2]
		if _, twice := d.fields[m[2]]; twice || len(d.fields) > maxFields {
			d.last = ""
			return
		}
		d.fields[m[2]] = []string{m[3]}
	case (d.last == "Used By" || d.last == "Mounted By") && strings.TrimSpace(line) != "" && strings.HasPrefix(line, d.indent+"  ") && len(d.fields[d.last]) < maxFields:
		d.fields[d.last] = append(d.fields[d.last], strings.TrimSpace(line))
	default:
		d.last = ""
	}
}

// maxFields is how many fields a description has at most, and how many pods use a claim.
const maxFields = 200

func (d *described) value(field string) string {
	if v := d.fields[field]; len(v) > 0 && v[0] != "<none>" && v[0] != "<unset>" {
		return v[0]
	}
	return ""
}

// deleted is the deletion timestamp; false where the object is not being deleted.
func (d *described) deleted(now time.Time) (time.Time, bool) {
	m := lasts.FindStringSubmatch(d.value("Status"))
	switch {
	case m == nil:
		return time.Time{}, false
	case m[2] != "":
		t, err := time.Parse(dateLayout, m[2])
		return t.UTC(), err == nil
	}
	return now.Add(-length(m[1])), !now.IsZero()
}

// tableRow takes the line i, if it is a row of a table of pods, claims or volumes.
func (p *page) tableRow(i int) {
	line := p.lines[i]
	if !strings.Contains(line, "Terminating") && !strings.Contains(line, "/") || len(line) > maxRow || len(p.rows) >= maxRows {
		return
	}
	if m := podRow.FindStringSubmatch(line); m != nil {
		p.rows = append(p.rows, described{kind: "Pod", namespace: cmp.Or(m[1], p.namespace), name: m[2], node: strings.Trim(m[5], "<>"), line: i, fields: map[string][]string{"Status": {m[3]}, "Age": {m[4]}}})
	} else if m := claimRow.FindStringSubmatch(line); m != nil {
		p.rows = append(p.rows, described{kind: "PersistentVolumeClaim", namespace: cmp.Or(m[1], p.namespace), name: m[2], fields: map[string][]string{"Status": {"Terminating"}, "Volume": {cmp.Or(m[3], m[4])}}})
	} else if m := volumeRow.FindStringSubmatch(line); m != nil {
		p.rows = append(p.rows, described{kind: "PersistentVolume", name: m[1], fields: map[string][]string{"Status": {"Terminating"}, "Reclaim Policy": {m[2]}, "Claim": {m[3]}}})
	}
}

// maxRow is how long a row is, and maxRows how many are taken of a text.
const maxRow, maxRows = 1000, 20_000

// An apiObject is what a text shows of an object, as the API writes it.
type apiObject struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name       string     `json:"name"`
		Namespace  string     `json:"namespace,omitempty"`
		Deleted    *time.Time `json:"deletionTimestamp,omitempty"`
		Finalizers []string   `json:"finalizers,omitempty"`
	} `json:"metadata"`
	Spec   map[string]any `json:"spec,omitempty"`
	Status map[string]any `json:"status,omitempty"`
}

// shown are the objects in trouble that descriptions, tables and events show: those that are being deleted, pods that use such a claim,
// and pods that cannot be scheduled. Others are left out: their text may be anything that looks like one.
func (p *page) shown() []byte {
	objects := map[string]*apiObject{}
	object := func(kind, namespace, name string) *apiObject {
		id := kind + " " + namespace + "/" + name
		if objects[id] == nil {
			o := &apiObject{Kind: kind, Spec: map[string]any{}, Status: map[string]any{}}
			o.Metadata.Name, o.Metadata.Namespace = name, namespace
			objects[id] = o
		}
		return objects[id]
	}
	phases := map[string]string{}
	for _, d := range p.rows {
		if d.kind == "Pod" {
			phases[d.name] = phaseOf(d.value("Status"))
		}
	}
	for _, list := range [][]described{p.rows, p.sections} { // a description tells more than a row
		for i := range list {
			if d := &list[i]; d.kind != "" && d.name != "" {
				p.deletion(d, object, phases)
			}
		}
	}
	for _, e := range p.unscheduled() {
		o := object("Pod", e.Namespace, e.Name)
		o.Status["phase"] = "Pending"
		condition := map[string]any{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": e.Message}
		if !e.First.IsZero() {
			condition["lastTransitionTime"] = e.First
		}
		o.Status["conditions"] = []any{condition}
	}
	var text []byte
	for _, id := range slices.Sorted(maps.Keys(objects)) {
		line, _ := json.Marshal(objects[id]) // of strings and times
		text = append(append(text, line...), '\n')
	}
	return text
}

// deletion adds an object that is being deleted, and the pods that use it.
func (p *page) deletion(d *described, object func(kind, namespace, name string) *apiObject, phases map[string]string) {
	at, ok := d.deleted(p.now)
	if !ok {
		return
	}
	o := object(d.kind, d.namespace, d.name)
	o.Metadata.Deleted = &at
	if list := d.value("Finalizers"); list != "" {
		o.Metadata.Finalizers = finalizer.FindAllString(list, -1)
	}
	switch d.kind {
	case "Pod":
		o.Status["phase"] = "Unknown"
		if d.node != "" && d.node != "none" {
			o.Spec["nodeName"] = d.node
		}
		useClaims(o, d.claims...)
	case "PersistentVolumeClaim":
		o.Spec["volumeName"] = d.value("Volume")
		for _, user := range slices.Concat(d.fields["Used By"], d.fields["Mounted By"]) { // since 1.19, and before
			if !podName.MatchString(user) {
				continue
			}
			pod := object("Pod", d.namespace, user)
			if pod.Status["phase"] == nil {
				pod.Status["phase"] = cmp.Or(phases[user], "Unknown")
			}
			useClaims(pod, d.name)
		}
	case "PersistentVolume":
		o.Spec["persistentVolumeReclaimPolicy"] = d.value("Reclaim Policy")
		if namespace, name, ok := strings.Cut(d.value("Claim"), "/"); ok {
			o.Spec["claimRef"] = map[string]string{"namespace": namespace, "name": name}
		}
	}
}

var podName = pattern.New(`^[a-z0-9][a-z0-9.-]*$`)

func useClaims(pod *apiObject, names ...string) {
	volumes, _ := pod.Spec["volumes"].([]any)
	for _, name := range names {
		volumes = append(volumes, map[string]any{"name": name, "persistentVolumeClaim": map[string]string{"claimName": name}})
	}
	if volumes != nil {
		pod.Spec["volumes"] = volumes
	}
}

// phaseOf is the phase of a pod by the column STATUS, as far as that tells.
func phaseOf(status string) string {
	switch status {
	case "Running", "CrashLoopBackOff":
		return "Running"
	case "Pending", "ContainerCreating":
		return "Pending"
	case "Completed", "Succeeded":
		return "Succeeded"
	case "Error", "Failed", "Evicted", "OOMKilled":
		return "Failed"
	}
	return "Unknown"
}

var (
	// noNode is how the message of a FailedScheduling begins.
	noNode = pattern.New(`^\d+/\d+ nodes are available: `)
	// troubled are the taints of a node that is in trouble. One that is not ready may have just joined.
	troubled = []string{"node.kubernetes.io/disk-pressure", "node.kubernetes.io/memory-pressure", "node.kubernetes.io/pid-pressure", "node.kubernetes.io/unreachable"}
)

// notReadyTaint is that of a node that is not ready.
const notReadyTaint = "node.kubernetes.io/not-ready"

// joining is how long a node may be not ready before it is in trouble.
const joining = 10 * time.Minute

// unscheduled are the last events of pods that cannot be scheduled, but where a node is to join.
func (p *page) unscheduled() []Event {
	last, scaled := map[string]Event{}, map[string]bool{}
	var names []string
	for _, f := range p.events {
		if f.Reason == "TriggeredScaleUp" {
			scaled[f.Namespace+"/"+f.Name] = true
		}
		if f.Kind != "Pod" || f.Name == "" && f.described >= 0 || f.Reason != "FailedScheduling" && f.Reason != "Scheduled" {
			continue
		}
		id := f.Namespace + "/" + f.Name
		old, ok := last[id]
		if !ok {
			names = append(names, id)
		}
		if !ok || f.Reason == "Scheduled" || old.Reason != "Scheduled" && !f.Last.Before(old.Last) {
			last[id] = f.Event
		}
	}
	var list []Event
	for _, id := range names {
		e := last[id]
		if e.Reason == "FailedScheduling" && (inTroubledNode(e) || !scaled[id] && !strings.Contains(e.Message, notReadyTaint)) && noNode.MatchString(e.Message) {
			list = append(list, e)
		}
	}
	return list
}

// inTroubledNode says whether a pod cannot be scheduled because a node is in trouble, or because its volume is on no node that is left.
func inTroubledNode(e Event) bool {
	long := e.Last.Sub(e.First) >= joining
	return long && strings.Contains(e.Message, "volume node affinity conflict") || slices.ContainsFunc(troubled, func(taint string) bool { return strings.Contains(e.Message, taint) }) ||
		strings.Contains(e.Message, notReadyTaint) && long
}
