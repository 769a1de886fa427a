package kubelet

import "strings"

// vital selects the metrics that [ParseMetrics] keeps.
func vital(name string) bool {
	for _, suffix := range []string{"_sum", "_count"} {
		name = strings.TrimSuffix(name, suffix)
	}
	switch name {
	case "go_goroutines", "go_threads", "process_start_time_seconds", "process_open_fds",
		"kubernetes_build_info", "kubelet_node_name",
		"kubelet_orphan_pod_cleaned_volumes", "kubelet_orphan_pod_cleaned_volumes_errors",
		"kubelet_pleg_relist_duration_seconds", "kubelet_pleg_relist_interval_seconds",
		"kubelet_pleg_last_seen_seconds", "kubelet_pleg_discard_events",
		"kubelet_pod_worker_duration_seconds", "kubelet_pod_worker_start_duration_seconds",
		"kubelet_working_pods", "kubelet_desired_pods", "kubelet_active_pods", "kubelet_mirror_pods",
		"kubelet_restarted_pods_total", "kubelet_orphaned_runtime_pods_total",
		"kubelet_running_pods", "kubelet_running_pod", "kubelet_running_containers", "kubelet_running_container",
		"kubelet_pod_status_sync_duration_seconds",
		"kubelet_runtime_operations_duration_seconds", "kubelet_runtime_operations_errors_total",
		"kubelet_cgroup_manager_duration_seconds", "kubelet_evictions", "kubelet_eviction_stats_age_seconds",
		"kubelet_volume_metric_collection_duration_seconds",
		"storage_operation_duration_seconds", "storage_operation_errors_total", "volume_operation_total_seconds",
		"csi_operations_seconds", "volume_manager_total_volumes",
		"reconstruct_volume_operations_total", "reconstruct_volume_operations_errors_total",
		"force_cleaned_failed_volume_operations_total", "force_cleaned_failed_volume_operation_errors_total":
		return true
	}
	return strings.HasPrefix(name, "kubelet_node_startup_")
}
