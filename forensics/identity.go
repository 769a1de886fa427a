package forensics

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
)

// Identity is what a root cause has in common with the same one on other nodes, where it has other ids: a superblock on this node is a
// server and an export on all. It is made of fields of the evidence, never of sentences.
//
// Two causes with the same Kind and ID are the same if they are Shared. Otherwise they are alike if the Check is the same, too.
type Identity struct {
	// Check is the check that found the root cause, and Trouble is its title.
	Check   string `json:"check"`
	Trouble string `json:"trouble"`
	// Kind is the kind of thing: that of the root cause, or "file-system" for superblocks and mounts.
	Kind Kind `json:"kind"`
	// ID names the thing on every node: a server ("NFS 10.0.0.5"), a driver, a limit, a function of the kernel. Absent where no field that
	// was read does so.
	ID string `json:"id,omitempty"`
	// Name says more than ID: "NFS 10.0.0.5:/export". Absent where it does not.
	Name string `json:"name,omitempty"`
	// Shared says that there is only one of it, which all nodes use: a server, not a driver that runs on each node.
	Shared bool `json:"shared,omitempty"`
}

// kindFileSystem is the kind of what superblocks are identified by.
const kindFileSystem Kind = "file-system"

// identify sets the identity of each diagnosis. Without a model, only things are identified that have the same id on all nodes.
func identify(m *Model, findings []Finding, list []Diagnosis, checks []Check) {
	titles := map[string]string{}
	for _, c := range checks {
		titles[c.ID] = c.Title
	}
	for i := range list {
		id := identityOf(m, list[i].Root)
		if len(list[i].Findings) > 0 { // the first one is the root's own
			id.Check = findings[list[i].Findings[0]].ID
			id.Trouble = titles[id.Check]
		}
		list[i].Identity = &id
	}
}

// identityOf identifies an entity by what it is called on every node.
func identityOf(m *Model, e Entity) Identity {
	switch e.Kind {
	case KindCSIDriver, KindRuntime, KindSubsystem, KindController, kindLimit, kindKernel, kindNode, kindNetDevice:
		return Identity{Kind: e.Kind, ID: e.ID}
	case KindClaim, kindServer:
		return Identity{Kind: e.Kind, ID: e.ID, Shared: true}
	}
	if m == nil {
		return Identity{Kind: e.Kind}
	}
	switch e.Kind {
	case KindSuperblock:
		return fileSystemIdentity(m.MountsOf(e.ID))
	case KindMount:
		if id, err := strconv.Atoi(e.ID); err == nil {
			if mount, ok := m.Mount(id); ok {
				return fileSystemIdentity([]mounts.Mount{mount})
			}
		}
	case KindThread:
		if t, ok := threadByID(m, e.ID); ok {
			return Identity{Kind: e.Kind, ID: cmp.Or(t.Wait.Function, t.WChan)}
		}
	case KindGoroutine:
		if g, _, ok := goroutineByID(m, e.ID); ok {
			return Identity{Kind: e.Kind, ID: waitsForLockIn(g.Frames)}
		}
	case KindProcess:
		if pid, err := strconv.Atoi(e.ID); err == nil {
			p, _ := m.Process(pid)
			return Identity{Kind: e.Kind, ID: p.Comm}
		}
	case KindVolume:
		if _, rest, ok := strings.Cut(e.ID, "/"); ok && strings.Contains(rest, "/") {
			return Identity{Kind: e.Kind, ID: rest[:strings.LastIndexByte(rest, '/')]} // the plugin
		}
	case KindKubelet:
		if k := m.evidence.Kubelet; k != nil {
			return Identity{Kind: e.Kind, ID: k.Version}
		}
	}
	return Identity{Kind: e.Kind}
}

// fileSystemIdentity identifies a file system by its server, else by its source. The device of a local disk is another one on each node.
func fileSystemIdentity(list []mounts.Mount) Identity {
	id := Identity{Kind: kindFileSystem}
	if len(list) == 0 {
		return id
	}
	m := list[0]
	label := fsfamily.Label(m.FSType, m.Source)
	id.ID = fsfamily.Label(m.FSType, "")
	local := strings.HasPrefix(m.Source, "/") && !strings.HasPrefix(m.Source, "//")
	if local || m.Class != mounts.ClassNetwork && m.Class != mounts.ClassFUSE || label == id.ID {
		return id
	}
	if server := serverOfSource(m.Source); server != "" {
		id.ID, id.Name, id.Shared = fsfamily.Label(m.FSType, server), label, true
		return id
	}
	id.ID = label // whatever its mount program has written there
	return id
}

// serverOfSource is the server in a mount's source: "10.0.0.5:/export" (NFS; SSHFS with its user), "[fd00::5]:/export",
// "10.0.0.5:6789,10.0.0.6:6789:/k8s" and "user@fsid.name=/k8s" (CephFS), "//server/share" (SMB); "" where it has another form.
func serverOfSource(source string) string {
	if share, ok := strings.CutPrefix(source, "//"); ok {
		server, _, _ := strings.Cut(share, "/")
		return strings.ToLower(server)
	}
	if cluster, _, ok := strings.Cut(source, "=/"); ok {
		_, cluster, _ = strings.Cut(cluster, "@")
		return cluster
	}
	servers, _, ok := strings.Cut(source, ":/")
	if !ok || strings.HasPrefix(source[len(servers):], "://") {
		return ""
	}
	list := strings.Split(strings.ToLower(servers), ",") // the monitors in any order
	slices.Sort(list)
	return strings.Join(list, ",")
}

// waitsForLockIn is the function that waits for a lock: it says which one. "" is a goroutine that waits for something else.
func waitsForLockIn(frames []goroutines.Frame) string {
	locks := false
	for _, f := range frames {
		switch {
		case strings.Contains(f.Func, "sync.(*Mutex)."), strings.Contains(f.Func, "sync.(*RWMutex)."):
			locks = true
		case strings.HasPrefix(f.Func, "runtime."), strings.HasPrefix(f.Func, "sync."), strings.HasPrefix(f.Func, "internal/"):
		case locks:
			return f.Func
		default:
			return ""
		}
	}
	return ""
}
