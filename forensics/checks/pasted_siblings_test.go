package checks

import (
	"fmt"
	"strings"
	"testing"
)

// TestSiblingsOfPasted has the check that is the first cause of a text, "" for none: each form that was once not read, and what only looks
// like it.
func TestSiblingsOfPasted(t *testing.T) {
	const crash = "panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x18 pc=0x8f1c2a]\n\ngoroutine 1 [running]:\n"
	const ofShop = crash + "git.example.org/shop/config.(*Loader).Merge(0x0)\n\t/src/config/loader.go:88 +0x2a\nmain.main()\n\t/src/cmd/api/main.go:41 +0x1f3\n"
	const ofKubelet = crash + "k8s.io/kubernetes/pkg/kubelet/cm.(*x).y(0x0)\n\tpkg/kubelet/cm/x.go:88 +0x2a\nmain.main()\n\tcmd/kubelet/kubelet.go:35 +0x1f\n"
	const started = "I1120 10:00:01.000001    2588 kubelet.go:1924] \"SyncLoop ADD\" source=\"api\" pods=[\"shop/web-0\"]\n"
	const notReady = `I1120 10:08:40.118230    1750 setters.go:568] "Node became not ready" node="w1" condition={"type":"Ready","status":"False","reason":"KubeletNotReady","message":"container runtime is down"}` + "\n"
	const nvmeLost = "[ 4012.101122] nvme nvme1: starting error recovery\n[ 4022.101122] nvme nvme1: failed to connect socket: -111\n[ 4022.101322] nvme nvme1: Failed reconnect attempt 1\n[ 4032.101122] nvme nvme1: failed to connect socket: -111\n"
	const readOnly = "EXT4-fs (sdc): Remounting filesystem read-only"
	const leaked = "[root@w1 ~]# grep -l 0f9c8b7a-6d5e /proc/*/mountinfo\ngrep: /proc/15210/mountinfo: Invalid argument\n/proc/27391/mountinfo\n"
	const busyRename = `Operation for "\"kubernetes.io/secret/0f9c8b7a-6d5e-4c3b-8a19-2f1e0d9c8b7a-tok\" (\"0f9c8b7a-6d5e-4c3b-8a19-2f1e0d9c8b7a\")" failed. No retries permitted until 2017-08-02 03:11:52.640170218 +0000 UTC (durationBeforeRetry 2m0s). Error: UnmountVolume.TearDown failed for volume "kubernetes.io/secret/0f9c8b7a-6d5e-4c3b-8a19-2f1e0d9c8b7a-tok" (volume.spec.Name: "tok") pod "0f9c8b7a-6d5e-4c3b-8a19-2f1e0d9c8b7a" (UID: "0f9c8b7a-6d5e-4c3b-8a19-2f1e0d9c8b7a") with: rename /var/lib/kubelet/pods/0f9c8b7a-6d5e-4c3b-8a19-2f1e0d9c8b7a/volumes/kubernetes.io~secret/tok /var/lib/kubelet/pods/0f9c8b7a-6d5e-4c3b-8a19-2f1e0d9c8b7a/volumes/kubernetes.io~secret/wrapped_tok.deleting~1: device or resource busy` + "\n\n"
	kept := func(image string) string {
		return `I0704 09:31:22.446390   38112 image_gc_manager.go:371] [imageGCManager]: Removing image "sha256:` + image + `" to free 1203548101 bytes` + "\n" +
			`E0704 09:31:22.448132   38112 remote_image.go:134] RemoveImage "sha256:` + image + `" from image service failed: rpc error: code = Unknown desc = Error response from daemon: conflict: unable to delete ` + image + " (cannot be forced) - image is being used by running container c0b8d22e5f17\n"
	}
	const ext4Warning = "[Mon Oct 10 04:22:18 2022] EXT4-fs warning (device nvme3n1): ext4_end_bio:309: I/O error 10 writing to inode 27 (offset 0 size 1052672 starting block 1180160)\n"
	const gcRefused = "  Warning  ContainerGCFailed  35s (x19 over 18m)   kubelet  rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused\"\n"
	iscsiBack := func(clock string) string {
		return "Oct 23 " + clock + " k3n2 kernel:  connection1:0: detected conn error (1020)\nOct 23 " + clock + " k3n2 iscsid: connection1:0 is operational after recovery (1 attempts)\n"
	}
	attachFailed := func(age string) string {
		return "Does anybody know this?\n\n  Warning  FailedAttachVolume  " + age + " (x9 over 58m)  attachdetach-controller  AttachVolume.Attach failed for volume \"pvc-1\" : A disk at LUN 2 already exists.\n"
	}
	tearDown := func(volume string) string {
		return `E0714 11:20:41.560117   31177 kubelet.go:2012] Could not tear down volume "` + uid + `/` + volume + `": rename /var/lib/kubelet/pods/` + uid + `/volumes/kubernetes.io~secret/` + volume + `: device or resource busy` + "\n"
	}
	const ready = `I1120 10:08:50.441029    1750 kubelet_node_status.go:497] "Fast updating node status as it just became ready"` + "\n"
	const stopped = `{"error":"rpc error: code = DeadlineExceeded desc = an error occurs during waiting for container \"a0b1\" to be killed: wait container \"a0b1\": context deadline exceeded","level":"error","msg":"StopContainer for \"a0b1\" failed","time":"2026-11-20T10:37:04.97Z"}` + "\n"
	const pleg = "skipping pod synchronization - [PLEG is not healthy: pleg was last seen active 4h11m27.6s ago; threshold is 3m0s]"
	const condition = "`Node became not ready: {Type:Ready Status:False Reason:KubeletNotReady Message:PLEG is not healthy: pleg was last seen active 3m4.6s ago; threshold is 3m0s}`\n"
	const unauthorized = "  message: 'error killing pod: failed to \"KillPodSandbox\" for \"" + uid + "\" with KillPodSandboxError: \"rpc error: code = Unknown desc = failed to destroy network for sandbox\n    \\\"07d8\\\": plugin type=\\\"calico\\\" failed (delete): Unauthorized\"'\n  reason: FailedKillPod\n  type: Warning\n"
	const aboutPod = "- lastTimestamp: \"2026-11-20T11:59:40Z\"\n  count: 141\n  firstTimestamp: \"2026-11-20T08:00:12Z\"\n  involvedObject:\n    apiVersion: v1\n    kind: Pod\n    name: web-0\n    namespace: shop\n    uid: " + uid + "\n"
	const exited = "Nov 20 10:17:36 edge systemd[1]: containerd.service: Main process exited, code="
	const restarted = "Nov 20 10:17:42 edge systemd[1]: Started containerd container runtime.\n"
	const noThread = "Nov 20 10:17:35 edge NAME[4979]: runtime/cgo: pthread_create failed: Resource temporarily unavailable\n"
	const noNetwork = "E1120 10:02:31.118204    7748 log.go:32] \"RunPodSandbox from runtime service failed\" err=<\n"
	const runc = "5 D root      14378  13862  0  80   0 - 269979 refrig Sep30 ?       00:00:00 /usr/local/bin/runc init\n"
	const frozen = "# cat /proc/14378/stack\n[<0>] __refrigerator+0x4c/0x130\n[<0>] unix_stream_data_wait+0x1fa/0x210\n[<0>] unix_stream_recvmsg+0x88/0x90\n[<0>] vfs_read+0xff/0x1a0\n[<0>] do_syscall_64+0x5c/0xc0\n"
	const lock = "goroutine 36 [semacquire, 202 minutes]:\nsync.runtime_SemacquireMutex(0x7ffc9cac9e28?, 0x0?, 0x203000?)\n\t/usr/local/go/src/runtime/sema.go:77 +0x25\nsync.(*Mutex).lockSlow(0xc000024a80)\n\t/usr/local/go/src/sync/mutex.go:171 +0x165\nsync.(*Mutex).Lock(...)\n\t/usr/local/go/src/sync/mutex.go:90\n"
	const shim = lock + "github.com/containerd/containerd/runtime/v2/runc/task.(*service).Create(0xc000024a80, {0x8b1a48, 0xc00019c0f0}, 0xc0000c2280)\n\t/go/src/github.com/containerd/containerd/runtime/v2/runc/task/service.go:241 +0x5a1\n"
	const stat = "syscall.Syscall6(0x106, 0xffffffffffffff9c, 0xc002775d50, 0xc002bcbe48, 0x0, 0x0, 0x0, 0x32faf04, 0xc001a2d238, 0x40fa18)\n/usr/local/go/src/syscall/asm_linux_amd64.s:44 +0x5\nsyscall.fstatat(0xffffffffffffff9c, 0xc002b20d20, 0x71, 0xc002bcbe48, 0x0, 0xf, 0xc002b0ca00)\n/usr/local/go/src/syscall/zsyscall_linux_amd64.go:1520 +0xcb\nos.Stat(0xc002b20d20, 0x71, 0x40f189, 0xc001fb8400, 0x200, 0x200)\n"
	const docker = "github.com/docker/docker/daemon.(*Daemon).reducePsContainer(0xc820372000, 0xc820496d20)\n\t/go/src/github.com/docker/docker/daemon/list.go:200 +0x1c4\n"
	const table = "| LAST SEEN | TYPE | REASON | OBJECT | MESSAGE |\n|---|---|---|---|---|\n"
	const refused = "| 10s | Warning | FailedCreatePodSandBox | pod/web-0 | Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox \"f4\": plugin type=\"multus-shim\" failed (add): dial unix /run/multus/multus.sock: connect: connection refused |\n"
	const scrape = `E1120 10:05:15.700310       1 scraper.go:140] "Failed to scrape node" err=`
	const hook = "FATA[0000] failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "
	const quoted = "E1120 10:02:44.000913    1390 remote_runtime.go:294] \"ListPodSandbox with filter from runtime service failed\" err=\"rpc error: code = DeadlineExceeded desc = context deadline exceeded\"\n"
	never := func(seconds ...string) (text string) {
		for _, s := range seconds {
			text += "I1120 10:02:" + s + ".762007    1390 kubelet.go:1758] skipping pod synchronization - [PLEG is not healthy: pleg was last seen active 2562047h47m16.854775807s ago; threshold is 3m0s]\n"
		}
		return text
	}
	const evicts = "I1120 10:12:17.658612    3019 eviction_manager.go:366] \"Eviction manager: attempting to reclaim\" resourceName=\"ephemeral-storage\"\n" +
		"I1120 10:12:17.658831    3019 eviction_manager.go:377] \"Eviction manager: must evict pod(s) to reclaim\" resourceName=\"ephemeral-storage\"\n"
	crio := func(stage, name string) string {
		return "Apr 14 15:00:47 w1 crio[6707]: time=\"2025-04-14T15:00:47.820811741Z\" level=info msg=\"Creation of container " + name + " not yet finished. Currently at stage " + stage + ". Waiting up to 5m59.997059992s for it to finish\" id=56 name=/runtime.v1.RuntimeService/CreateContainer\n" +
			"Apr 14 15:02:48 w1 crio[6707]: time=\"2025-04-14T15:02:48.557283381Z\" level=info msg=\"Checking image status: registry.k8s.io/pause:3.9\" id=30 name=/runtime.v1.ImageService/ImageStatus\n"
	}
	routine := strings.Repeat("time=\"2026-11-20T10:09:40Z\" level=info msg=\"ImageUpdate event name:\\\"registry.k8s.io/pause:3.9\\\"\"\n", 24)
	const unstopped = "time=\"2026-11-20T10:10:41Z\" level=error msg=\"StopPodSandbox for \\\"ce466571b75b\\\" failed\" error=\"rpc error: code = Unknown desc = failed to stop container: context canceled\"\n"
	notYet := func(at string) string {
		return "I1120 " + at + ".330118    1840 setters.go:549] \"Node became not ready\" node=\"sno2\" condition={Type:Ready Status:False Reason:KubeletNotReady Message:[container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful]}\n"
	}
	const oldPLEG = "E1120 10:12:55.118066    7021 generic.go:193] GenericPLEG: Unable to retrieve pods: operation timeout: context deadline exceeded\n"
	prose := strings.Repeat("This is what I know of the node and of what I have done so far.\n\n", 12)
	const cgroup = "Aug 31 05:03:23 w1 kubelet[4540]: I0831 05:03:23.117919    4540 pod_container_manager_linux.go:194] \"Failed to delete cgroup paths\" cgroupName=[kubepods burstable pod" + uid + "] " +
		"err=\"unable to destroy cgroup paths for cgroup [kubepods burstable pod" + uid + "] : remove /sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/x.slice: device or resource busy\"\n"
	const kill = "Nov 30 14:54:10 w1 dockerd[1359]: time=\"2021-11-30T14:54:10.854068719+03:00\" level=info msg=\"Container 7873876b3310 failed to exit within 10 seconds of kill - trying direct SIGKILL\"\n"
	const elsewhere = "# grep -c rbd6 /proc/self/mountinfo\n0\n# grep -l rbd6 /proc/[0-9]*/mountinfo\n/proc/7741/mountinfo\n# \n"
	const paths = "# multipath -ll\nmpathc (3600a098038314648515d51555a4f2d6b) dm-6 NETAPP,LUN C-Mode\n|-+- policy='service-time 0' prio=0 status=enabled\n| |- 3:0:0:12 sdh 8:112 failed faulty running\n"
	const dead = "MountVolume.SetUp failed for volume \"pvc-7d1a\" : stat /var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~csi/pvc-7d1a/mount: transport endpoint is not connected\n"
	const evicted = "W1120 10:10:19.022140    3019 eviction_manager.go:333] eviction manager: attempting to reclaim ephemeral-storage\n" +
		"I1120 10:10:19.461912    3019 eviction_manager.go:566] eviction manager: pod app-1_default(e9136107-43e9-4761-bd45-d430081d49b4) is evicted successfully\n" +
		"I1120 10:12:06.801203    3019 eviction_manager.go:566] eviction manager: pod app-2_default(5947c245-9036-410d-90cb-41337be7315b) is evicted successfully\n"
	refusedPods := func(condition string) string {
		return strings.Repeat("W1120 10:16:49.953485    3019 eviction_manager.go:159] Failed to admit pod proxy-z7vcs_kube-system(7c6b72d3-24d3-471b-8320-31ec4e9fb003) - node has conditions: ["+condition+"]\n", 3)
	}
	zombiesOf := func(count string) string {
		return "# ps -eo stat,ppid | awk '$1 ~ /^Z/ {n[$2]++} END {for (p in n) print n[p], p}' | sort -nr\n" + count + " 20977\n1 1\n"
	}
	noProcess := strings.Repeat("E1120 10:15:07.064109    1086 fsHandler.go:118] failed to collect filesystem stats - rootDiskErr: failed to exec du - fork/exec /usr/bin/nice: resource temporarily unavailable, extraDiskErr: <nil>\n", 2)
	const busyLayer = "Apr 30 09:15:10 n1 kubelet[24584]: E0430 09:15:10.712138   24584 remote_runtime.go:246] RemoveContainer \"cf6e4c381a15\" from runtime service failed: rpc error: code = Unknown desc = failed to remove container \"cf6e4c381a15\": Error response from daemon: driver \"overlay\" failed to remove root filesystem for cf6e4c381a15: remove /data/docker/overlay/b2b961718b23/merged: device or resource busy\n"
	threadsOf := func(first, other string) string {
		return "$ ps -L -o pid,tid,stat,wchan:32,comm -p 1538149\n    PID     TID STAT WCHAN                            COMMAND\n1538149 1538149 " + first + "  -                                node_exporter\n1538149 1538176 " + other + "        node_exporter\n"
	}
	const lostNFS = "Nov 20 10:44:51 w1 kernel: nfs: server 127.0.0.1 not responding, still trying\nNov 20 10:47:02 w1 kernel: nfs: server 127.0.0.1 not responding, still trying\n"
	timedOut := func(driver string) string {
		return strings.Repeat("Nov 20 10:47:18 w1 kubelet[3187]: E1120 10:47:18.120377    3187 nestedpendingoperations.go:348] Operation for \"{volumeName:kubernetes.io/csi/"+driver+"^fs-0e podName:"+uid+" nodeName:}\" failed. No retries permitted until 2026-11-20 10:49:20.120342122 +0000 UTC m=+811730.004412201 (durationBeforeRetry 2m2s). Error: UnmountVolume.TearDown failed for volume \"data\" (UniqueName: \"kubernetes.io/csi/"+driver+"^fs-0e\") pod \""+uid+"\" (UID: \""+uid+"\") : kubernetes.io/csi: Unmounter.TearDownAt failed: rpc error: code = DeadlineExceeded desc = context deadline exceeded\n", 2)
	}
	const removal = "I1120 10:02:45.392544    9876 image_gc_manager.go:387] \"Removing image to free bytes\" imageID=\"sha256:ed210e3e4a5bae1237f1bb44d72a05a2f1e5c6bfe7a7e73da179e2534269c459\" size=298685\n"
	rows := func(names ...string) (text string) {
		for i, name := range names {
			text += fmt.Sprintf("root     2%04d  9288  0 11:31 ?        00:00:00              |       \\_ [%s] <defunct>\n", i, name)
		}
		return text
	}
	tasks := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("[208114.5513%02d] [ 49%02d]     0  49%02d    76292      371      58        0             0 tuned\n", i, i, i)
		}
		return text
	}
	const inState = "# ps -eo pid,stat,wchan:22,comm | awk '$2 ~ /^D/'\n"
	lowOnDisk := func(pod, age string) string {
		return "LAST SEEN   TYPE   REASON   OBJECT   MESSAGE\n" + age + "   Normal   NodeHasDiskPressure   node/w1   Node w1 status is now: NodeHasDiskPressure\n" +
			age + "   Warning   Evicted   pod/" + pod + "   The node was low on resource: ephemeral-storage.\n"
	}
	for name, tt := range map[string]struct{ text, want string }{
		"events of a kubelet that starts again and again":          {"Events:\n  Type    Reason    Age    From     Message\n  ----    ------    ----   ----     -------\n  Normal  Starting  5m20s  kubelet  Starting kubelet.\n  Normal  Starting  5m10s  kubelet  Starting kubelet.\n  Normal  Starting  4m59s  kubelet  Starting kubelet.\n", "kubelet-restarting"},
		"events of a kubelet that starts now and then":             {"Events:\n  Type    Reason    Age    From     Message\n  ----    ------    ----   ----     -------\n  Normal  Starting  5d     kubelet  Starting kubelet.\n  Normal  Starting  2d     kubelet  Starting kubelet.\n  Normal  Starting  4m59s  kubelet  Starting kubelet.\n", ""},
		"an event of a quarter of an hour ago":                     {"Events:\n  Type     Reason  Age                From     Message\n  ----     ------  ----               ----     -------\n  Warning  Failed  17m (x5 over 24m)  kubelet  Error: failed to reserve container name \"a_b_c_" + uid + "_0\": name \"a_b_c_" + uid + "_0\" is reserved for \"5c9f20e8b7d1\"\n", "container-create-failing"},
		"such an event before a container was started":             {"Events:\n  Type     Reason   Age                From     Message\n  ----     ------   ----               ----     -------\n  Warning  Failed   17m (x5 over 24m)  kubelet  Error: failed to reserve container name \"a_b_c_" + uid + "_0\": name \"a_b_c_" + uid + "_0\" is reserved for \"5c9f20e8b7d1\"\n  Normal   Started  15m                kubelet  Started container a\n", ""},
		"a crowd of pods in Terminating":                           {strings.Repeat("web-2716349081-b7x2m    0/1       Terminating   0          17h\nweb-2716349081-bq9fd    0/1       Terminating   0          17h\n", 3), "pod-terminating-stuck"},
		"a crowd of young pods in Terminating":                     {strings.Repeat("web-2716349081-b7x2m    0/1       Terminating   0          17m\nweb-2716349081-bq9fd    0/1       Terminating   0          17m\n", 3), ""},
		"images that were removed, and are missed":                 {removal + "\ncoredns sits in ImagePullBackOff since then\n", "image-gc-removed-in-use"},
		"images that were removed, and none is missed":             {removal + "\nthere is no ImagePullBackOff anywhere\n", ""},
		"the image of sandboxes that was removed":                  {removal + `Nov 20 10:02:46 w1 containerd[1855]: time="2026-11-20T10:02:46Z" level=info msg="ImageDelete event &ImageDelete{Name:registry.local/pause:3.5,XXX_unrecognized:[],}"` + "\n", "image-gc-removed-in-use"},
		"the image of sandboxes that was removed by another":       {removal + `Nov 20 10:04:46 w1 containerd[1855]: time="2026-11-20T10:04:46Z" level=info msg="ImageDelete event &ImageDelete{Name:registry.local/pause:3.5,XXX_unrecognized:[],}"` + "\n", ""},
		"another image that was removed":                           {removal + `Nov 20 10:02:46 w1 containerd[1855]: time="2026-11-20T10:02:46Z" level=info msg="ImageDelete event &ImageDelete{Name:registry.local/pauses/web:3.5,XXX_unrecognized:[],}"` + "\n", ""},
		"a service that microk8s finds stopped":                    {"Inspecting services\n  Service snap.microk8s.daemon-containerd is running\n FAIL:  Service snap.microk8s.daemon-kubelet is not running\n", "kubelet-not-running"},
		"services that microk8s finds running":                     {"Inspecting services\n  Service snap.microk8s.daemon-containerd is running\n  Service snap.microk8s.daemon-kubelet is running\n", ""},
		"a container that docker cannot remove, in words":          {"The container is Dead, and docker rm says Device is Busy.\n", "container-stop-failing"},
		"a sentence in which a message stands without quotes":      {"Hi all, we moved to 1.27. Our pods stay in ContainerCreating and describe tells me unable to pull sandbox image registry.local/pause:3.9, where do I set that?\n\nThanks,\nJo\n", "sandbox-create-failing"},
		"such a sentence beside a message that is known":           {"Our pods stay in ContainerCreating and describe tells me unable to pull sandbox image registry.local/pause:3.9\n" + notReady, "runtime-unresponsive"},
		"such a sentence of a document":                            {"# Runbook\nIf describe tells you unable to pull sandbox image registry.local/pause:3.9, look for the mirror.\n\nThanks,\nJo\n", ""},
		"such a sentence about the past":                           {"Hi all, before 1.27 describe told me unable to pull sandbox image registry.local/pause:3.9\n\nThanks,\nJo\n", ""},
		"a message that is wrapped within a word":                  {"no pod with this volume starts:\n\n```\nMountVolume.MountDevice fail\ned for volume \"pvc-7a\" : stat /var/lib/kubelet/plugins/kubernetes.io/cs\ni/pv/pvc-7a/globalmount: host is down\n```\n\nIt is 1.19.\n", "mount-disconnected"},
		"a runtime of which a sentence tells":                      {"worker-3 is NotReady. I logged in, docker ps just hangs. Any idea?\n", "runtime-unresponsive"},
		"a file system of which a sentence tells":                  {"On worker-3 `df -h` never returns, what can I do?\n", "mount-hung"},
		"such a sentence where the kernel tells more":              {"On worker-3 `df -h` never returns.\n" + lostNFS, "kernel-server-unresponsive"},
		"a command that is said to return":                         {"On worker-3 `df -h` does not hang, and docker ps works.\n", ""},
		"a container of which a sentence tells":                    {"One container is up since May, docker stop -t 1 never comes back.\n", "container-stop-failing"},
		"a pod of which a sentence tells":                          {"One pod is stuck in Terminating since May.\n", "pod-terminating-stuck"},
		"what a controller logs":                                   {strings.Repeat(`I1120 10:00:00.000000       1 event.go:294] "Event occurred" object="shop/db-0" kind="Pod" type="Warning" reason="FailedAttachVolume" message="Multi-Attach error for volume \"pvc-1\" Volume is already used by pod(s) db-0"`+"\n", 3), "volume-attach-failing"},
		"what another program logs that it reports":                {strings.Repeat(`I1120 10:00:00.000000      17 event.go:294] "Event occurred" object="shop/db-0" kind="Pod" type="Warning" reason="FailedAttachVolume" message="Multi-Attach error for volume \"pvc-1\" Volume is already used by pod(s) db-0"`+"\n", 3), ""},
		"the panic of an application":                              {"$ kubectl logs api-0 --previous\n" + ofShop, ""},
		"the panic of an application, of which more is there":      {started + ofShop, ""},
		"the panic of a kubelet, and what kubectl says of it":      {"$ kubectl get nodes\n" + started + ofKubelet, "kubelet-restarting"},
		"the panic of a kubelet in its log":                        {started + ofKubelet, "kubelet-restarting"},
		"the panic of a kubelet below what a pod made up":          {started + `I1120 10:08:31.000000    2588 prober.go:116] "Probe failed" pod="shop/web-0" output="$ kubectl logs api-0"` + "\n" + ofKubelet, "kubelet-restarting"},
		"namespaces that are forbidden":                            {strings.Repeat("  Warning  FailedCreatePodSandBox  20s (x16 over 3m52s)  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = failed to create network namespace for sandbox \"e429\": failed to start noop process for unshare: fork/exec /proc/self/exe: no space left on device\n", 1), "limit-exhausted"},
		"an event that a list item quotes":                         {"- `MountVolume.MountDevice failed for volume \"pvc-1\" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name ebs.csi.aws.com not found in the list of registered CSI drivers` (x18 over 24m)\n", "csi-driver-missing"},
		"such an event in a sentence":                              {"- `MountVolume.MountDevice failed for volume \"pvc-1\" : driver name ebs.csi.aws.com not found in the list of registered CSI drivers` (x18 over 24m in the other cluster) is what they had\n", ""},
		"a mount of another namespace, by bare prompts":            {busyLayer + "# grep b2b9617 /proc/mounts\n# grep -l b2b9617 /proc/*/mountinfo\n/proc/118860/mountinfo\n# uptime\n", "mount-leaked-namespace"},
		"a mount that the host has, too":                           {busyLayer + "# grep b2b9617 /proc/mounts\noverlay /data/docker/overlay/b2b961718b23/merged overlay rw 0 0\n# grep -l b2b9617 /proc/*/mountinfo\n/proc/118860/mountinfo\n# uptime\n", "container-stop-failing"},
		"a process that cannot exit":                               {threadsOf("Zsl", "Dsl  rwsem_down_write_slowpath"), "process-unkillable"},
		"a process of which the first thread works":                {threadsOf("Ssl", "Dsl  rwsem_down_write_slowpath"), ""},
		"a process of which another thread sleeps":                 {threadsOf("Zsl", "Ssl  futex_wait_queue"), ""},
		"a driver of a lost server":                                {lostNFS + timedOut("efs.csi.aws.com"), "kernel-server-unresponsive"},
		"a driver of disks beside a lost server":                   {lostNFS + timedOut("ebs.csi.aws.com"), "csi-operation-stuck"},
		"pods that are refused after evictions":                    {evicted + refusedPods("DiskPressure"), "disk-pressure"},
		"pods that are refused for want of memory":                 {evicted + refusedPods("MemoryPressure"), ""},
		"zombies that leave no process id":                         {zombiesOf("31207") + noProcess, "zombie-buildup"},
		"zombies that leave enough":                                {zombiesOf("507") + noProcess, "limit-exhausted"},
		"threads of two moments":                                   {inState + "   1021 D    blk_mq_get_tag         restic\n   1022 D    blk_mq_get_tag         restic\n" + inState + "   1031 D    blk_mq_get_tag         restic\n", ""},
		"threads of one moment":                                    {inState + "   1021 D    blk_mq_get_tag         restic\n   1022 D    blk_mq_get_tag         restic\n   1031 D    blk_mq_get_tag         restic\n", "thread-blocked"},
		"a node that is ready again":                               {notReady + ready, ""},
		"a node that is not ready for its network":                 {strings.Replace(notReady, "container runtime is down", "PLEG is not healthy: pleg was last seen active 3m5s ago; threshold is 3m0s", 1), "kubelet-pleg-unhealthy"},
		"a volume in another namespace, by a search of all tables": {busyRename + leaked, "mount-leaked-namespace"},
		"the same of who may not read all tables":                  {busyRename + strings.Replace(leaked, "[root@w1 ~]#", "[me@w1 ~]$", 1), "volume-unmount-failing"},
		"a volume that the host has, too":                          {busyRename + strings.Replace(leaked, "grep: ", "/proc/1/mountinfo\ngrep: ", 1), "volume-unmount-failing"},
		"images that cannot be removed":                            {kept("9f2d7c40a1b8") + kept("4d7708cc53be"), "image-gc-failing"},
		"one image that cannot be removed":                         {kept("9f2d7c40a1b8"), ""},
		"what an issue expects":                                    {"**What happened**:\nBoth pods run.\n\n**What you expected to happen**:\nMulti-Attach error for volume \"pvc-*\"\n**How to reproduce it**:\nTwo pods.\n", ""},
		"what has happened":                                        {"**What you expected to happen**:\nThe pod runs.\n\n**What happened**:\nMulti-Attach error for volume \"pvc-1\"\n", "volume-attach-failing"},
		"systemd without a time below the kubelet":                 {"kubelet[20416]: F0514 06:22:51.411908   20416 kubelet.go:1354] Kubelet failed to get node info: instance not found\n" + strings.Repeat("systemd[1]: kubelet.service: Main process exited, code=exited, status=255/n/a\nsystemd[1]: kubelet.service: Scheduled restart job, restart counter is at 4127.\n", 2), "kubelet-restarting"},
		"a file system before its disk, at the same time":          {ext4Warning + strings.Repeat("[Mon Oct 10 04:22:18 2022] Buffer I/O error on device nvme3n1, logical block 1179904\n", 4), "kernel-io-error"},
		"a file system a minute before its disk":                   {strings.Replace(ext4Warning, ":22:18", ":21:18", 1) + strings.Repeat("[Mon Oct 10 04:22:18 2022] Buffer I/O error on device nvme3n1, logical block 1179904\n", 4), "filesystem-error"},
		"a node without a driver, below a sentence":                {"From the log of the attacher that you have shown:\n\n```\nCSINode w-2 does not contain driver csi.example.com\n```\n\nCan you show the pods?\n", "csi-driver-missing"},
		"a garbage collection whose socket refuses":                {gcRefused, "runtime-unresponsive"},
		"zombies of unknown parents":                               {"Slow since Monday.\n\nps -ef | grep defunct | wc -l gives 21077 processes.\n", "zombie-buildup"},
		"a few hundred of them":                                    {"Slow since Monday.\n\nps -ef | grep defunct | wc -l gives 210 processes.\n", ""},
		"a wrapped message about a cgroup":                         {"applying cgroup configuration for process caused mkdir\n/sys/fs/cgroup/memory/kubepods/burstable/pod0ac83d66/5b3d9e7f:\nno space left on device\n", "limit-exhausted"},
		"the end of a wrapped message":                             {"It says, wrapped by the terminal:\n\nno space left on device\n", ""},
		"NVMe over a network":                                      {nvmeLost, "kernel-io-error"},
		"NVMe over a network that is back":                         {nvmeLost + "[ 4060.104113] nvme nvme1: Successfully reconnected (3 attempt)\n", ""},
		"iSCSI that comes and goes":                                {iscsiBack("04:10:52") + iscsiBack("04:10:59") + iscsiBack("04:11:09"), "kernel-io-error"},
		"iSCSI that came back once":                                {iscsiBack("04:10:52"), ""},
		"monitors that close before they speak":                    {strings.Repeat("[12045.083194] libceph: mon0 (1)10.0.4.33:6789 socket closed (con state V1_BANNER)\n", 4), "kernel-server-unresponsive"},
		"an idle monitor":                                          {"[12045.083194] libceph: mon0 (1)10.0.4.33:6789 socket closed (con state OPEN)\n[12945.083194] libceph: mon0 (1)10.0.4.33:6789 socket closed (con state OPEN)\n", ""},
		"a title that quotes the file system's message":            {readOnly + "\n\nSince the night, dmesg:\n\n```\n[188467.719272] blk_update_request: critical medium error, dev sdc, sector 0\n[188467.732881] " + readOnly + "\n```\n", "kernel-io-error"},
		"the same without the disk's error":                        {readOnly + "\n\nSince the night, dmesg:\n\n```\n[188467.732881] " + readOnly + "\n```\n", "filesystem-error"},
		"attach failures of half an hour ago":                      {attachFailed("25m"), "volume-attach-failing"},
		"attach failures of an hour ago":                           {attachFailed("55m"), ""},
		"unmounts of an old kubelet":                               {tearDown("volA") + tearDown("volA") + tearDown("volA"), "volume-unmount-failing"},
		"one unmount of an old kubelet, in a long text":            {tearDown("volA") + strings.Repeat("I0714 11:20:42.560117   31177 kubelet.go:2001] nothing\n", 400), ""},
		"a node that was ready before":                             {strings.Replace(ready, "10:08:50", "10:08:30", 1) + notReady, "runtime-unresponsive"},
		"a sandbox that CRI-O still makes": {strings.Repeat(`time="2026-11-20T10:09:58Z" level=warning msg="error reserving pod name k8s_web-0_shop_`+uid+`_0 for id 7286: name is reserved"`+"\n", 2) +
			"E1120 10:14:14.202331    1870 log.go:32] \"RunPodSandbox from runtime service failed\" err=\"rpc error: code = DeadlineExceeded desc = context deadline exceeded\"\n", "sandbox-create-failing"},
		"a container that CRI-O still makes":                            {strings.Repeat(`time="2026-11-20T10:09:58Z" level=warning msg="error reserving ctr name k8s_app_web-0_shop_`+uid+`_0 for id 7286: name is reserved"`+"\n", 2), "container-create-failing"},
		"an event of which the keys have another order":                 {aboutPod + "  kind: Event\n" + unauthorized, "container-stop-failing"},
		"such keys of another object":                                   {aboutPod + "  kind: Thing\n" + unauthorized, ""},
		"a message of several lines, each wrapped":                      {cutAt100(noNetwork), "sandbox-create-failing"},
		"a machine whose memory was changed":                            {`E1120 10:02:31.118204    7748 kubelet.go:1566] "Failed to start ContainerManager" err="start memory manager error: [memorymanager] the expected machine state is different from the real one"` + "\n", "kubelet-state-invalid"},
		"a machine whose CPUs were changed":                             {`E1120 10:02:31.118204    7748 kubelet.go:1566] "Failed to start ContainerManager" err="start cpu manager error: current set of available CPUs \"0-7\" doesn't match with CPUs in state \"0-3\""` + "\n", "kubelet-state-invalid"},
		"a kubelet that answers 500":                                    {strings.Repeat(scrape+`"request failed, status: \"500 Internal Server Error\"" node="n1"`+"\n", 3), "kubelet-stats-failing"},
		"a scraper that may not ask":                                    {strings.Repeat(scrape+`"request failed, status: \"403 Forbidden\"" node="n1"`+"\n", 3), ""},
		"a runtime that answers no client":                              {"# timeout 30 ctr -n k8s.io c ls; echo $?\n124\n# timeout 60 crictl info; echo $?\n124\n", "runtime-unresponsive"},
		"a client that was stopped once":                                {"# timeout 30 ctr -n k8s.io c ls; echo $?\n124\n# timeout 60 crictl pull x; echo $?\n124\n", ""},
		"goroutines of kubelets in a table":                             {"go_goroutines{job=\"kubelet\"}\nn1:10250 2204 40911 60388\nn2:10250 402 407 404\n", "kubelet-goroutine-leak"},
		"goroutines of kubelets by promtool":                            {"go_goroutines{instance=\"n1:10250\",job=\"kubelet\"} => 61004 @[1733000000.1]\ngo_goroutines{instance=\"n2:10250\",job=\"kubelet\"} => 404 @[1733000000.1]\n", "kubelet-goroutine-leak"},
		"goroutines of an API server":                                   {started + "go_goroutines{job=\"apiserver\"}\nn1:6443 22040 40911 60388\n", ""},
		"a chat":                                                        {"14:31 <marek> kubelet says only this, every 5s:\n14:31 <marek> " + pleg + "\n14:33 <@olga> docker version?\n", "kubelet-pleg-unhealthy"},
		"a chat about a line":                                           {"14:31 <marek> I have never seen " + pleg + " here\n14:33 <@olga> docker version?\n", ""},
		"what follows and":                                              {"and " + condition, "kubelet-pleg-unhealthy"},
		"what follows no":                                               {"there is no " + condition, ""},
		"the JSON of containerd, by talosctl":                           {"w-1: " + stopped, "container-stop-failing"},
		"the JSON of a container":                                       {"w-1: " + strings.Replace(stopped, `"time"`, `"ts"`, 1), ""},
		"a containerd that has panicked":                                {exited + "exited, status=2/INVALIDARGUMENT\n", "runtime-unresponsive"},
		"a containerd that has panicked and is started":                 {exited + "exited, status=2/INVALIDARGUMENT\n" + restarted, ""},
		"a containerd that is stopped":                                  {exited + "killed, status=15/TERM\n", ""},
		"another service that has panicked":                             {strings.Replace(exited, "containerd.s", "shop.s", 1) + "exited, status=2/INVALIDARGUMENT\n", ""},
		"a dockerd that gets no thread":                                 {strings.Replace(noThread, "NAME", "dockerd", 1) + strings.Replace(exited, "containerd.s", "docker.s", 1) + "exited, status=2/INVALIDARGUMENT\n", "limit-exhausted"},
		"another service that gets no thread":                           {strings.Replace(noThread, "NAME", "shop", 1), ""},
		"runc init in a frozen cgroup":                                  {runc + frozen, "process-unkillable"},
		"runc init that was frozen a moment ago":                        {strings.Replace(runc, "Sep30", "10:02", 1) + frozen, ""},
		"a program that somebody has paused":                            {strings.Replace(runc, "/usr/local/bin/runc init", "postgres -D /data", 1) + frozen, ""},
		"a shim that waits for its own lock":                            {shim, "runtime-operation-stuck"},
		"a shim that waits for the end of a container":                  {strings.Replace(shim, ".Create(", ".Wait(", 1), ""},
		"the log of a shim, by strace":                                  {`[pid  9460] write(7</log>, "time=\"2026-11-20T11:47:10Z\" level=info msg=\"` + escaped(escaped(shim)) + `\"\n"..., 4096) = 4096` + "\n", "runtime-operation-stuck"},
		"docker ps of an old dockerd":                                   {lock + docker, "runtime-operation-stuck"},
		"docker ps of an old dockerd, for a moment":                     {strings.Replace(lock, ", 202 minutes", "", 1) + docker, ""},
		"a journal without dates and hosts":                             {prefixed("01:38:02 kubelet[188613]: ", "goroutine 328 [syscall, 46 minutes]:\n"+stat), "thread-blocked"},
		"such a journal, of a call that has just begun":                 {prefixed("01:38:02 kubelet[188613]: ", "goroutine 328 [syscall]:\n"+stat), ""},
		"a first goroutine in statfs, of which the callers are cut off": {"goroutine 1 [syscall, 37 minutes]:\nsyscall.Syscall(0x89, 0xc00846c6e0, 0xc00b6461b8, 0x0)\n\t/usr/local/go/src/syscall/syscall_linux.go:69 +0x25\nsyscall.Statfs({0xc003da3b70?, 0x68?}, 0xc00b6461b8)\n\t/usr/local/go/src/syscall/zsyscall_linux_amd64.go:1006 +0x5a\n", "thread-blocked"},
		"a first goroutine that reads its input, cut in the same way":   {"goroutine 1 [syscall, 37 minutes]:\nsyscall.Syscall(0x0, 0x0, 0xc00b6461b8, 0x1000)\n\t/usr/local/go/src/syscall/syscall_linux.go:69 +0x25\nsyscall.read(0x0, {0xc003da3b70?, 0x68?, 0x1000})\n\t/usr/local/go/src/syscall/zsyscall_linux_amd64.go:736 +0x5a\nos.(*File).Read(0xc000012018, {0xc003da3b70, 0x68, 0x1000})\n\t/usr/local/go/src/os/file.go:118 +0x5a\n", ""},
		"events in Markdown":                                            {table + refused, "sandbox-create-failing"},
		"events in Markdown, after which the pod is started":            {table + refused + "| 3s | Normal | Started | pod/web-0 | Started container app |\n", ""},
		"a hook that fails":                                             {hook + "error running hook #0: exit status 1: plugin type=\\\"bridge\\\" failed (add): Couldn't load match `comment'\n", "container-create-failing"},
		"what is said to be over":                                       {quoted + "\nSince the update all is back to normal.\n", ""},
		"what is hoped to be over":                                      {quoted + "\nI hope it is back to normal when the filer is updated.\n", "runtime-unresponsive"},
		"what is said to be over, before it comes back":                 {"After the update all is back to normal.\n" + quoted, "runtime-unresponsive"},
		"a log in which a program says that all is well":                {quoted + strings.Repeat("I1120 09:00:00.000000    1390 server.go:1] \"x\"\n", 400) + strings.Repeat(quoted, 3) + "\nback to normal\n", "runtime-unresponsive"},
		"another namespace that has the disk, and nobody needs it":      {elsewhere, ""},
		"another namespace that has the disk, which is busy":            {"# rbd unmap /dev/rbd6\nrbd: unmap failed: (16) Device or resource busy\n" + elsewhere, "mount-leaked-namespace"},
		"another namespace that has the disk, as the host":              {"# rbd unmap /dev/rbd6\nrbd: unmap failed: (16) Device or resource busy\n" + strings.Replace(elsewhere, "mountinfo\n0\n", "mountinfo\n1\n", 1), ""},
		"a list that a runtime has not given for a minute":              {"`timeout 60 docker ps; echo $?` prints 124\n", "runtime-unresponsive"},
		"a list that a runtime has given in time":                       {"`timeout 60 docker ps; echo $?` prints 0\n", ""},
		"a disk of which one path is left":                              {paths + "  `- 4:0:0:12 sdm 8:192 active ready running\n", ""},
		"a disk that has lost all paths":                                {paths + "  `- 4:0:0:12 sdm 8:192 failed faulty running\n", "kernel-io-error"},
		"a FUSE server that was killed":                                 {"[ 1.000001] Memory cgroup out of memory: Killed process 41 (geesefs) total-vm:3kB\n" + dead, "kernel-oom"},
		"two pods that were evicted for want of disk":                   {lowOnDisk("web-0", "4m") + lowOnDisk("web-1", "3m"), "disk-pressure"},
		"two such pods, and the condition has ended":                    {lowOnDisk("web-0", "4m") + lowOnDisk("web-1", "3m") + "1m   Normal   NodeHasNoDiskPressure   node/w1   Node w1 status is now: NodeHasNoDiskPressure\n", ""},
		"instructions":                                                  {"# Runbook: NFS\n\n    stat /var/lib/kubelet/pods/<UID>/volumes/x: stale NFS file handle\n\n" + quoted, ""},
		"a PLEG that never relists":                                     {never("02", "07", "12", "17"), "kubelet-pleg-unhealthy"},
		"a PLEG that has not relisted yet":                              {never("02", "02", "03", "05"), ""},
		"a PLEG that has relisted then":                                 {never("02", "07", "12", "17") + "I1120 10:03:40.000000    1390 kubelet.go:2531] \"SyncLoop ADD\" source=\"api\" pods=[default/a]\n", ""},
		"garbage that cannot be collected without docker":               {"  Warning  ContainerGCFailed  4m (x60 over 3h)  kubelet, w1  rpc error: code = Unknown desc = Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n", "runtime-unresponsive"},
		"a shim that does not tell its state":                           {"Nov 20 10:02:03 w1 containerd[900]: time=\"2026-11-20T10:02:03.905607810Z\" level=error msg=\"get state for 0a1b2c3d4e5f\" error=\"context deadline exceeded: unknown\"\n", "runtime-unresponsive"},
		"a condition without its events":                                {"# kubectl describe node w1 | grep Disk\n  DiskPressure   True   Tue, 18 Oct 2022 02:09:49 +0000   Tue, 18 Oct 2022 02:07:38 +0000   KubeletHasDiskPressure   kubelet has disk pressure\n", "disk-pressure"},
		"a kubelet that begins to evict":                                {evicts, "disk-pressure"},
		"a kubelet that has evicted":                                    {evicts + "I1120 10:12:19.022140    3019 eviction_manager.go:395] \"Eviction manager: able to reduce resource pressure without evicting pods.\" resourceName=\"ephemeral-storage\"\n", ""},
		"a message behind who logs it":                                  {"- the kubelet logs `skipping pod synchronization - [PLEG is not healthy: pleg was last seen active 9m5s ago; threshold is 3m0s]`\n", "kubelet-pleg-unhealthy"},
		"a message behind who logged it":                                {"- the kubelet logged until the update `skipping pod synchronization - [PLEG is not healthy: pleg was last seen active 9m5s ago; threshold is 3m0s]`\n", ""},
		"a message before where it is seen":                             {"* `skipping pod synchronization - [PLEG is not healthy: pleg was last seen active 9m5s ago; threshold is 3m0s]` appears in the kubelet log\n", "kubelet-pleg-unhealthy"},
		"an error on a line of its own":                                 {"Dec 13 17:23:14 m1 kube-controller-manager[10]: E1213 17:23:14.805591      10 nestedpendingoperations.go:262] Operation for \"\\\"kubernetes.io/aws-ebs/vol-0dac\\\"\" failed. No retries permitted until 2016-12-13 17:23:46.8 +0000 UTC (durationBeforeRetry 32s)\n. Error: Failed to attach volume \"grafana\" on node \"n1\" with: VolumeInUse: vol-0dac is already attached to an instance\n", "volume-attach-failing"},
		"a volume that another node has, by the controller":             {"W0105 10:24:00.334518       1 reconciler.go:267] Multi-Attach error for volume \"pvc-4c0b\" (UniqueName: \"kubernetes.io/azure-disk//subscriptions/37/disks/pvc-4c0b\") from node \"w3\" Volume is already exclusively attached to one node and can't be attached to another\n", "volume-attach-failing"},
		"a container that CRI-O creates for minutes":                    {crio("container creating", "k8s_web_web-0_shop_"+uid+"_5"), "container-create-failing"},
		"a sandbox that CRI-O creates for minutes":                      {crio("sandbox network creation", "k8s_web-0_shop_"+uid+"_5"), ""},
		"a plugin of containerd that was not loaded":                    {"# ctr plugin ls -d id==cri\nError:\n    Message: failed to create CRI service: failed to create cni conf monitor for default: failed to create fsnotify watcher: too many open files\n", "limit-exhausted"},
		"the last columns of a table of events":                         {"kernel-monitor, w1\t\t\tWarning\t\tOOMKilling\tMemory cgroup out of memory: Kill process 1371 (node) score 2081 or sacrifice child\n", "kernel-oom"},
		"the last columns of a table of normal events":                  {"kubelet, w1\t\t\tNormal\t\tStarted\tStarted container web\n", ""},
		"one line that comes over and over again":                       {"This line keeps appearing over and over again:\n```\n" + cgroup + "```\n" + prose, "pod-cgroup-leftover"},
		"one line that came over and over again":                        {"Before the update this line was there over and over again:\n```\n" + cgroup + "```\n" + prose, ""},
		"one line, and far below a program that works continuously":     {cgroup + prose + prose + "The job works continuously.\n", ""},
		"a network that is not ready, as an error message":              {"The node is NotReady, kubectl describe shows one error message \"runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: network plugin is not ready: cni config uninitialized\"\n", "node-not-ready"},
		"a network that was not ready, as an error message":             {"The node was NotReady until yesterday, with the error message \"runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: network plugin is not ready: cni config uninitialized\"\n", ""},
		"a pod that waits for its network, without its name":            {"Warning  NetworkNotReady  27s (x49 over 168m)  kubelet, w1  network is not ready: runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: network plugin is not ready: cni config uninitialized\n", "node-not-ready"},
		"what docker-compose prints of dockerd":                         {"ERROR: for web  Driver overlay failed to remove root filesystem a04e570022da69467a7cb8a6b4e0292e41839d17d2d41811819411a1ad3a6727: remove /var/lib/docker/overlay/983c/merged: device or resource busy\n", "container-stop-failing"},
		"a kubelet within localkube":                                    {"Jan 03 01:49:48 w1 localkube[30646]: kubelet: Exit with error: failed to run Kubelet: failed to create kubelet: misconfiguration: kubelet cgroup driver: \"cgroupfs\" is different from docker cgroup driver: \"systemd\"\n", "kubelet-state-invalid"},
		"a line of a log in a long text":                                {prose + "Sep 12 06:10:44 w1 kubelet[900]: E0912 06:10:44.000001     900 remote_runtime.go:269] \"StopPodSandbox from runtime service failed\" err=\"rpc error: code = Unknown desc = failed to destroy network for sandbox \\\"baff31\\\": plugin type=\\\"multus\\\" failed (delete): unexpected end of JSON input\" podSandboxID=\"baff3103e4f7\"\n" + prose, "container-stop-failing"},
		"a secret that a pod that has ended does not need":              {"  Warning  FailedMount  30m  kubelet  MountVolume.SetUp failed for volume \"ca\" : object \"sync\"/\"ca\" not registered\n", ""},
		"a profile of which only the first line is shown":               {"# curl http://localhost:10248/debug/pprof/goroutine?debug=1\n** goroutine profile: total 25939 **\n", "kubelet-goroutine-leak"},
		"a profile of another program":                                  {"# curl http://localhost:6060/debug/pprof/goroutine?debug=1\ngoroutine profile: total 25939\n", ""},
		"a profile of a few goroutines":                                 {"# curl http://localhost:10248/debug/pprof/goroutine?debug=1\ngoroutine profile: total 539\n", ""},
		"a program that looks at a mount, and never ends":               {"goroutine 304 [syscall, 5352 minutes]:\nsyscall.wait4(0x1df, 0xc20985ed0c, 0x0, 0xc2087cdc20, 0x90, 0x0, 0x0)\n\t/usr/src/go/src/syscall/zsyscall_linux_amd64.go:124 +0x79\nos.(*Process).Wait(0xc2083cfa80, 0xc2087cd950, 0x0, 0x0)\n\t/usr/src/go/src/os/doc.go:45 +0x3a\nk8s.io/kubernetes/pkg/util/mount.(*NsenterMounter).IsLikelyNotMountPoint(0xc208036120, 0xc2087da8c0, 0x6b, 0xc2087da850, 0x0, 0x0)\n\t/g", "thread-blocked"},
		"another program that never ends":                               {"goroutine 304 [syscall, 5352 minutes]:\nsyscall.wait4(0x1df, 0xc20985ed0c, 0x0, 0xc2087cdc20, 0x90, 0x0, 0x0)\n\t/usr/src/go/src/syscall/zsyscall_linux_amd64.go:124 +0x79\nos.(*Process).Wait(0xc2083cfa80, 0xc2087cd950, 0x0, 0x0)\n\t/usr/src/go/src/os/doc.go:45 +0x3a\nk8s.io/kubernetes/pkg/shop.(*Cart).watch(0xc208036120, 0xc2087da8c0, 0x6b, 0xc2087da850, 0x0, 0x0)\n\t/g", ""},
		"an error of Python, of a mount":                                {strings.Repeat("OSError: [Errno 107] Transport endpoint is not connected: '/data/x'\n", 2), "mount-disconnected"},
		"a driver that is missing, at the end of a sentence":            {"The controller was fine and the claim was bound, but checking the events I found that `MountDevice failed to create newCsiDriverClient: driver name smb.csi.k8s.io not found in the list of registered CSI drivers`.\n", "csi-driver-missing"},
		"a driver that was missing, at the end of a sentence":           {"The controller is fine, but before the update I found that `MountDevice failed to create newCsiDriverClient: driver name smb.csi.k8s.io not found in the list of registered CSI drivers`.\n", ""},
		"a volume in the middle of a sentence":                          {"When I deploy a pod on this node, its log shows MountVolume.MountDevice failed for volume \"zj\" : driver name fuse.csi.fluid.io not found in the list of registered CSI drivers\n", "csi-driver-missing"},
		"a volume in the middle of a sentence about what may be":        {"When I deploy a pod on this node, it should not say MountVolume.MountDevice failed for volume \"zj\" : driver name fuse.csi.fluid.io not found in the list of registered CSI drivers\n", ""},
		"a CPU that a program has kept, once":                           {"kernel:NMI watchdog: BUG: soft lockup - CPU#2 stuck for 22s! [rpc.nfsd:25666]\n", "kernel-lockup"},
		"a setting that the kubelet does not know":                      {"E0815 11:50:29.410388    2291 run.go:74] \"command failed\" err=\"failed to parse kubelet flag: unknown flag: --container-runtime\"\n", "kubelet-state-invalid"},
		"swap":                                                       {"F0815 11:50:29.410388    2291 server.go:274] failed to run Kubelet: running with swap on is not supported, please disable swap! or set --fail-swap-on flag to false.\n", "kubelet-state-invalid"},
		"a kubelet that ends for another reason":                     {"F0815 11:50:29.410388    2291 server.go:274] failed to run Kubelet: could not detect clock speed\n", "kubelet-restarting"},
		"a file that the kubelet cannot read":                        {"Jun 10 22:41:37 w1 kubelet[19954]: F0610 22:41:37.604412   19954 server.go:141] read /var/lib/kubelet/pki/kubelet.crt: input/output error\n", "mount-io-error"},
		"a file that it could not read once":                         {"E0610 22:41:37.604412   19954 config.go:141] open /etc/kubernetes/manifests: input/output error\n" + started + strings.ReplaceAll(routine, "10:09:40", "22:59:40"), ""},
		"zombies of one program":                                     {rows("weed", "weed", "weed", "weed", "weed", "weed", "weed", "weed"), "zombie-buildup"},
		"fewer of them":                                              {rows("weed", "weed", "weed", "weed", "weed", "weed", "weed"), ""},
		"zombies of several programs":                                {rows("weed", "sh", "weed", "weed", "weed", "curl", "weed", "weed"), ""},
		"rows of the table of tasks":                                 {tasks(5), "kernel-oom"},
		"fewer rows":                                                 {tasks(4), ""},
		"a command alone, and that it hangs":                         {"We asked it directly\n```\nctr -n k8s.io task list\n```\nThe command hangs, never comes an answer.\n", "runtime-unresponsive"},
		"a command alone, and that it works":                         {"We asked it directly\n```\nctr -n k8s.io task list\n```\nThe command works. The pod hangs.\n", ""},
		"lines that grep has numbered":                               {"41:Jul 08 17:20:51 m1 kubelet[11027]: E0708 17:20:51.401738   11027 reflector.go:126] k8s.io/kubernetes/pkg/kubelet/kubelet.go:451: Failed to list *v1.Node: Get https://10.160.0.4:6443/api/v1/nodes: dial tcp 10.160.0.4:6443: connect: connection refused\n42:Jul 08 17:20:51 m1 kubelet[11027]: E0708 17:20:51.411738   11027 reflector.go:126] k8s.io/kubernetes/pkg/kubelet/kubelet.go:451: Failed to list *v1.Node: Get https://10.160.0.4:6443/api/v1/nodes: dial tcp 10.160.0.4:6443: connect: connection refused\n", "api-server-unreachable"},
		"a mount that a sentence says to be without its server":      {"The bucket is mounted, but every access says \"Transport endpoint is not connected\".\n", "mount-disconnected"},
		"one that had none, and a socket":                            {"Yesterday it said \"Transport endpoint is not connected\" until we restarted it.\nOSError: [Errno 107] Transport endpoint is not connected\n", ""},
		"a patch of a message":                                       {"-\t\tutilruntime.HandleError(fmt.Errorf(\"part of the existing bootstrap client certificate is expired: %s\", cert.NotAfter))\n", ""},
		"a call that a signal has ended":                             {"level=error msg='CreateContainer failed, err=failed to generate spec: failed to stat \\'/data/pods/x/volumes/kubernetes.io~csi/pvc-1/mount\\' errno=512\n", "mount-hung"},
		"a full /run":                                                {"# df -h\nFilesystem Size Used Avail Use% Mounted on\n/dev/sda1 95G 15G 80G 16% /\ntmpfs 787M 787M 0 100% /run\n", "disk-pressure"},
		"a full loop device":                                         {"# df -h\nFilesystem Size Used Avail Use% Mounted on\n/dev/sda1 95G 15G 80G 16% /\n/dev/loop0 56M 56M 0 100% /snap/core18/1932\n", ""},
		"a container's process that its shim has not reaped":         {"root     20398  1266  0 Nov04 ?        00:01:12 containerd-shim -namespace moby\nroot     20417 20398  2 Nov04 ?        02:11:37 [java] <defunct>\n", "zombie-buildup"},
		"one that has just ended":                                    {"root     20398  1266  0 10:04 ?        00:01:12 containerd-shim -namespace moby\nroot     20417 20398  2 10:07 ?        00:00:37 [java] <defunct>\n", ""},
		"a registrar whose driver does not answer":                   {strings.Repeat("W0311 06:52:20.515109   10277 connection.go:173] Still connecting to unix:///csi/csi.sock\n", 3), "csi-driver-missing"},
		"lines without the beginning of their headers":               {"380] Error updating node status, will retry: error getting node \"m0\": Get https://10.0.0.1:6443/api/v1/nodes/m0: dial tcp 10.0.0.1:6443: connect: connection refused\n367] Unable to update node status: update node status exceeds retry count\n", "api-server-unreachable"},
		"a sandbox that is gone":                                     {"E0412 02:44:31.970620     877 remote_runtime.go:248] \"StopPodSandbox from runtime service failed\" err=\"rpc error: code = NotFound desc = an error occurred when try to find sandbox \\\"0a7c\\\": not found\" podSandboxID=\"0a7c\"\n", ""},
		"Talos, wrapped":                                             {" user: warning: [2025-11-02T19:12:41.830Z]: [talos] controller failed {\"controller\": \"k8s.NodeStatusController\", \"error\": \"stat /etc/kubernetes/kubeconfig-    \n kubelet: input/output error\"}   \n user: warning: [2025-11-02T19:12:45.102Z]: [talos] controller failed {\"controller\": \"block.MountController\", \"error\": \"failed to stat target path: stat /var/ \n lib: input/output error\"}\n", "mount-io-error"},
		"a kubelet of Talos that ends":                               {"ID                    kubelet\nEVENTS                [Waiting]: Error running Containerd(kubelet), going to restart forever: failed to create task: \"kubelet\" (1s ago)\n                      [Waiting]: Error running Containerd(kubelet), going to restart forever: failed to create task: \"kubelet\" (6s ago)\n                      [Waiting]: Error running Containerd(kubelet), going to restart forever: failed to create task: \"kubelet\" (11s ago)\n", "kubelet-restarting"},
		"the capacity of a disk as a kubelet starts":                 {"A node that starts has a warning: \"invalid capacity 0 on image filesystem\"\n", ""},
		"a node under disk pressure, as YAML":                        {"apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\nstatus:\n  conditions:\n  - lastHeartbeatTime: \"2025-06-05T07:31:55Z\"\n    lastTransitionTime: \"2025-06-05T06:57:11Z\"\n    message: kubelet has disk pressure\n    reason: KubeletHasDiskPressure\n    status: \"True\"\n    type: DiskPressure\n", "disk-pressure"},
		"a node that has none":                                       {"apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\nstatus:\n  conditions:\n  - lastHeartbeatTime: \"2025-06-05T07:31:55Z\"\n    lastTransitionTime: \"2025-06-05T06:57:11Z\"\n    message: kubelet has no disk pressure\n    reason: KubeletHasNoDiskPressure\n    status: \"False\"\n    type: DiskPressure\n", ""},
		"an idle CPU that was stuck, once":                           {"kernel:NMI watchdog: BUG: soft lockup - CPU#2 stuck for 22s! [swapper/2:0]\n", ""},
		"a CPU that was stuck, behind a prompt":                      {"[root@node2 ~]# [12032.818764] NMI watchdog: BUG: soft lockup - CPU#6 stuck for 22s! [kubelet:1663]\n", "kernel-lockup"},
		"a container that SIGKILL does not end, beside another zone": {kill + "Nov 30 14:54:12 w1 dockerd[1359]: time=\"2021-11-30T14:54:12.1+03:00\" level=info msg=\"x\"\n", "container-stop-failing"},
		"a container that SIGKILL did not end at once":               {kill + "Nov 30 15:54:12 w1 dockerd[1359]: time=\"2021-11-30T15:54:12.1+03:00\" level=info msg=\"x\"\n", ""},
		"a pod that cannot be killed, by an old kubelet":             {"E0718 11:18:34.937419   18423 pod_workers.go:182] Error syncing pod " + uid + ", skipping: error killing pod: failed to \"KillContainer\" for \"db\" with KillContainerError: \"rpc error: code = 4 desc = context deadline exceeded\"\nE0718 11:18:36.937419   18423 glusterfs.go:145] glusterfs: failed to get endpoints\n", "pod-terminating-stuck"},
		"a unit that has ended":                                      {"# systemctl status kubelet\n  Process: 25419 ExecStart=/usr/bin/kubelet $KUBELET_ARGS (code=exited, status=1/FAILURE)\n Main PID: 25419 (code=exited, status=1/FAILURE)\n", "kubelet-not-running"},
		"a unit that has ended and runs again":                       {"# systemctl status kubelet\n   Active: active (running)\n  Process: 25419 ExecStart=/usr/bin/kubelet $KUBELET_ARGS (code=exited, status=1/FAILURE)\n", ""},
		"a unit that has been stopped":                               {"# systemctl status kubelet\n  Process: 25419 ExecStart=/usr/bin/kubelet $KUBELET_ARGS (code=exited, status=0/SUCCESS)\n Main PID: 25419 (code=exited, status=0/SUCCESS)\n", ""},
		"another unit that has ended":                                {"# systemctl status sshd\n  Process: 25419 ExecStart=/usr/sbin/sshd -D (code=exited, status=1/FAILURE)\n Main PID: 25419 (code=exited, status=1/FAILURE)\n", ""},
		"a line of another program's klog without its header":        {"server.go:1354] accept: too many open files\n", ""},
		"the only failure of a longer text, at its end":              {routine + unstopped, "container-stop-failing"},
		"one that is followed by other lines":                        {unstopped + strings.ReplaceAll(routine, "10:09:40", "10:11:40"), ""},
		"a kubelet that has just started":                            {notYet("10:02:10"), ""},
		"one that has started minutes before":                        {notYet("10:02:10") + "I1120 10:06:10.330118    1840 kubelet.go:2343] \"SyncLoop (housekeeping)\"\n", "node-not-ready"},
		"a daemon that does not answer a kubelet of 1.4":             {oldPLEG, "runtime-unresponsive"},
		"a program that the image does not have":                     {hook + "exec: \"foo\": executable file not found in $PATH: unknown\n", ""},
	} {
		if root := pastedRoot(t, tt.text); root != tt.want {
			t.Errorf("%s: %q, want %q", name, root, tt.want)
		}
	}
}

func escaped(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, `"`, `\"`).Replace(s)
}

// cutAt100 is a message of klog with a value of several lines, in a journal that a terminal of 100 columns shows.
func cutAt100(head string) string {
	var b strings.Builder
	for line := range strings.Lines(head + "        rpc error: code = Unknown desc = failed to setup network for sandbox \"ea4f\": plugin type=\"cilium-cni\" failed (add): unable to connect to Cilium agent: Get \"http://localhost/v1/config\": dial unix /var/run/cilium/cilium.sock: connect: no such file or directory\n        Is the agent running?\n >\n") {
		line = "Nov 20 10:02:31 n1 kubelet[7748]: " + line
		for len(line) > 101 {
			b.WriteString(line[:100] + "\n")
			line = line[100:]
		}
		b.WriteString(line)
	}
	return b.String()
}
