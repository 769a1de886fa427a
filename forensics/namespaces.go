package forensics

import (
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// Namespace says what keeps a mount namespace alive.
func (u *Uses) Namespace(ns uint64) NamespaceProcesses {
	n, ok := u.namespaces()[ns]
	if !ok {
		n = emptyNamespace(ns)
	}
	return n
}

func emptyNamespace(ns uint64) NamespaceProcesses {
	return NamespaceProcesses{Namespace: ns, PIDs: []int{}, OpenedBy: []int{}, MountedAt: []string{}, Pods: []string{}, Commands: []string{}}
}

// allNamespaces says what keeps each mount namespace alive. It is made once: a pod can have many processes with many mounts.
func (u *Uses) allNamespaces() map[uint64]NamespaceProcesses {
	found := map[uint64]NamespaceProcesses{}
	for ns, at := range u.model.index.processesIn {
		found[ns] = namespaceOf(ns, pick(u.model.evidence.Processes, at))
	}
	h := u.model.evidence.MountUse
	if h == nil {
		return found
	}
	for ns := range u.descriptorsOf {
		u.addPins(found, ns)
	}
	for ns := range u.pinnedOf {
		u.addPins(found, ns)
	}
	return found
}

func namespaceOf(ns uint64, processes []procs.Process) NamespaceProcesses {
	const most = 16
	n := emptyNamespace(ns)
	n.Processes = len(processes)
	pods := map[string]bool{"": true}
	for _, p := range processes {
		if len(n.PIDs) < most {
			n.PIDs = append(n.PIDs, p.PID)
		}
		if !pods[p.PodUID] {
			pods[p.PodUID] = true
			n.Pods = append(n.Pods, p.PodUID)
		}
		if len(n.Commands) < most && !slices.Contains(n.Commands, p.Comm) {
			n.Commands = append(n.Commands, p.Comm)
		}
	}
	return n
}

// addPins adds the descriptors and the mounts of a namespace's file that keep it alive.
func (u *Uses) addPins(found map[uint64]NamespaceProcesses, ns uint64) {
	h := u.model.evidence.MountUse
	n, ok := found[ns]
	if !ok {
		n = emptyNamespace(ns)
	}
	n.OpenedBy, n.MountedAt = []int{}, []string{}
	by, points := map[int]bool{}, map[string]bool{}
	for _, hold := range pick(h.Namespaces, u.descriptorsOf[ns]) {
		if !by[hold.PID] {
			by[hold.PID] = true
			n.OpenedBy = append(n.OpenedBy, hold.PID)
		}
	}
	for _, pin := range pick(h.Pinned, u.pinnedOf[ns]) {
		at := pin.MountPoint
		if u.IsElsewhere(pin.MountNS) {
			at += fmt.Sprintf(" in mount namespace %d", pin.MountNS)
		}
		if !points[at] {
			points[at] = true
			n.MountedAt = append(n.MountedAt, at)
		}
	}
	n.Unread = n.Processes == 0 && !u.uninhabited[ns]
	found[ns] = n
}

// EmptyNamespaces lists the mount namespaces without processes: only a descriptor or a bind mount keeps them alive.
// If their mount tables could not be read, a mount that is in no table may be in one of them.
func (u *Uses) EmptyNamespaces() []NamespaceProcesses {
	h := u.model.evidence.MountUse
	if h == nil {
		return nil
	}
	inhabited := map[uint64]bool{}
	for _, p := range u.model.evidence.Processes {
		inhabited[p.MountNS] = true
	}
	for _, holder := range h.Holders { // a thread may be in one for itself
		inhabited[holder.MountNS] = true
	}
	var list []NamespaceProcesses
	add := func(ns uint64) {
		if !inhabited[ns] {
			inhabited[ns] = true
			list = append(list, u.Namespace(ns))
		}
	}
	for _, hold := range h.Namespaces {
		add(hold.Namespace)
	}
	for _, pin := range h.Pinned {
		add(pin.Namespace)
	}
	for _, ns := range h.Uninhabited {
		add(ns)
	}
	return list
}
