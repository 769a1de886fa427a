package checks

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

var _ = scenariosOf("thread-blocked", threadBlockedInLogs())

func threadBlockedInLogs() []scenario {
	return []scenario{{
		name: "a hung task", base: sickNode, change: tells(fromKernel(numbered(event(logs.KindKernelHungTask, 3, "10:04:00", "10:10:00", logs.Subject{Process: "kubelet (9839)"}), 120))),
		want: []string{"warning thread 9825/9839"}, says: "The kernel reported this thread as a hung task 3 times, first at 2026-11-20 10:04:00 UTC",
	}}
}

// savedVolume is a volume of a pod, as pasted tables have it.
const savedVolume = "/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~nfs/logs"

// TestSavedThreads judges what texts show of threads: what is found of them, and what must not be.
func TestSavedThreads(t *testing.T) {
	const mounted = "10.77.0.3:/vol on " + savedVolume + " type nfs4 (rw,relatime,vers=4.1,hard,addr=10.77.0.3)\n"
	const blocked = "$ ps -eo pid,stat,wchan:30,args | grep ' D'\n 9120 D rpc_wait_bit_killable /sbin/umount.nfs4 " + savedVolume + "\n"
	const task = "[812.330112] INFO: task java:50122 blocked for more than 120 seconds.\n[812.330240] task:java state:D stack:0 pid:50122 ppid:1 flags:0x0\n[812.330251] Call Trace:\n"
	cases := []struct {
		name, text string
		id, title  string // of the first finding; "" for none
	}{
		{
			"a call on a mount of the text", mounted + blocked,
			"thread-blocked", "NFS 10.77.0.3:/vol does not respond: umount.nfs4 (pid 9120) is blocked",
		},
		{"a call on no known mount", blocked, "thread-blocked", "NFS server does not respond: umount.nfs4 (pid 9120) is blocked"},
		{
			"the server's own line is the cause", mounted + blocked + "[812.000000] nfs: server 10.77.0.3 not responding, still trying\n",
			"kernel-server-unresponsive", "NFS server 10.77.0.3 has not responded",
		},
		{
			"a hung task says what it waits for", task + "[812.330277]  schedule+0x69/0x110\n[812.330284]  xfs_log_force+0x1/0x2 [xfs]\n",
			"kernel-hung-task", "java (task 50122) has been blocked in the kernel for at least 2 min in xfs",
		},
		{
			"a hung task and the server that it waits for", "[800.0] nfs: server 10.61.7.2 not responding, still trying\n" + task + "[812.330277]  schedule+0x69/0x110\n[812.330284]  nfs_start_io_read+0x1c/0x40 [nfs]\n[812.330290]  nfs_file_read+0x71/0xb0 [nfs]\n",
			"kernel-server-unresponsive", "NFS server 10.61.7.2",
		},
		{
			"what SIGKILL does not end, in a file system", "# kill -9 812\n# cat /proc/812/stack\n[<0>] xfs_ilock+0x46/0x80 [xfs]\n[<0>] xfs_file_buffered_write+0x1/0x2 [xfs]\n",
			"thread-blocked", "process 812 is blocked in the kernel in xfs",
		},
		{"one that waits for a disk at this moment", "# cat /proc/812/stack\n[<0>] io_schedule+0x46/0x80\n[<0>] ext4_file_read_iter+0x1/0x2\n", "", ""},
		{"an idle one", "# cat /proc/812/stack\n[<0>] ep_poll+0x3e3/0x420\n", "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			saved := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
			f := read.FSFile(fstest.MapFS{"paste.txt": {Data: []byte(c.text), ModTime: saved}}, "paste.txt")
			all, _ := read.Files(t.Context(), read.Options{Now: saved}, f)
			a := forensics.Analyze(&all[0], All())
			if len(a.Diagnoses) == 0 || a.Diagnoses[0].Severity == forensics.Info {
				if c.id != "" {
					t.Errorf("nothing was found; want %s", c.id)
				}
				return
			}
			root := a.Findings[a.Diagnoses[0].Findings[0]]
			if root.ID != c.id || !strings.HasPrefix(root.Title, c.title) {
				t.Errorf("got %s: %s; want %s: %s", root.ID, root.Title, c.id, c.title)
			}
			if root.ID == "thread-blocked" && root.Confidence != forensics.Likely {
				t.Errorf("confidence = %s; a text proves no more than likely", root.Confidence)
			}
		})
	}
	saved := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	all, _ := read.Files(t.Context(), read.Options{Now: saved}, read.FSFile(fstest.MapFS{"a": {Data: []byte(mounted + blocked)}}, "a"))
	f := forensics.Analyze(&all[0], []forensics.Check{threadBlocked}).Findings[0]
	if !slices.Equal(f.Pods, []string{uid}) || f.Subject != (forensics.Entity{Kind: forensics.KindSuperblock, ID: "10.77.0.3:/vol"}) {
		t.Errorf("pods %v, subject %v; want the volume's pod and file system", f.Pods, f.Subject)
	}
	for _, r := range f.Remedies {
		if !strings.HasPrefix(r.OnlyIf, "on the node, check first") || strings.Contains(r.OnlyIf, "mount -") {
			t.Errorf("%v, only if: %s; want what to check on the node first, and no id of the mount", r.Command, r.OnlyIf)
		}
	}
}
