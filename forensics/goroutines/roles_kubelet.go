package goroutines

// roleOfLoop knows the functions that are the loop of one role, and those that
// start nothing else. closure says that the symbol is a literal in the function
// named by key, or that key names a creator.
func roleOfLoop(key string, closure bool) (Role, bool) {
	if !closure {
		switch key {
		case "pkg/kubelet.(*Kubelet).Run": // its literals and children are others
			return Role{roleSyncLoop, "sync loop"}, true
		case "kubelet/app.run", "kubelet/app.Run", "kubelet/app.RunKubelet":
			return Role{roleMain, "main"}, true
		case "kubelet/volumemanager.(*volumeManager).Run":
			return Role{roleVolumeManager, "volume manager"}, true
		}
	}
	for _, table := range []func(string) Role{podRole, volumeRole, nodeRole, cadvisorRole, runtimeRole, libraryRole} {
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
		return Role{roleSyncLoop, "sync loop"}
	case "pkg/kubelet.(*Kubelet).Run", "pkg/kubelet.(*Kubelet).initializeRuntimeDependentModules",
		"pkg/kubelet.(*Kubelet).initNetworkUtil", "kubelet/app.run", "kubelet/app.Run":
		return Role{roleKubeletPeriodic, "kubelet periodic task"}
	case "pkg/kubelet.(*Kubelet).StartGarbageCollection":
		return Role{roleGC, "garbage collection"}
	case "kubelet/volumemanager.(*volumeManager).Run":
		return Role{roleVolumeManager, "volume manager"}
	case "pkg/cri.initCRIService", "plugins/cri.initCRIService", "cri/server.(*criService).Run", "cri/sbserver.(*criService).Run":
		return Role{roleCRI, "CRI service"}
	case "main.main":
		return Role{roleMain, "main"}
	}
	return Role{}
}

// podRole knows what drives pods.
func podRole(key string) Role {
	switch key {
	case "pkg/kubelet.(*Kubelet).syncLoop", "pkg/kubelet.(*Kubelet).syncLoopIteration":
		return Role{roleSyncLoop, "sync loop"}
	case "kubelet/pleg.(*GenericPLEG).relist", "kubelet/pleg.(*GenericPLEG).Relist",
		"kubelet/pleg.(*GenericPLEG).workerLoopIteration", "kubelet/pleg.(*GenericPLEG).Start":
		return Role{rolePLEG, "PLEG"}
	case "kubelet/pleg.(*EventedPLEG).Start", "kubelet/pleg.(*EventedPLEG).watchEventsChannel",
		"kubelet/pleg.(*EventedPLEG).updateGlobalCache", "kubelet/pleg.(*EventedPLEG).processCRIEvents":
		return Role{roleEventedPLEG, "evented PLEG"}
	case "pkg/kubelet.(*podWorkers).managePodLoop", "pkg/kubelet.(*podWorkers).podWorkerLoop",
		"pkg/kubelet.(*podWorkers).UpdatePod":
		return Role{rolePodWorker, "pod worker"}
	case "pkg/kubelet.(*podKillerWithChannel).PerformPodKillingWork", "pkg/kubelet.(*Kubelet).podKiller":
		return Role{rolePodKiller, "pod killer"}
	case "kubelet/status.(*manager).Start", "kubelet/status.(*manager).syncBatch":
		return Role{roleStatusManager, "status manager"}
	case "kubelet/prober.(*worker).run", "kubelet/prober.(*manager).AddPod":
		return Role{roleProbeWorker, "probe worker"}
	case "kubelet/prober.(*manager).Start", "kubelet/prober.(*manager).updateReadiness",
		"kubelet/prober.(*manager).updateStartup":
		return Role{roleProbeManager, "probe manager"}
	case "pkg/kubelet.newPodContainerDeletor":
		return Role{roleContainerDeleter, "dead container remover"}
	case "kubelet/kuberuntime.(*kubeGenericRuntimeManager).killContainersWithSyncResult":
		return Role{roleContainerKiller, "container killer"}
	case "kubelet/config.(*sourceFile).run", "kubelet/config.(*sourceFile).startWatch",
		"kubelet/config.(*sourceURL).run", "kubelet/config.NewSourceURL",
		"kubelet/config.newSourceApiserverFromLW", "kubelet/config.NewSourceApiserver",
		"kubelet/config.(*mux).ChannelWithContext", "util/config.(*Mux).Channel",
		"util/config.(*Mux).ChannelWithContext":
		return Role{rolePodSource, "pod source"}
	case "util/manager.(*objectCacheItem).startReflector", "util/manager.(*objectCache).newReflectorLocked",
		"util/manager.(*objectCache).newReflector", "util/manager.NewObjectCache":
		return Role{rolePodCache, "secret and config map cache"}
	case "kubelet/allocation.(*manager).Run":
		return Role{roleAllocation, "pod resource allocation"}
	}
	return Role{}
}

// volumeRole knows the volume manager, its operations and plugins.
func volumeRole(key string) Role {
	switch key {
	case "volumemanager/reconciler.(*reconciler).Run", "volumemanager/reconciler.(*reconciler).runOld",
		"volumemanager/reconciler.(*reconciler).runNew", "volumemanager/reconciler.(*reconciler).reconcile",
		"volumemanager/reconciler.(*reconciler).reconcileNew", "volumemanager/reconciler.(*reconciler).reconciliationLoopFunc":
		return Role{roleReconciler, "volume manager reconciler"}
	case "volumemanager/populator.(*desiredStateOfWorldPopulator).Run",
		"volumemanager/populator.(*desiredStateOfWorldPopulator).populatorLoop",
		"volumemanager/populator.(*desiredStateOfWorldPopulator).populatorLoopFunc":
		return Role{rolePopulator, "volume manager populator"}
	case "kubelet/volumemanager.(*volumeManager).WaitForAllPodsUnmount":
		return Role{roleVolumeManager, "volume manager"}
	case "util/nestedpendingoperations.(*nestedPendingOperations).Run":
		return Role{roleVolumeOperation, "volume operation"}
	case "util/goroutinemap.(*goRoutineMap).Run":
		return Role{rolePluginOperation, "plugin operation"}
	case "kubelet/pluginmanager.(*pluginManager).Run", "pluginmanager/reconciler.(*reconciler).Run",
		"pluginmanager/pluginwatcher.(*Watcher).Start", "util/pluginwatcher.(*Watcher).Start":
		return Role{rolePluginManager, "plugin manager"}
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
		return Role{roleEviction, "eviction manager"}
	case "kubelet/eviction.(*memoryThresholdNotifier).Start", "kubelet/eviction.(*linuxCgroupNotifier).Start",
		"kubelet/eviction.(*memoryThresholdNotifier).UpdateThreshold":
		return Role{roleEvictionNotifier, "eviction memory notifier"}
	case "kubelet/container.(*realContainerGC).GarbageCollect":
		return Role{roleContainerGC, "container GC"}
	case "kubelet/images.(*realImageGCManager).GarbageCollect":
		return Role{roleImageGC, "image GC"}
	case "kubelet/images.(*realImageGCManager).Start":
		return Role{roleImageManager, "image manager"}
	case "kubelet/images.newSerialImagePuller", "kubelet/images.(*serialImagePuller).processImagePullRequests",
		"kubelet/images.(*parallelImagePuller).pullImage":
		return Role{roleImagePuller, "image puller"}
	case "pkg/kubelet.(*Kubelet).cleanupOrphanedPodCgroups", "kubelet/cm.(*podContainerManagerImpl).Destroy":
		return Role{RoleCgroupRemoval, "orphaned cgroup removal"}
	case "pkg/kubelet.(*Kubelet).syncNodeStatus", "pkg/kubelet.(*Kubelet).fastStatusUpdateOnce",
		"pkg/kubelet.(*Kubelet).fastNodeStatusUpdate":
		return Role{roleNodeStatus, "node status"}
	case "pkg/kubelet.(*Kubelet).updateRuntimeUp":
		return Role{roleRuntimeStatus, "runtime status"}
	case "kubelet/nodelease.(*controller).Run", "util/nodelease.(*controller).Run",
		"apimachinery/lease.(*controller).Run", "apimachinery/lease.(*controller).sync":
		return Role{roleNodeLease, "node lease"}
	case "kubelet/logs.(*containerLogManager).Start", "kubelet/logs.(*containerLogManager).processQueueItems":
		return Role{roleLogRotation, "log rotation"}
	case "kubelet/oom.(*realWatcher).Start", "pkg/kubelet.(*realOOMWatcher).Start":
		return Role{roleOOMWatcher, "OOM watcher"}
	case "kubelet/nodeshutdown.(*managerImpl).Start", "kubelet/nodeshutdown.(*managerImpl).start":
		return Role{roleShutdownManager, "node shutdown manager"}
	case "util/iptables.(*runner).Monitor":
		return Role{roleIPTables, "iptables monitor"}
	case "kubelet/watchdog.(*healthChecker).Start":
		return Role{roleWatchdog, "systemd watchdog"}
	case "kubelet/token.NewManager", "kubelet/certificate.(*kubeletServerCertificateDynamicFileManager).Start",
		"kubelet/certificate.updateTransport", "util/certificate.(*manager).Start", "util/certificate.(*manager).run",
		"server/dynamiccertificates.(*DynamicCertKeyPairContent).Run",
		"server/dynamiccertificates.(*DynamicFileCAContent).Run", "kubelet/app.BuildAuthn":
		return Role{roleCertificates, "tokens and certificates"}
	}
	return Role{}
}

// cadvisorRole knows the goroutines of github.com/google/cadvisor.
func cadvisorRole(key string) Role {
	switch key {
	case "cadvisor/manager.(*containerData).housekeeping", "cadvisor/manager.(*containerData).Start":
		return Role{roleCadvisorContainer, "cAdvisor housekeeping"}
	case "cadvisor/manager.(*manager).globalHousekeeping":
		return Role{roleCadvisorGlobal, "cAdvisor global housekeeping"}
	case "container/common.(*realFsHandler).trackUsage", "container/common.(*realFsHandler).Start":
		return Role{RoleCadvisorDisk, "cAdvisor disk usage"}
	case "cadvisor/fs.getVfsStats":
		return Role{RoleCadvisorStatfs, "cAdvisor statfs"}
	case "cadvisor/manager.(*manager).updateMachineInfo", "cadvisor/manager.(*manager).Start",
		"cadvisor/manager.(*manager).watchForNewContainers", "cadvisor/manager.(*manager).watchForNewOoms",
		"container/raw.(*rawContainerWatcher).Start", "utils/oomparser.(*OomParser).StreamOoms",
		"go-kmsg-parser/kmsgparser.(*parser).Parse":
		return Role{roleCadvisor, "cAdvisor"}
	}
	return Role{}
}
