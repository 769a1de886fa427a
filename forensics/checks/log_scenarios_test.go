package checks

// All stories end at 10:12:29, one second before the examination.

// logScenarios are those that rest on what logs say.
func logScenarios() map[string][]scenario {
	return map[string][]scenario{
		"kubelet-restarting":       kubeletRestartingInLogs(),
		"kubelet-syncloop-stalled": kubeletSyncloopStalledInLogs(),
		"kubelet-pleg-unhealthy":   kubeletPlegUnhealthyInLogs(),
		"runtime-unresponsive":     runtimeUnresponsiveInLogs(),
		"pod-terminating-stuck":    podTerminatingStuckInLogs(),
		"pod-orphaned":             podOrphanedInLogs(),
		"pod-podgc":                podPodgcInLogs(),
		"csi-driver-missing":       csiDriverMissingInLogs(),
		"csi-operation-stuck":      csiOperationStuckInLogs(),
		"unmount-busy":             unmountBusyInLogs(),
		"image-gc-failing":         imageGcFailingInLogs(),
		"image-gc-removed-in-use":  imageGcRemovedInUseInLogs(),
		"eviction-stuck":           evictionStuckInLogs(),
		"log-noise":                logNoiseInLogs(),
		"mount-hung":               mountHungInLogs(),
		"mount-io-error":           mountIoErrorInLogs(),
		"thread-blocked":           threadBlockedInLogs(),
		"process-unkillable":       processUnkillableInLogs(),
	}
}
