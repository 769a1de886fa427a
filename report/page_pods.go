package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// podBook has the names and states of pods.
type podBook struct {
	names map[string]string
	model *forensics.Model
}

func podNamesOf(r Report) podBook {
	b := podBook{map[string]string{}, r.joined()}
	note := func(uid, namespace, name string) {
		if uid != "" && name != "" && (b.names[uid] == "" || namespace != "" && !strings.Contains(b.names[uid], "/")) {
			b.names[uid] = name
			if namespace != "" {
				b.names[uid] = namespace + "/" + name
			}
		}
	}
	for _, d := range r.Diagnoses {
		for _, p := range d.Pods {
			note(p.UID, p.Namespace, p.Name)
		}
	}
	for _, p := range r.Evidence.Pods {
		note(p.UID, p.Namespace, p.Name)
	}
	for _, d := range r.Evidence.PodDirs {
		note(d.UID, "", d.HostName)
	}
	return b
}

// name is namespace and name where any evidence has them, else the UID.
func (b podBook) name(uid string) string {
	if name := b.names[uid]; strings.Contains(name, "/") {
		return name
	}
	if namespace, name := b.model.PodName(uid); namespace != "" && name != "" {
		return namespace + "/" + name
	}
	return cmp.Or(b.names[uid], uid)
}

type podsView struct {
	Rows       []podRow
	Total, Cut int
	Empty      shown // why there is no pod
	NoDir      shown // of a pod without a directory
}

type podRow struct {
	Anchor             string
	Name               shown
	UID                shown
	State              mark
	StateWhy           shown
	Facts              []fact // what each source says
	OnlyDir            bool
	Kind               shown
	Phase              shown
	Deleting           *when
	Path               shown
	Modified           *when
	Inside, Containers shown
	Volumes            []volumeRow
	More               int
	Cgroup             shown
	Error              shown
	HasDir             bool
	Rank               int
}

// podFacts is everything about one UID.
type podFacts struct {
	uid    string
	pods   []kubelet.Pod
	dir    *kubelet.PodDir
	cgroup *runtimes.PodCgroup
}

func newPodsView(r Report, names podBook, places *places) podsView {
	all := collectPods(r)
	facts := factsByPod(names.model)
	v, room := podsView{Total: len(all), Empty: emptyWords(r, forensics.SourceKubeletPods, "No pods found."), NoDir: "no directory"}, budget(budgetPods)
	if ok, _ := r.Evidence.Saw(forensics.SourcePodDirs); !ok {
		v.NoDir = "not collected"
	}
	for i, f := range all {
		row := newPodRow(i, f, r, names, facts[f.uid])
		if !room.fits(row, 500) {
			v.Cut = len(all) - i
			return v
		}
		places.put(forensics.KindPod, f.uid, row.Anchor)
		v.Rows = append(v.Rows, row)
	}
	return v
}

// collectPods joins all sources by UID: those that a diagnosis names first, then those that no source but the disk
// knows, then by name.
func collectPods(r Report) []podFacts {
	index := map[string]int{}
	var all []podFacts
	at := func(uid string) *podFacts {
		i, ok := index[uid]
		if !ok {
			i = len(all)
			index[uid] = i
			all = append(all, podFacts{uid: uid})
		}
		return &all[i]
	}
	for _, d := range r.Diagnoses {
		for _, p := range d.Pods {
			at(p.UID)
		}
	}
	named := len(all)
	for i := range r.Evidence.PodDirs {
		at(r.Evidence.PodDirs[i].UID).dir = &r.Evidence.PodDirs[i]
	}
	manifests := newManifestUIDs(r)
	for _, p := range r.Evidence.Pods {
		f := at(cmp.Or(p.UID, manifests.of(p)))
		f.pods = append(f.pods, p)
	}
	for i := range r.Evidence.Cgroups {
		at(r.Evidence.Cgroups[i].PodUID).cgroup = &r.Evidence.Cgroups[i]
	}
	for _, p := range r.Evidence.Processes {
		if p.PodUID != "" {
			at(p.PodUID)
		}
	}
	sorting.Stable(all[named:], func(a, b podFacts) int {
		return cmp.Compare(min(1, len(a.pods)), min(1, len(b.pods)))
	})
	return all
}

// named is a name unless that is the UID alone.
func named(name, uid string) string {
	if name == uid {
		return ""
	}
	return name
}

// manifestUIDs find the UID of a static pod without one in its manifest: the kubelet derives one and adds the node's name
// to the pod's (kubelet pkg/kubelet/config/common.go). Where it is not found, the row is for the name.
type manifestUIDs struct {
	node string
	pods map[[2]string]int // by namespace and name, the first that has a UID
	list []kubelet.Pod
}

func newManifestUIDs(r Report) manifestUIDs {
	m := manifestUIDs{strings.ToLower(r.Node.Name), map[[2]string]int{}, r.Evidence.Pods}
	if k := r.Evidence.Kubelet; k != nil && k.NodeName != "" {
		m.node = strings.ToLower(k.NodeName)
	}
	for i, p := range slices.Backward(m.list) {
		if p.UID != "" {
			m.pods[[2]string{p.Namespace, p.Name}] = i
		}
	}
	return m
}

func (m manifestUIDs) of(p kubelet.Pod) string {
	first := len(m.list)
	for _, name := range []string{p.Name, p.Name + "-" + m.node} {
		if i, ok := m.pods[[2]string{p.Namespace, name}]; ok {
			first = min(first, i)
		}
	}
	if first < len(m.list) {
		return m.list[first].UID
	}
	return noUID + p.Namespace + "/" + p.Name
}

// noUID begins the key of a pod without a UID; no UID holds a blank.
const noUID = "no UID: "

func newPodRow(i int, f podFacts, r Report, names podBook, facts []podFact) podRow {
	row := podRow{
		Anchor: "pod-" + strconv.Itoa(i+1), Name: cell(named(names.name(f.uid), f.uid), maxCell), UID: cell(f.uid, maxCell),
		Rank: i,
	}
	state, why := names.model.PodState(f.uid)
	if name, ok := strings.CutPrefix(f.uid, noUID); ok {
		row.Name, row.UID, state, why = cell(name, maxCell), "no UID", forensics.PodUnknown, "its manifest has no UID"
	}
	row.State, row.StateWhy = podState(state), cell(why, maxCell)
	for _, p := range f.pods {
		row.Phase = cell(cmp.Or(p.Phase, string(row.Phase)), 60)
		if p.Deleting != nil {
			row.Deleting = newWhen(p.Deleting, r.Evidence.Collected)
		}
	}
	row.addFacts(f, facts, names)
	if f.cgroup != nil {
		row.Cgroup = cell(f.cgroup.Path, maxCell) + shown(" ("+count(len(f.cgroup.Containers), "container")+")")
	}
	if f.dir != nil {
		row.addDir(f.dir, r)
	}
	return row
}

// addFacts lists the sources that know the pod, also a manifest without a UID.
func (row *podRow) addFacts(f podFacts, facts []podFact, names podBook) {
	for _, p := range f.pods {
		if p.UID == "" {
			row.Facts = append(row.Facts, fact{cell(p.Source, 40), cell(p.Kind, 40)})
		}
		row.Kind = cell(cmp.Or(p.Kind, string(row.Kind)), 40)
	}
	for _, x := range facts {
		row.Facts = append(row.Facts, fact{cell(x.Source, 40), cell(x.Says, maxCell)})
	}
	row.Kind = cell(cmp.Or(forensics.PodKind(names.model, f.uid), string(row.Kind)), 40)
	row.OnlyDir = len(facts) == 1 && facts[0].Source == podFromDir
}

func (row *podRow) addDir(d *kubelet.PodDir, r Report) {
	row.HasDir, row.Path, row.Error = true, cell(d.Path, maxCell), cell(d.Error, maxCell)
	row.Modified = newWhen(d.Modified, r.Evidence.Collected)
	row.Inside = shown(count(len(d.Volumes), "volume"))
	if len(d.Subpaths) > 0 {
		row.Inside += shown(", " + count(len(d.Subpaths), "subpath"))
	}
	row.Containers = cell(joinComma(d.Containers), maxCell)
	const most = 40
	for _, v := range d.Volumes[:min(len(d.Volumes), most)] {
		row.Volumes = append(row.Volumes, newVolumeRow(v))
	}
	for _, s := range d.Subpaths[:min(len(d.Subpaths), most)] {
		row.Volumes = append(row.Volumes, newSubpathRow(s))
	}
	row.More = len(d.Volumes) + len(d.Subpaths) - len(row.Volumes)
}
