package checks

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// pasted is the evidence of text that somebody pasted: a log and nothing else.
func pasted(parts ...string) func(testing.TB) forensics.Evidence {
	return func(tb testing.TB) forensics.Evidence {
		tb.Helper()
		source := logs.Source{Path: "pasted.log", Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(strings.Join(parts, ""))), nil
		}}
		part, err := read.Logs(logs.Read(tb.Context(), []logs.Source{source}, logs.Options{Now: *at("10:12:30")}))
		if err != nil {
			tb.Fatal(err)
		}
		e := forensics.NewEvidence()
		e.Merge(part)
		return e
	}
}

// says are n lines of a kubelet with one message, a minute apart, the last at a time of day. NUMBER in it is another one in each.
func says(n int, last, message string) string {
	return lines(n, time.Minute, last, "E1120 15:04:05.000001    2588 some_file.go:1] ", message)
}

// kernelSays are n lines of the kernel in a syslog, ten seconds apart.
func kernelSays(n int, last, message string) string {
	return lines(n, 10*time.Second, last, "Nov 20 15:04:05 node-1 kernel: ", message)
}

func lines(n int, step time.Duration, last, prefix, message string) string {
	var b strings.Builder
	for i := range n {
		moment := at(last).Add(-step * time.Duration(n-1-i)).Format("15:04:05")
		fmt.Fprintf(&b, "%s%s\n", strings.Replace(prefix, "15:04:05", moment, 1), strings.ReplaceAll(message, "NUMBER", fmt.Sprint(4711+i)))
	}
	return b.String()
}

const (
	goesOn   = `"SyncLoop UPDATE" source="api" pods=["shop/web-0"]`
	podField = ` pod="shop/cart-0" podUID="3f9b4a0e-1111-2222-3333-444455556666"`
	cartUID  = "3f9b4a0e-1111-2222-3333-444455556666"
	opHead   = `Operation for "{volumeName:%[1]s podName:` + cartUID + ` nodeName:}" failed. No retries permitted until 2026-11-20 10:12:00 +0000 UTC m=+9 (durationBeforeRetry 1s). Error: `
	awsDisk  = "kubernetes.io/csi/ebs.csi.aws.com^vol-1"
	nfsShare = "kubernetes.io/nfs/" + cartUID + "-data"
)

// volumeFails is the message of a failed operation.
func volumeFails(unique, operation, reason string) string {
	return fmt.Sprintf(opHead, unique) + operation + ` failed for volume "data" (UniqueName: "` + unique + `") pod "cart-0" (UID: "` + cartUID + `") : ` + reason
}

// An incidentCase is a message that a check reports: repeated up to the end of the log, once and long before it, and not at all.
type incidentCase struct {
	id, message, subject string
	kernel               bool
	// few messages are no trouble, times are enough for it.
	times int
	// lasts says that it remains without being repeated; then ends is the message that ends it, if there is one.
	lasts bool
	ends  string
	// once says what is found of a single message that was not repeated.
	once bool
	says string
	// miss is a message that looks like it.
	miss string
}

func incidentCases() []incidentCase {
	return []incidentCase{
		{
			id: "kernel-server-unresponsive", kernel: true, message: "nfs: server 10.0.0.5 not responding, still trying", subject: "server 10.0.0.5", times: 1,
			lasts: true, ends: "nfs: server 10.0.0.5 OK", says: "NFS server 10.0.0.5 has not responded", miss: "nfs: server 10.0.0.5 OK",
		},
		{
			id: "kernel-server-unresponsive", kernel: true, message: "libceph: osd3 (1)10.0.0.7:6801 socket closed (con state OPEN)", subject: "server osd3", times: 3, once: true,
			says: "Ceph daemon osd3 has not responded", miss: "libceph: osd3 up",
		},
		{
			id: "kernel-hung-task", kernel: true, message: "INFO: task jbd2/sda1-8:312 blocked for more than 120 seconds.", subject: "process 312", times: 1, once: true,
			says: "jbd2/sda1-8 (task 312) has been blocked in the kernel for at least 2 min", miss: "INFO: lockdep is turned off.",
		},
		{
			id: "kernel-lockup", kernel: true, message: "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [runc:4711]", subject: "kernel cpu", times: 3, once: true,
			says: "CPUs were stuck 3 times, up to 22 s in runc (4711)", miss: "watchdog: Disabling watchdog on nohz_full cores by default",
		},
		{
			id: "kernel-io-error", kernel: true, message: "blk_update_request: I/O error, dev sdb, sector 2048 op 0x0:(READ)", subject: "disk sdb", times: 3, once: true,
			says: "Disk sdb has failed", miss: "sd 2:0:0:1: [sdb] Attached SCSI disk",
		},
		{
			id: "kernel-io-error", kernel: true, message: "sd 2:0:0:1: rejecting I/O to offline device", subject: "disk 2:0:0:1", times: 1, lasts: true,
			says: "has been offline", miss: "sd 2:0:0:1: [sdb] Attached SCSI disk",
		},
		{
			id: "filesystem-error", kernel: true, message: "EXT4-fs (sdb1): Remounting filesystem read-only", subject: "disk sdb1", times: 1, lasts: true,
			says: "File system on sdb1 has been read-only", miss: "EXT4-fs (sdb1): mounted filesystem with ordered data mode",
		},
		{
			id: "filesystem-error", message: `"Failed to write" err="open /var/lib/kubelet/pods/x/etc-hosts: read-only file system"`, subject: "path /var/lib/kubelet/pods/x/etc-hosts", times: 3,
			says: "read-only", miss: goesOn,
		},
		{
			id: "kernel-oom", kernel: true, message: "Out of memory: Killed process NUMBER (java) total-vm:1kB, anon-rss:1kB", subject: "kernel memory", times: 3, once: true,
			says: "The node was out of memory", miss: "systemd-oomd killed nothing",
		},
		{
			id: "kernel-oom", kernel: true, message: "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg=/kubepods/burstable/pod" + cartUID +
				",task_memcg=/kubepods/burstable/pod" + cartUID + "/abc,task=java,pid=NUMBER,uid=0", subject: "pod " + cartUID, times: 3, once: true,
			says: "java (4711) killed", miss: "systemd-oomd killed nothing",
		},
		{
			id: "limit-exhausted", message: `"Failed to start" err="inotify_init: too many open files"`, subject: "limit inotify", times: 1, once: true, says: "inotify limit has been reached",
			miss: `"Failed to write" err="write /var/log/x: no space left on device"`,
		},
		{
			id: "limit-exhausted", message: `"Failed to create" err="mkdir /sys/fs/cgroup/memory/kubepods/x: no space left on device"`, subject: "limit cgroups", times: 1, once: true,
			says: "Cgroups cannot be created", miss: `"Failed to write" err="write /var/log/x: no space left on device"`,
		},
		{
			id: "limit-exhausted", kernel: true, message: "nf_conntrack: nf_conntrack: table full, dropping packet", subject: "limit conntrack", times: 1, once: true,
			says: "packets dropped", miss: "nf_conntrack: default automatic helper assignment has been turned off",
		},
		{
			id: "limit-exhausted", kernel: true, message: "neighbour: arp_cache: neighbor table overflow!", subject: "limit neighbours", times: 1, once: true,
			says: "packets dropped", miss: "neighbour: ndisc_cache: neighbour solicitation ignored",
		},
		{
			id: "limit-exhausted", message: `"RunPodSandbox from runtime service failed" err="rpc error: code = Unknown desc = failed to setup network for sandbox \"abc\": plugin type=\"host-local\" failed (add): ` +
				`failed to allocate for range 0: no IP addresses available in range set: 10.0.0.1-10.0.0.254"`, subject: "limit addresses", times: 1, once: true, says: "Pod network has had no free address",
			miss: `"RunPodSandbox from runtime service failed" err="rpc error: code = Unknown desc = failed to setup network for sandbox \"abc\": plugin type=\"calico\" failed (add): stat /var/lib/calico/nodename: no such file or directory"`,
		},
		{
			id: "limit-exhausted", kernel: true, message: "cgroup: fork rejected by pids controller in /kubepods/burstable/pod" + cartUID + "/abc", subject: "limit process-ids", times: 1, once: true,
			says: "Process limit of a cgroup has been reached", miss: "cgroup: Disabling memory control group subsystem",
		},
		{
			id: "network-device-stuck", kernel: true, message: "unregister_netdevice: waiting for eth0 to become free. Usage count = 1", subject: "network-device eth0", times: 3,
			says: "Network device eth0 cannot be released", miss: "eth0: link becomes ready",
		},
		{
			id: "volume-mount-failing", message: volumeFails(nfsShare, "MountVolume.SetUp", "mount failed: exit status 32 mount.nfs: access denied by server"),
			subject: "volume " + cartUID + "/kubernetes.io/nfs/data", times: 3, once: true, says: "access denied by server", miss: `"MountVolume.SetUp succeeded for volume \"data\""`,
		},
		{
			id: "volume-mount-failing", message: `"Unable to attach or mount volumes for pod; skipping pod" err="unmounted volumes=[data], unattached volumes=[data]: timed out waiting for the condition"` + podField,
			subject: "pod " + cartUID, times: 2, says: "has been waiting for volume data", miss: goesOn,
		},
		{
			id: "volume-attach-failing", message: volumeFails(awsDisk, "AttachVolume.Attach", "rpc error: code = Internal desc = Could not attach volume: already attached to i-2"),
			subject: "volume " + cartUID + "/kubernetes.io/csi/data", times: 3, once: true, says: "cannot be attached", miss: `"AttachVolume.Attach succeeded for volume \"data\""`,
		},
		{
			id: "volume-unmount-failing", message: volumeFails(awsDisk, "UnmountDevice", "kubernetes.io/csi: UnmountDevice failed to load volume data file [/var/lib/kubelet/plugins/kubernetes.io/csi/x/globalmount]: open vol_data.json: no such file or directory"),
			subject: "volume " + cartUID + "/kubernetes.io/csi/data", times: 3, once: true, says: "cannot be unmounted", miss: volumeFails(nfsShare, "UnmountVolume.TearDown", "unmount failed: exit status 32 umount: target is busy."),
		},
		{
			id: "sandbox-create-failing", message: `"RunPodSandbox from runtime service failed" err="rpc error: code = Unknown desc = failed to get sandbox image \"pause:3.9\": not found"`,
			subject: "subsystem sandboxes", times: 3, once: true, says: "Pod sandboxes cannot be created", miss: goesOn,
		},
		{
			id: "container-create-failing", message: `"CreateContainer in sandbox from runtime service failed" err="rpc error: code = Unknown desc = failed to reserve container name \"cart\": name is reserved for \"abc\"" podSandboxID="abc"`,
			subject: "container abc", times: 3, once: true, says: "reserved", miss: goesOn,
		},
		{
			id: "container-stop-failing", message: `"RemoveContainer from runtime service failed" err="rpc error: code = Unknown desc = failed to remove root filesystem: device or resource busy" containerID="abc"`,
			subject: "container abc", times: 3, once: true, says: "cannot be stopped or removed", miss: goesOn,
		},
		{
			id: "certificate-expired", message: `"Unable to authenticate" err="x509: certificate has expired or is not yet valid: current time 2026-11-20T10:12:00Z is after 2026-11-19T00:00:00Z"`,
			subject: "certificate certificate", times: 1, once: true, says: "A certificate has been refused as invalid", miss: goesOn,
		},
		{
			id: "api-server-unreachable", message: `"Unable to update node status" err="Get \"https://10.0.0.1:6443/api/v1/nodes/n\": dial tcp 10.0.0.1:6443: connect: connection refused"`,
			subject: "server kube-apiserver", times: 3, says: "kubelet cannot reach the API server", miss: `"Unable to update node status" err="the object has been modified"`,
		},
		{
			id: "node-not-ready", message: `"Node became not ready" node="n" condition={"type":"Ready","status":"False","reason":"KubeletNotReady","message":"container runtime is down"}`,
			subject: "node Ready", times: 1, lasts: true, ends: `"Recording event message for node" node="n" event="NodeReady"`, says: "The node has been NotReady", miss: goesOn,
		},
		{
			id: "kubelet-state-invalid", message: `"Could not initialize checkpoint manager, please drain node and remove policy state file" err="could not restore state from checkpoint: checkpoint is corrupted, please drain this node and delete the CPU manager checkpoint file \"/var/lib/kubelet/cpu_manager_state\" before restarting Kubelet"`,
			subject: "path /var/lib/kubelet/cpu_manager_state", times: 1, once: true, says: "Checkpoint of the kubelet has been invalid", miss: goesOn,
		},
		{
			id: "kubelet-stats-failing", message: `"Eviction manager: failed to get summary stats" err="failed to get summary stats: failed to get rootFs info: unable to find data in memory cache"`,
			subject: "subsystem statistics", times: 3, says: "kubelet cannot collect statistics", miss: goesOn,
		},
	}
}

// Each case is three scenarios: it goes on at the end of the log, it was over by then, and it never was.
var _ = func() bool {
	for n, c := range incidentCases() {
		write, other := says, says(2, "10:12:20", goesOn)
		if c.kernel {
			write = kernelSays
		}
		name := fmt.Sprintf("%d, ", n)
		list := []scenario{
			{name: name + "current", base: pasted(write(c.times, "10:12:10", c.message), other), want: []string{"warning " + c.subject}, says: c.says, outcome: forensics.OutcomeFound},
			{name: name + "near miss", base: pasted(write(c.times, "10:12:10", c.miss), kernelSays(1, "10:12:12", "a line of the kernel"), other)},
		}
		over := scenario{name: name + "long before the end", base: pasted(write(c.times, "08:00:00", c.message), other), want: []string{"info " + c.subject}}
		if c.lasts {
			over.want = []string{"warning " + c.subject}
		}
		list = append(list, over)
		if c.ends != "" {
			list = append(list, scenario{
				name: name + "ended", base: pasted(write(c.times, "10:10:00", c.message), write(1, "10:11:00", c.ends), other), want: []string{"info " + c.subject}, says: "The log says that it ended at 2026-11-20 10:11:00 UTC",
			})
		}
		if c.times > 1 {
			one := scenario{name: name + "once", base: pasted(write(1, "10:12:10", c.message), other)}
			if c.once {
				one.want = []string{"info " + c.subject}
			}
			list = append(list, one)
		}
		scenariosOf(c.id, list)
	}
	return true
}()
