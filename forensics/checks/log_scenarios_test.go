package checks

import ()

// All stories end at 10:12:29, one second before the examination.

// logScenarios are those that rest on what logs say.
func logScenarios() map[string][]scenario {
	return merged(loopScenarios(), podScenarios(), volumeScenarios(), evictionScenarios(), kernelScenarios())
}

func merged(maps ...map[string][]scenario) map[string][]scenario {
	all := map[string][]scenario{}
	for _, m := range maps {
		for id, list := range m {
			all[id] = append(all[id], list...)
		}
	}
	return all
}

func loopScenarios() map[string][]scenario {
	return map[string][]scenario{
		"kubelet-restarting":       kubeletRestartingInLogs(),
		"kubelet-syncloop-stalled": kubeletSyncloopStalledInLogs(),
		"kubelet-pleg-unhealthy":   kubeletPlegUnhealthyInLogs(),
		"runtime-unresponsive":     runtimeUnresponsiveInLogs(),
	}
}

func podScenarios() map[string][]scenario {
	return map[string][]scenario{
		"pod-terminating-stuck": podTerminatingStuckInLogs(),
		"pod-orphaned":          podOrphanedInLogs(),
		"pod-podgc":             podPodgcInLogs(),
	}
}

func volumeScenarios() map[string][]scenario {
	return map[string][]scenario{
		"csi-driver-missing":  csiDriverMissingInLogs(),
		"csi-operation-stuck": csiOperationStuckInLogs(),
		"unmount-busy":        unmountBusyInLogs(),
	}
}

func evictionScenarios() map[string][]scenario {
	return map[string][]scenario{
		"image-gc-failing":        imageGcFailingInLogs(),
		"image-gc-removed-in-use": imageGcRemovedInUseInLogs(),
		"eviction-stuck":          evictionStuckInLogs(),
	}
}

func kernelScenarios() map[string][]scenario {
	return map[string][]scenario{
		"log-noise":          logNoiseInLogs(),
		"mount-hung":         mountHungInLogs(),
		"mount-io-error":     mountIoErrorInLogs(),
		"thread-blocked":     threadBlockedInLogs(),
		"process-unkillable": processUnkillableInLogs(),
	}
}
