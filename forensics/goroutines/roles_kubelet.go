package goroutines

// roleOfLoop knows the functions that are the loop of one role, and those that
// start nothing else. closure says that the symbol is a literal in the function
// named by key, or that key names a creator.
func roleOfLoop(key string, closure bool) (Role, bool) {
	if !closure {
		switch key {
		case "pkg/kubelet.(*Kubelet).Run": // its literals and children are others
			return Role{RoleSyncLoop, "sync loop"}, true
		case "kubelet/app.run", "kubelet/app.Run", "kubelet/app.RunKubelet":
			return Role{RoleMain, "main"}, true
		case "kubelet/volumemanager.(*volumeManager).Run":
			return Role{RoleVolumeManager, "volume manager"}, true
		}
	}
	for _, table := range []func(string) Role{podRole, volumeRole, nodeRole, cadvisorRole, libraryRole} {
		if r := table(key); r.ID != "" {
			return r, true
		}
	}
	return Role{}, false
}

// roleOfStarter knows functions that start several kinds of goroutines: they
// decide only if nothing else does.
func roleOfStarter(key string) Role {
	switch key {
	case "kubelet/app.startKubelet":
		return Role{RoleSyncLoop, "sync loop"}
	case "pkg/kubelet.(*Kubelet).Run", "pkg/kubelet.(*Kubelet).initializeRuntimeDependentModules",
		"pkg/kubelet.(*Kubelet).initNetworkUtil", "kubelet/app.run", "kubelet/app.Run":
		return Role{RoleKubeletPeriodic, "kubelet periodic task"}
	case "pkg/kubelet.(*Kubelet).StartGarbageCollection":
		return Role{RoleGC, "garbage collection"}
	case "kubelet/volumemanager.(*volumeManager).Run":
		return Role{RoleVolumeManager, "volume manager"}
	case "main.main":
		return Role{RoleMain, "main"}
	}
	return Role{}
}

// podRole knows what drives pods.
func podRole(key string) Role {
	switch key {
	case "pkg/kubelet.(*Kubelet).syncLoop", "pkg/kubelet.(*Kubelet).syncLoopIteration":
		return Role{RoleSyncLoop, "sync loop"}
	case "kubelet/pleg.(*GenericPLEG).relist", "kubelet/pleg.(*GenericPLEG).Relist",
		"kubelet/pleg.(*GenericPLEG).workerLoopIteration", "kubelet/pleg.(*GenericPLEG).Start":
		return Role{RolePLEG, "PLEG"}
	case "kubelet/pleg.(*EventedPLEG).Start", "kubelet/pleg.(*EventedPLEG).watchEventsChannel",
		"kubelet/pleg.(*EventedPLEG).updateGlobalCache", "kubelet/pleg.(*EventedPLEG).processCRIEvents":
		return Role{RoleEventedPLEG, "evented PLEG"}
	case "pkg/kubelet.(*podWorkers).managePodLoop", "pkg/kubelet.(*podWorkers).podWorkerLoop",
		"pkg/kubelet.(*podWorkers).UpdatePod":
		return Role{RolePodWorker, "pod worker"}
	case "pkg/kubelet.(*podKillerWithChannel).PerformPodKillingWork", "pkg/kubelet.(*Kubelet).podKiller":
		return Role{RolePodKiller, "pod killer"}
	case "kubelet/status.(*manager).Start", "kubelet/status.(*manager).syncBatch":
		return Role{RoleStatusManager, "status manager"}
	case "kubelet/prober.(*worker).run", "kubelet/prober.(*manager).AddPod":
		return Role{RoleProbeWorker, "probe worker"}
	case "kubelet/prober.(*manager).Start", "kubelet/prober.(*manager).updateReadiness",
		"kubelet/prober.(*manager).updateStartup":
		return Role{RoleProbeManager, "probe manager"}
	case "pkg/kubelet.newPodContainerDeletor":
		return Role{RoleContainerDeleter, "dead container remover"}
	case "kubelet/kuberuntime.(*kubeGenericRuntimeManager).killContainersWithSyncResult":
		return Role{RoleContainerKiller, "container killer"}
	case "kubelet/config.(*sourceFile).run", "kubelet/config.(*sourceFile).startWatch",
		"kubelet/config.(*sourceURL).run", "kubelet/config.NewSourceURL",
		"kubelet/config.newSourceApiserverFromLW", "kubelet/config.NewSourceApiserver",
		"kubelet/config.(*mux).ChannelWithContext", "util/config.(*Mux).Channel",
		"util/config.(*Mux).ChannelWithContext":
		return Role{RolePodSource, "pod source"}
	case "util/manager.(*objectCacheItem).startReflector", "util/manager.(*objectCache).newReflectorLocked",
		"util/manager.(*objectCache).newReflector", "util/manager.NewObjectCache":
		return Role{RolePodCache, "secret and config map cache"}
	case "kubelet/allocation.(*manager).Run":
		return Role{RoleAllocation, "pod resource allocation"}
	}
	return Role{}
}

// volumeRole knows the volume manager, its operations and plugins.
func volumeRole(key string) Role {
	switch key {
	case "volumemanager/reconciler.(*reconciler).Run", "volumemanager/reconciler.(*reconciler).runOld",
		"volumemanager/reconciler.(*reconciler).runNew", "volumemanager/reconciler.(*reconciler).reconcile",
		"volumemanager/reconciler.(*reconciler).reconcileNew", "volumemanager/reconciler.(*reconciler).reconciliationLoopFunc":
		return Role{RoleReconciler, "volume manager reconciler"}
	case "volumemanager/populator.(*desiredStateOfWorldPopulator).Run",
		"volumemanager/populator.(*desiredStateOfWorldPopulator).populatorLoop",
		"volumemanager/populator.(*desiredStateOfWorldPopulator).populatorLoopFunc":
		return Role{RolePopulator, "volume manager populator"}
	case "kubelet/volumemanager.(*volumeManager).WaitForAllPodsUnmount":
		return Role{RoleVolumeManager, "volume manager"}
	case "util/nestedpendingoperations.(*nestedPendingOperations).Run":
		return Role{RoleVolumeOperation, "volume operation"}
	case "util/goroutinemap.(*goRoutineMap).Run":
		return Role{RolePluginOperation, "plugin operation"}
	case "kubelet/pluginmanager.(*pluginManager).Run", "pluginmanager/reconciler.(*reconciler).Run",
		"pluginmanager/pluginwatcher.(*Watcher).Start", "util/pluginwatcher.(*Watcher).Start":
		return Role{RolePluginManager, "plugin manager"}
	case "server/stats.(*volumeStatCalculator).StartOnce", "server/stats.(*volumeStatCalculator).calcAndStoreStats",
		"server/stats.(*fsResourceAnalyzer).Start", "server/stats.(*fsResourceAnalyzer).updateCachedPodVolumeStats":
		return Role{RoleVolumeStats, "volume stats"}
	}
	return Role{}
}

// nodeRole knows what watches over the node.
func nodeRole(key string) Role {
	switch key {
	case "kubelet/eviction.(*managerImpl).Start", "kubelet/eviction.(*managerImpl).synchronize":
		return Role{RoleEviction, "eviction manager"}
	case "kubelet/eviction.(*memoryThresholdNotifier).Start", "kubelet/eviction.(*linuxCgroupNotifier).Start",
		"kubelet/eviction.(*memoryThresholdNotifier).UpdateThreshold":
		return Role{RoleEvictionNotifier, "eviction memory notifier"}
	case "kubelet/container.(*realContainerGC).GarbageCollect":
		return Role{RoleContainerGC, "container GC"}
	case "kubelet/images.(*realImageGCManager).GarbageCollect":
		return Role{RoleImageGC, "image GC"}
	case "kubelet/images.(*realImageGCManager).Start":
		return Role{RoleImageManager, "image manager"}
	case "kubelet/images.newSerialImagePuller", "kubelet/images.(*serialImagePuller).processImagePullRequests",
		"kubelet/images.(*parallelImagePuller).pullImage":
		return Role{RoleImagePuller, "image puller"}
	case "pkg/kubelet.(*Kubelet).cleanupOrphanedPodCgroups", "kubelet/cm.(*podContainerManagerImpl).Destroy":
		return Role{RoleCgroupRemoval, "orphaned cgroup removal"}
	case "pkg/kubelet.(*Kubelet).syncNodeStatus", "pkg/kubelet.(*Kubelet).fastStatusUpdateOnce",
		"pkg/kubelet.(*Kubelet).fastNodeStatusUpdate":
		return Role{RoleNodeStatus, "node status"}
	case "pkg/kubelet.(*Kubelet).updateRuntimeUp":
		return Role{RoleRuntimeStatus, "runtime status"}
	case "kubelet/nodelease.(*controller).Run", "util/nodelease.(*controller).Run",
		"apimachinery/lease.(*controller).Run", "apimachinery/lease.(*controller).sync":
		return Role{RoleNodeLease, "node lease"}
	case "kubelet/logs.(*containerLogManager).Start", "kubelet/logs.(*containerLogManager).processQueueItems":
		return Role{RoleLogRotation, "log rotation"}
	case "kubelet/oom.(*realWatcher).Start", "pkg/kubelet.(*realOOMWatcher).Start":
		return Role{RoleOOMWatcher, "OOM watcher"}
	case "kubelet/nodeshutdown.(*managerImpl).Start", "kubelet/nodeshutdown.(*managerImpl).start":
		return Role{RoleShutdownManager, "node shutdown manager"}
	case "util/iptables.(*runner).Monitor":
		return Role{RoleIPTables, "iptables monitor"}
	case "kubelet/watchdog.(*healthChecker).Start":
		return Role{RoleWatchdog, "systemd watchdog"}
	case "kubelet/token.NewManager", "kubelet/certificate.(*kubeletServerCertificateDynamicFileManager).Start",
		"kubelet/certificate.updateTransport", "util/certificate.(*manager).Start", "util/certificate.(*manager).run",
		"server/dynamiccertificates.(*DynamicCertKeyPairContent).Run",
		"server/dynamiccertificates.(*DynamicFileCAContent).Run", "kubelet/app.BuildAuthn":
		return Role{RoleCertificates, "tokens and certificates"}
	}
	return Role{}
}

// cadvisorRole knows the goroutines of github.com/google/cadvisor.
func cadvisorRole(key string) Role {
	switch key {
	case "cadvisor/manager.(*containerData).housekeeping", "cadvisor/manager.(*containerData).Start":
		return Role{RoleCadvisorContainer, "cAdvisor housekeeping"}
	case "cadvisor/manager.(*manager).globalHousekeeping":
		return Role{RoleCadvisorGlobal, "cAdvisor global housekeeping"}
	case "container/common.(*realFsHandler).trackUsage", "container/common.(*realFsHandler).Start":
		return Role{RoleCadvisorDisk, "cAdvisor disk usage"}
	case "cadvisor/fs.getVfsStats":
		return Role{RoleCadvisorStatfs, "cAdvisor statfs"}
	case "cadvisor/manager.(*manager).updateMachineInfo", "cadvisor/manager.(*manager).Start",
		"cadvisor/manager.(*manager).watchForNewContainers", "cadvisor/manager.(*manager).watchForNewOoms",
		"container/raw.(*rawContainerWatcher).Start", "utils/oomparser.(*OomParser).StreamOoms",
		"go-kmsg-parser/kmsgparser.(*parser).Parse":
		return Role{RoleCadvisor, "cAdvisor"}
	}
	return Role{}
}
