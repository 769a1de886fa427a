package collect

import (
	"strconv"
	"strings"
	"unsafe"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/foreign"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// table looks at the mounts of another namespace.
func (k *selector) table(t mounts.Table) {
	host := &k.evidence.Mounts
	k.known(&t)
	k.look(&t)
	if t.Namespace != host.Namespace {
		k.pinned(&t)
	}
	if t.PID == 0 && len(k.use.Uninhabited) < maxUninhabited {
		k.use.Uninhabited = append(k.use.Uninhabited, t.Namespace)
	}
	if t.Namespace == host.Namespace || host.Namespace == 0 || k.nested.owns(&t) {
		return
	}
	k.otherRoots(&t)
	kubelet := k.evidence.Kubelet
	if kubelet != nil && kubelet.MountNS == t.Namespace {
		return // that is where the kubelet mounts
	}
	for _, l := range k.leaks.In(&t, poduid.Path.MatchString) {
		k.leaked(&t, l)
	}
}

// leaked keeps a leak within the bounds. Those on no directory of the host have a bound of their own: a container can make as
// many as it likes, and must not crowd out the host's.
func (k *selector) leaked(t *mounts.Table, l foreign.Leak) {
	if l.On == "" {
		k.strange++
	}
	if l.On == "" && k.strange > maxLeaked || l.On != "" && len(k.foreign)-min(k.strange, maxLeaked) >= maxLeaked {
		return
	}
	k.foreign = append(k.foreign, forensics.ForeignMount{Namespace: t.Namespace, Mount: l.Mount, On: l.On, Owner: t.Owner})
	k.want.ids[l.Mount.ID] = true
	k.through[t.Namespace] = t.PID
}

// otherRoots finds what another namespace has of the mounts that somebody asks for.
func (k *selector) otherRoots(t *mounts.Table) {
	if !k.want.asks() {
		return
	}
	for _, m := range k.listOtherRoots(t, maxLeaked-len(k.private)) {
		k.private = append(k.private, forensics.ForeignMount{Namespace: t.Namespace, Mount: m})
	}
}

// pinned finds mounts of mount namespaces themselves, which keep them alive (namespaces(7)).
func (k *selector) pinned(t *mounts.Table) {
	for _, m := range t.Mounts {
		number, ok := strings.CutPrefix(m.Root, "mnt:[")
		if m.FSType != "nsfs" || !ok {
			continue
		}
		ns, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
		if err == nil && len(k.use.Pinned) < maxPinned {
			k.use.Pinned = append(k.use.Pinned, forensics.PinnedNamespace{Namespace: ns, MountID: m.ID, MountPoint: m.MountPoint, MountNS: t.Namespace})
		}
	}
}

// known remembers what sorts of file systems there are.
func (k *selector) known(t *mounts.Table) {
	for _, m := range t.Mounts {
		if _, ok := k.classes[m.Device]; !ok {
			k.classes[m.Device] = m.Class
		}
		if m.Class == mounts.ClassFUSE && k.fuseBytes < maxFUSEBytes {
			k.fuse = append(k.fuse, fuseMount{m, t.Namespace})
			k.fuseBytes += int(unsafe.Sizeof(m)) + len(m.Root) + len(m.MountPoint) + len(m.SuperOptions)
		}
	}
}

// look finds what may be copies of the mounts that are wanted: who holds those is wanted, too.
func (k *selector) look(t *mounts.Table) {
	for _, id := range k.copies.Look(t) {
		k.want.ids[id] = true
	}
}
