package findings

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
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

// UIDs is a list of one UID, empty where that is not known.
func UIDs(uid string) []string {
	if uid == "" {
		return nil
	}
	return []string{uid}
}

// PodOrName is a pod as an entity, by its name where its UID is not known.
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

// EntityTitle names a thing for a headline, as its owner knows it: "CephFS 10.0.0.5:6789:/k8s", "nginx (pid 4711)", "sync loop".
func EntityTitle(p *forensics.Pass, e forensics.Entity) string {
	switch e.Kind {
	case forensics.KindSuperblock:
		if list := p.Model.MountsOf(e.ID); len(list) > 0 {
			return fsfamily.Label(list[0].FSType, list[0].Source)
		}
		return "a file system that is not mounted on the host"
	case forensics.KindMount:
		id, err := strconv.Atoi(e.ID)
		if m, ok := p.Model.Mount(id); err == nil && ok {
			return fsfamily.Label(m.FSType, m.Source)
		}
		return "a mount"
	case forensics.KindProcess, forensics.KindThread:
		number, _, _ := strings.Cut(e.ID, "/")
		if pid, err := strconv.Atoi(number); err == nil {
			return ProcessTitle(p, pid)
		}
	case forensics.KindSubsystem:
		return forensics.SubsystemName(e.ID)
	case forensics.KindRuntime:
		if e.ID == "runtime" {
			return "container runtime"
		}
		return e.ID
	case forensics.KindCSIDriver:
		return "CSI driver " + e.ID
	case forensics.KindPod:
		return PodTitle(p, e.ID)
	}
	return e.String()
}

// MaxQuoted is how many goroutines, processes or threads one finding quotes.
const MaxQuoted = 4

// PodTitle names a pod for a headline: "Pod shop/cart-0", with its UID only where its name is not known.
func PodTitle(p *forensics.Pass, uid string) string {
	if namespace, name := p.Model.PodName(uid); namespace != "" && name != "" {
		return "Pod " + namespace + "/" + name
	}
	return "Pod " + uid
}

// ProcessTitle names a process for a headline: "nginx (pid 4711)".
func ProcessTitle(p *forensics.Pass, pid int) string {
	if process, ok := p.Model.Process(pid); ok && process.Comm != "" {
		return fmt.Sprintf("%s (pid %d)", process.Comm, pid)
	}
	return fmt.Sprintf("process %d", pid)
}
