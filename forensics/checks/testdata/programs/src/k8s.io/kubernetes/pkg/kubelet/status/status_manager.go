// Package status is the status manager.
package status

type reclaimer interface{ PodResourcesAreReclaimed() bool }

type manager struct {
	podDeletionSafety reclaimer
	synced            int
}

// New makes one.
func New(r reclaimer) *manager { return &manager{podDeletionSafety: r} }

// Start starts its goroutine.
func (m *manager) Start() {
	go func() {
		for {
			m.syncBatch()
		}
	}()
}

func (m *manager) syncBatch() {
	m.syncPod()
	m.synced++
}

func (m *manager) syncPod() {
	if m.canBeDeleted() {
		m.synced++
	}
}

func (m *manager) canBeDeleted() bool {
	can := m.podDeletionSafety.PodResourcesAreReclaimed()
	m.synced++
	return can
}
