// Package kubelet has the sync loop and the pod workers.
package kubelet

import (
	"sync"

	mount "k8s.io/mount-utils"
)

// Kubelet is one of one pod.
type Kubelet struct {
	path    string
	rounds  int
	workers *podWorkers
	mounter *mount.Mounter
}

// New makes one whose volume is at path.
func New(path string) *Kubelet {
	return &Kubelet{path: path, workers: &podWorkers{}, mounter: &mount.Mounter{}}
}

// Workers are its pod workers.
func (kl *Kubelet) Workers() *podWorkers { return kl.workers }

// Run runs the sync loop.
func (kl *Kubelet) Run() { kl.syncLoop() }

func (kl *Kubelet) syncLoop() {
	for kl.syncLoopIteration() {
		kl.rounds++
	}
}

func (kl *Kubelet) syncLoopIteration() bool {
	err := kl.HandlePodCleanups()
	kl.rounds++
	return err == nil
}

// HandlePodCleanups is housekeeping.
func (kl *Kubelet) HandlePodCleanups() error {
	err := kl.cleanupOrphanedPodDirs()
	kl.rounds++
	return err
}

func (kl *Kubelet) cleanupOrphanedPodDirs() error {
	if kl.podVolumesExist(kl.path) {
		kl.rounds++
	}
	return nil
}

func (kl *Kubelet) podVolumesExist(path string) bool {
	exists := kl.getMountedVolumePathListFromDisk(path)
	kl.rounds++
	return exists
}

func (kl *Kubelet) getMountedVolumePathListFromDisk(path string) bool {
	likely, err := kl.mounter.IsLikelyNotMountPoint(path)
	kl.rounds++
	return err == nil && !likely
}

// PodResourcesAreReclaimed is what the status manager asks.
func (kl *Kubelet) PodResourcesAreReclaimed() bool {
	exists := kl.podVolumesExist(kl.path)
	kl.rounds++
	return !exists
}

type podWorkers struct {
	name    string
	podLock sync.Mutex
	done    int
}

// Start starts a worker that holds the lock while it looks at path, and somebody who waits for the lock.
func (p *podWorkers) Start(path string) {
	held := make(chan struct{})
	go p.completeWork(path, held)
	<-held
	go p.ask()
}

func (p *podWorkers) completeWork(path string, held chan struct{}) {
	p.podLock.Lock()
	defer p.podLock.Unlock()
	close(held)
	if exists, _ := mount.PathExists(path); exists {
		p.done++
	}
}

func (p *podWorkers) ask() {
	if p.IsPodKnownTerminated("5c948341") {
		p.done++
	}
}

// IsPodKnownTerminated waits for the lock.
func (p *podWorkers) IsPodKnownTerminated(uid string) bool {
	p.podLock.Lock()
	defer p.podLock.Unlock()
	return p.name == uid
}
