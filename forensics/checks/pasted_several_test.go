package checks

import (
	"strings"
	"testing"
)

// TestPastedWithSeveral has the check that is the first cause of a text with several kinds of trouble, "" for none: the one before the
// other, and what looks like it.
func TestPastedWithSeveral(t *testing.T) {
	const hung = "Nov 20 10:00:11 s17 kernel: nfs: server nas-a.example.org not responding, still trying\nNov 20 10:04:02 s17 kernel: INFO: task php-fpm:71102 blocked for more than 120 seconds.\n"
	const back = "Nov 20 10:06:20 s17 kernel: nfs: server nas-a.example.org OK\n"
	const disk = "Nov 20 10:03:50 s17 kernel: blk_update_request: I/O error, dev sdb, sector 4096 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0\n"
	const killed = "[ 811201.222019] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/system.slice/kubelet.service,task=kubelet,pid=4410,uid=0\n" +
		"[ 811201.222102] Out of memory: Killed process 4410 (kubelet) total-vm:14411200kB, anon-rss:9340112kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:21012kB oom_score_adj:-999\n\n"
	const leak = "goroutine profile: total 40188\n39110 @ 0x43b3e5 0x44c0f7 0x44c0e1 0x1d5a9a5\n#\t0x1d5a9a4\tgoogle.golang.org/grpc/internal/transport.(*Stream).waitOnHeader+0x104\n" +
		"#\t0x1de0a6a\tk8s.io/kubernetes/pkg/volume/csi.(*metricsCsi).GetMetrics+0x18a\n\n61 @ 0x43b3e5 0x433f7b\n#\t0x47a8f4\tinternal/poll.runtime_pollWait+0x54\n"
	const sandbox = "Nov 20 10:18:34 m1 kubelet[2092]: E1120 10:18:34.162667    2092 remote_runtime.go:109] RunPodSandbox from runtime service failed: rpc error: code = Unknown desc = failed to create containerd container: failed to create snapshot: missing parent bucket: not found\n"
	const network = "Nov 20 10:18:34 m1 kubelet[2092]: E1120 10:18:34.162667    2092 remote_runtime.go:109] RunPodSandbox from runtime service failed: rpc error: code = Unknown desc = failed to setup network for sandbox \"f4\": plugin type=\"calico\" failed (add): error getting ClusterInformation: connection refused\n"
	const refused = "Nov 20 10:18:35 m1 kubelet[2092]: E1120 10:18:35.202201    2092 reflector.go:125] k8s.io/kubernetes/pkg/kubelet/kubelet.go:444: Failed to list *v1.Service: Get https://ADDRESS/api/v1/services?limit=500&resourceVersion=0: dial tcp ADDRESS: connect: connection refused\n"
	at := func(address string) string { return strings.ReplaceAll(refused, "ADDRESS", address) }
	const count = "# ps -eo stat | grep -c '^Z'\n11402\n# ps fax | grep -A5 supervise\n"
	const tree = "22269 ?        Sl     1:33      \\_ containerd-shim -namespace moby\n22350 ?        Ss     0:00      |   \\_ python3 /app/supervise.py\n"
	const child = "11050 ?        Zs     0:14      |       \\_ [sh] <defunct>\n"
	children := child + strings.Replace(child, "11050", "11051", 1) + strings.Replace(child, "11050", "11052", 1) + strings.Replace(child, "11050", "11053", 1)
	const enospc = "E1120 10:00:01.000001    2588 nestedpendingoperations.go:348] Operation for \"{volumeName:kubernetes.io/projected/" + uid + "-token podName:" + uid + " nodeName:}\" failed. No retries permitted until 2026-11-20 10:02:03.000000001 +0000 UTC (durationBeforeRetry 2m2s). Error: MountVolume.SetUp failed for volume \"token\" (UniqueName: \"kubernetes.io/projected/" + uid + "-token\") pod \"web-0\" (UID: \"" + uid + "\") : mount failed: exit status 32\n"
	full := strings.Replace(enospc, "exit status 32", "mount(2) system call failed: No space left on device.", 1)
	const staged = "  98304 /var/lib/kubelet/plugins/kubernetes.io/csi/smb.csi.k8s.io/6f0e1b/globalmount\n"
	const counting = "# awk '{print $5}' /proc/self/mountinfo | sort | uniq -c | sort -rn | head -1\n"
	for name, tt := range map[string]struct{ text, want string }{
		"a task that waited for a server that is back":          {hung + back, ""},
		"a task that waits for a server that is not back":       {hung, "kernel-server-unresponsive"},
		"a task that is hung after the server is back":          {hung + back + strings.Replace(hung[strings.Index(hung, "\n")+1:], "10:04:02", "10:12:02", 1), "kernel-hung-task"},
		"a task that waited while a disk failed, too":           {hung + disk + back, "kernel-hung-task"},
		"another server is back":                                {hung + strings.Replace(back, "nas-a", "nas-b", 1), "kernel-server-unresponsive"},
		"a kubelet that leaks goroutines until it is killed":    {killed + leak, "kubelet-goroutine-leak"},
		"a kubelet that is killed, without many goroutines":     {killed + strings.NewReplacer("40188", "1188", "39110", "311").Replace(leak), "kernel-oom"},
		"a small kubelet that is killed":                        {strings.Replace(killed, "9340112kB", "140112kB", 1) + leak, "kernel-oom"},
		"another program that is killed":                        {strings.ReplaceAll(killed, "kubelet", "java") + leak, "kernel-oom"},
		"a proxy to the API server that is a static pod":        {sandbox + at("127.0.0.1:2040"), "sandbox-create-failing"},
		"the same of IPv6":                                      {sandbox + at("[::1]:6443"), "sandbox-create-failing"},
		"the same by its name":                                  {sandbox + at("localhost:6443"), "sandbox-create-failing"},
		"an API server elsewhere":                               {sandbox + at("10.0.0.5:6443"), "api-server-unreachable"},
		"a proxy whose pods need no network that cannot be set": {network + at("127.0.0.1:6443"), "api-server-unreachable"},
		"zombies below their parent in a tree":                  {count + tree + children, "zombie-buildup"},
		"the same of ps auxf":                                   {count + strings.NewReplacer("22350 ?        Ss     0:00", "root 22350  0.0  0.1  31000  9000 ?        Ss   Nov02   0:00", "22269 ?        Sl     1:33", "root 22269  0.0  0.1  31000  9000 ?        Sl   Nov02   1:33", " ?        Zs     0:14", "  0.0  0.0      0     0 ?        Zs   10:02   0:14", "1105", "root 1105").Replace(tree+children), "zombie-buildup"},
		"a tree of processes, and few zombies":                  {strings.Replace(count, "11402", "14", 1) + tree + children, ""},
		"a tree with zombies of several parents":                {count + tree + children + "22351 ?        Ss     0:00      |   \\_ python3 /app/other.py\n" + strings.ReplaceAll(child, "11050", "11060"), "zombie-buildup"},
		"a tree of processes that all run":                      {count + tree + strings.NewReplacer("Zs ", "Ss ", " <defunct>", "").Replace(children), "zombie-buildup"}, // by their number
		"mounts that are stacked without end":                   {full + counting + staged, "mount-stacked"},
		"the same of /proc/mounts":                              {full + "# cut -d' ' -f2 /proc/mounts | sort | uniq -c | sort -n | tail -1\n" + staged, "mount-stacked"},
		"the same by mount":                                     {full + "# mount | awk '{print $3}' | sort | uniq -c | sort -rn | head -3\n" + staged, "mount-stacked"},
		"the same by findmnt":                                   {full + "# findmnt -rno TARGET | sort | uniq -c | sort -rn | head\n" + staged, "mount-stacked"},
		"a volume that cannot be mounted without a reason":      {enospc, "volume-mount-failing"},
		"files that are counted":                                {"# awk '{print $5}' /var/log/access.log | sort | uniq -c | sort -rn | head -1\n" + staged, ""},
		"mounts of all namespaces that are counted":             {"# cat /proc/*/mountinfo | awk '{print $5}' | sort | uniq -c | sort -rn | head -1\n" + staged, ""},
		"mounts that are there once":                            {counting + strings.Replace(staged, "98304", "    1", 1), ""},
	} {
		if root := pastedRoot(t, tt.text); root != tt.want {
			t.Errorf("%s: %q, want %q", name, root, tt.want)
		}
	}
}
