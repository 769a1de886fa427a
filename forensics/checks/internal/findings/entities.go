package findings

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// PodEntity is a pod as an entity.
func PodEntity(uid string) forensics.Entity {
	return forensics.Entity{Kind: forensics.KindPod, ID: uid}
}

// ProcessEntity is a process as an entity.
func ProcessEntity(pid int) forensics.Entity {
	return forensics.Entity{Kind: forensics.KindProcess, ID: strconv.Itoa(pid)}
}

// ProcessName names a process: "process 4711 (nginx) of pod default/web".
func ProcessName(p *forensics.Pass, pid int) string {
	process, ok := p.Model.Process(pid)
	if !ok {
		return fmt.Sprintf("process %d", pid)
	}
	text := fmt.Sprintf("process %d (%s)", pid, process.Comm)
	if process.PodUID != "" {
		text += " of pod " + p.Model.Pod(process.PodUID).String()
	}
	return text
}

// UIDs is the list of one UID, empty where that is not known.
func UIDs(uid string) []string {
	if uid == "" {
		return nil
	}
	return []string{uid}
}

// PodOrName is the pod as an entity; by its name where its UID is not known.
func PodOrName(name, uid string) forensics.Entity {
	return forensics.Entity{Kind: forensics.KindPod, ID: cmp.Or(uid, name)}
}

// PodLabel names a pod by what is known: its name, its UID.
func PodLabel(p *forensics.Pass, name, uid string) string {
	if uid != "" {
		if pod := p.Model.Pod(uid); pod.Name != "" {
			return pod.String()
		}
	}
	switch {
	case name != "" && uid != "":
		return name + " (" + uid + ")"
	case name != "":
		return name
	}
	return uid
}

// MaxQuoted is how many goroutines, processes or threads one finding quotes.
const MaxQuoted = 4
