package read_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// nfsStack is a thread that waits for an NFS server, as /proc/PID/stack shows it.
const nfsStack = "[<0>] rpc_wait_bit_killable+0x1e/0xa0 [sunrpc]\n[<0>] __rpc_execute+0x110/0x3c0 [sunrpc]\n[<0>] nfs4_proc_getattr+0x5d/0x100 [nfsv4]\n[<0>] vfs_statx+0x89/0xe0\n"

// trace is the same as the kernel logs it.
const trace = "Call Trace:\n <TASK>\n __schedule+0x2eb/0x8d0\n ? __die+0x1/0x2\n schedule+0x5b/0xd0\n rpc_wait_bit_killable+0x1e/0xa0 [sunrpc]\n nfs4_proc_getattr+0x5d/0x100 [nfsv4]\n </TASK>\n"

const volume = "/var/lib/kubelet/pods/1f8d9f6e-3c0b-4ad0-8a3c-1f3d1b7f60aa/volumes/kubernetes.io~nfs/v"

// TestSystemTools reads what tools print, in the forms in which people paste it.
func TestSystemTools(t *testing.T) {
	mountLine := "10.0.0.5:/x on " + volume + " type nfs4 (rw,relatime,vers=4.1,hard,addr=10.0.0.5)\n"
	mounted := "mount 10.0.0.5:/x nfs4 " + volume
	thread := func(pid int, name, state string) string {
		return fmt.Sprintf("thread %d %s %s server nfs", pid, name, state)
	}
	task := func(pid int, name, state string) string {
		return "task" + strings.TrimPrefix(thread(pid, name, state), "thread")
	}
	cases := []struct {
		name, text string
		want       []string
	}{
		{"mount", mountLine, []string{mounted}},
		{"mount, between prose", "Look:\n\n$ mount | grep nfs\n" + mountLine + "\nand it hangs on everything.\n", []string{mounted}},
		{"/proc/mounts", `10.0.0.5:/x /mnt/a\040b nfs4 rw,relatime,hard 0 0`, []string{"mount 10.0.0.5:/x nfs4 /mnt/a b"}},
		{"findmnt, a tree", "TARGET SOURCE FSTYPE OPTIONS\n/ /dev/sda1 ext4 rw,relatime\n└─" + volume + " 10.0.0.5:/x nfs4 rw,hard\n", []string{"mount /dev/sda1 ext4 /", mounted}},
		{"findmnt, without its heading", volume + "  10.0.0.5:/x  nfs4  rw,hard,addr=10.0.0.5", []string{mounted}},
		{"mountinfo, between prose", "the mount is\n  59 28 0:46 / " + volume + " rw,relatime shared:1 - nfs4 10.0.0.5:/x rw,vers=4.1\nand that is all\n", []string{mounted}},
		{"no mount table", "the share on /mnt type nfs (the old one) is fine\ngit mv a /b c d\n", nil},

		{"/proc/PID/stack, a command", "# cat /proc/812/stack\n" + nfsStack, []string{thread(812, "", "")}},
		{"/proc/PID/stack, tail", "==> /proc/812/task/815/stack <==\n" + nfsStack, []string{"thread 812/815   server nfs"}},
		{"/proc/PID/stack, a heading", "PID: 812 (umount.nfs4)\n" + nfsStack, []string{thread(812, "umount.nfs4", "")}},
		{"/proc/PID/stack, with what else is known", "## 812 kubelet state=S wchan=rpc_wait_bit_killable syscall=262 0x1 0x544d7f8 0x0 0x0 0x0 0x0 0x7ffc2656f698 0x499aa3\n" + nfsStack, []string{thread(812, "kubelet", "S")}},
		{"/proc/PID/stack, two", "812 umount\n" + nfsStack + "813 df\n" + nfsStack, []string{thread(812, "umount", ""), thread(813, "df", "")}},
		{"/proc/PID/stack, without a heading", "I see this:\n" + nfsStack, []string{"thread 0   server nfs"}},
		{"/proc/PID/stack, quoted", "> # cat /proc/812/stack\n> " + strings.ReplaceAll(strings.TrimSpace(nfsStack), "\n", "\n> "), []string{thread(812, "", "")}},
		{"/proc/PID/stack, grep", "/proc/812/stack:" + strings.ReplaceAll(strings.TrimSpace(nfsStack), "\n", "\n/proc/812/stack:"), []string{thread(812, "", "")}},
		{"/proc/PID/stack, with ps and mount", "root 812 0.0 0.0 18332 2980 ? D Feb11 0:00 umount " + volume + "\n$ cat /proc/812/stack\n" + nfsStack + mountLine, []string{mounted, thread(812, "umount", "D") + " on 10.0.0.5:/x"}},
		{"a stack and one mount that it can be", "# cat /proc/812/stack\n" + nfsStack + mountLine, []string{mounted, thread(812, "", "") + " on 10.0.0.5:/x"}},
		{"a stack and two mounts", "# cat /proc/812/stack\n" + nfsStack + mountLine + "10.0.0.6:/y on /mnt type nfs4 (rw)\n", []string{mounted, "mount 10.0.0.6:/y nfs4 /mnt", thread(812, "", "")}},
		{"sysrq-w, new", "task:umount state:D stack:    0 pid:  812 ppid:     1 flags:0x00004000\n" + trace, []string{task(812, "umount", "D")}},
		{"sysrq-w, old", "umount.nfs      D ffff88085fc14780     0   812      1 0x00000080\n ffff880fe4b3bb98 0000000000000086\n" + trace, []string{task(812, "umount.nfs", "D")}},
		{"sysrq-w, dmesg", kernelLines("[ 5123.001101] ", "task:umount state:D stack:0 pid:812 ppid:1 flags:0x0\n"+trace), []string{task(812, "umount", "D")}},
		{"hung task, journal", kernelLines("Apr 03 22:41:19 n1 kernel: ", "INFO: task my task:812 blocked for more than 120 seconds.\n      Not tainted 5.10.0\ntask:my task state:D stack:0 pid:812 ppid:1 flags:0x0\n"+trace), []string{task(812, "my task", "D") + " 120 s"}},
		{"a trace of a warning", kernelLines("[ 5123.001101] ", "WARNING: CPU: 3 PID: 812 at net/x.c:1\n"+trace), nil},
		{"crash", "PID: 812    TASK: ffff9c1e8d4c0000  CPU: 11   COMMAND: \"df\"\n #0 [ffffb1a2c8b0fc10] __schedule at ffffffff9a7b1f2d\n #1 [ffffb1a2c8b0fcb8] rpc_wait_bit_killable at ffffffffc0b1c3ee [sunrpc]\n", []string{thread(812, "df", "")}},
		{"an idle stack", "# cat /proc/812/stack\n[<0>] ep_poll+0x3e3/0x420\n[<0>] do_epoll_wait+0xb8/0xd0\n", nil},

		{"ps by columns of the command", "$ ps -eo pid,stat,wchan:30,args | grep ' D'\n 812 D rpc_wait_bit_killable umount " + volume + "\n" + mountLine, []string{mounted, thread(812, "umount", "D") + " on 10.0.0.5:/x"}},
		{"ps aux, since another day", "root 812 0.0 0.0 18332 2980 ? D Feb11 0:00 df -h\n", []string{"thread 812 df D other-disk "}},
		{"ps aux, just started", "root 812 0.0 0.0 18332 2980 ? D 10:12 0:00 df -h\n", nil},
		{"ps aux, a kernel thread", "root 412 0.3 0.0 0 0 ? D Mar02 91:20 [jbd2/sda2-8]\n", nil},
		{"ps aux, one that works", "root 1 0.0 0.1 1 1 ? Ss Mar02 4:11 /sbin/init\n1000 812 41.0 0.4 9 2 ? D 09:11 12:20 tar -cf /x .\n", nil},

		{"lsof: a warning", "lsof: WARNING: can't stat() fuse.sshfs file system /mnt/x\n      Output information may be incomplete.\n", []string{"mount  fuse.sshfs /mnt/x"}},
		{"mount, counted", "$ mount | sort | uniq -c\n   8190 10.0.0.5:/x on " + volume + " type nfs4 (rw,hard)\n", []string{mounted}},
		{"findmnt, counted", "$ findmnt -rno TARGET,SOURCE,FSTYPE | sort | uniq -c | sort -rn\n   8190 " + volume + " 10.0.0.5:/x nfs4\n      1 /dev devtmpfs devtmpfs\n", []string{mounted, "mount devtmpfs devtmpfs /dev"}},
		{"ps by threads alone", "$ ps -eLo lwp,stat,wchan:30,comm | grep ' D'\n 812 D rpc_wait_bit_killable umount\n", []string{"task 812 umount D server nfs"}},
		{"ps by processes and threads", "$ ps -eLo pid,lwp,stat,wchan:30,comm | grep ' D'\n 811 812 D rpc_wait_bit_killable umount\n", []string{"thread 811/812 umount D server nfs"}},
		{"ps -L, a heading", "LWP STAT WCHAN COMMAND\n812 D rpc_wait_bit_killable umount\n", []string{"task 812 umount D server nfs"}},
		{"the directory of a task", "/proc/811/task/812\n" + nfsStack, []string{"thread 811/812   server nfs"}},
		{"a stack, of a TID", "TID 812 (kubelet)\n" + nfsStack, []string{"task 812 kubelet  server nfs"}},

		{"df: an error", "df: " + volume + ": Stale file handle\n", []string{"mount   " + volume, "probe " + volume + " ESTALE"}},
		{"df: an error, German", "df: '" + volume + "': Der Socket ist nicht verbunden\n", []string{"mount   " + volume, "probe " + volume + " ENOTCONN"}},
		{"ls: an error below a mount", mountLine + "ls: cannot access '" + volume + "/dir': Stale file handle\n", []string{mounted, "probe " + volume + " ESTALE"}},
		{"ls: its name left out", "cannot access '" + volume + "': Transport endpoint is not connected\n", []string{"mount   " + volume, "probe " + volume + " ENOTCONN"}},
		{"the same in prose", "We cannot access '" + volume + "': Transport endpoint is not connected\ncannot access '/x': Permission denied\n", nil},
		{"errors of files", "cat: /etc/shadow: Permission denied\nls: cannot access '/x': No such file or directory\n", nil},
		{"an error, quoted in prose", "It says `df: /mnt/x: Stale file handle`.\n", nil},

		{"a stopped FUSE server", "# cat /proc/812/stack\n[<0>] request_wait_answer+0x137/0x220\n[<0>] fuse_do_getattr+0xd9/0x2a0\n$ ps -eo pid,stat,args\n 99 Tl s3fs b " + volume + "\n", []string{"mount s3fs fuse.s3fs " + volume, "thread 812   fuse fuse on " + volume}},
		{"a FUSE server that somebody has let go on", "# cat /proc/812/stack\n[<0>] request_wait_answer+0x137/0x220\n[<0>] fuse_do_getattr+0xd9/0x2a0\n$ ps -eo pid,stat,args\n 99 Tl s3fs b " + volume + "\n$ kill -CONT 99\n", []string{"thread 812   fuse fuse"}},
		{"a FUSE server that runs", "# cat /proc/812/stack\n[<0>] request_wait_answer+0x137/0x220\n[<0>] fuse_do_getattr+0xd9/0x2a0\n$ ps -eo pid,stat,args\n 99 Ssl s3fs b " + volume + "\n", []string{"thread 812   fuse fuse"}},
		{"df -h", "Filesystem Size Used Avail Use% Mounted on\n/dev/sda2 118G 112G 18M 100% /\n", []string{"disk / 126701535232 18874368 0/0"}},
		{"df -i", "Filesystem Inodes IUsed IFree IUse% Mounted on\n/dev/sdb1 6553600 6553600 0 100% /var/lib/docker\n", []string{"disk /var/lib/docker 0 0 0/6553600"}},
		{"df, a long name", "Filesystem 1K-blocks Used Available Use% Mounted on\n/dev/mapper/very-long-name\n 1000 500 500 50% /var\n", []string{"disk /var 1024000 512000 0/0"}},
		{"df of disks that the kubelet does not use", "/dev/sdb1 1.8T 1.8T 0 100% /mnt/backup\n", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			saved := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
			f := read.FSFile(fstest.MapFS{"paste.txt": {Data: []byte(c.text), ModTime: saved}}, "paste.txt")
			all, _ := read.Files(t.Context(), read.Options{Now: saved}, f)
			if diff := cmp.Diff(strings.Join(c.want, "\n"), strings.Join(shown(&all[0]), "\n")); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// kernelLines puts what the log writes before each line.
func kernelLines(prefix, text string) string {
	return prefix + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+prefix) + "\n"
}

// shown is what the evidence has of tables and stacks, one line each.
func shown(e *forensics.Evidence) (list []string) {
	for _, m := range e.Mounts.Mounts {
		list = append(list, fmt.Sprintf("mount %s %s %s", m.Source, m.FSType, m.MountPoint))
	}
	for _, t := range e.Threads {
		id := fmt.Sprint(t.PID)
		if t.TID != t.PID {
			id += fmt.Sprintf("/%d", t.TID)
		}
		what := "thread"
		if t.PIDUnknown {
			what = "task"
		}
		s := fmt.Sprintf(what+" %s %s %s %s %s", id, t.Comm, t.State, t.Wait.Kind, t.Wait.FS)
		if t.WaitSeconds != nil {
			s += fmt.Sprintf(" %g s", *t.WaitSeconds)
		}
		if t.Device != "" {
			s += " on " + t.Device
		}
		list = append(list, s)
	}
	for _, p := range e.Probes {
		list = append(list, "probe "+p.MountPoint+" "+p.Errno)
	}
	if e.Disks != nil {
		for _, f := range e.Disks.FileSystems {
			list = append(list, fmt.Sprintf("disk %s %d %d %d/%d", f.MountPoint, f.CapacityBytes, f.AvailableBytes, f.InodesFree, f.Inodes))
		}
	}
	return list
}

// TestSystemToolsOfRun leaves the evidence of a run of this program as it is.
func TestSystemToolsOfRun(t *testing.T) {
	e := forensics.NewEvidence()
	e.Collector.PID = 4711
	run, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"run.json": {Data: run}, "ps.txt": {Data: []byte("# cat /proc/812/stack\n" + nfsStack)}}
	all, _ := read.Files(t.Context(), read.Options{}, read.FSFile(files, "run.json"), read.FSFile(files, "ps.txt"))
	if len(all) != 1 || all[0].Collector.PID != 4711 || len(all[0].Threads) > 0 {
		t.Errorf("a text is added to what was collected: %v", all)
	}
}

// TestSystemToolsOfFiles joins what several files show.
func TestSystemToolsOfFiles(t *testing.T) {
	files := fstest.MapFS{
		"a.txt": {Data: []byte("# cat /proc/812/stack\n" + nfsStack)}, "b.txt": {Data: []byte("10.0.0.5:/x on /mnt type nfs4 (rw)\n")},
		"c.txt": {Data: []byte("PID STAT COMMAND\n812 D+ umount /mnt\n")},
	}
	all, results := read.Files(t.Context(), read.Options{}, read.FSFile(files, "a.txt"), read.FSFile(files, "b.txt"), read.FSFile(files, "c.txt"))
	want := []string{"mount 10.0.0.5:/x nfs4 /mnt", "thread 812 umount D server nfs on 10.0.0.5:/x"}
	if diff := cmp.Diff(want, shown(&all[0])); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, got := range results {
		if !got.Used {
			t.Errorf("%s was not used: %v", got.Name, got.Err)
		}
	}
}

// TestDeletedFiles: lsof says it by the number of links, or behind the name. A user's number is neither.
func TestDeletedFiles(t *testing.T) {
	text := `# lsof -nPl
COMMAND    PID USER  FD   TYPE DEVICE     SIZE/OFF    NODE NAME
filebeat 31002 0     9w   REG  8,1    118489120768 2883611 /var/log/live.log
filebeat 31002 0    10w   REG  8,1    118489120768 2883612 /var/log/gone.log (deleted)
java     31003 0    11u   REG  0,24        1048576      77 /dev/shm/ring (deleted)
# lsof -nP +L1
COMMAND    PID USER  FD   TYPE DEVICE     SIZE/OFF NLINK    NODE NAME
java     31004 root  12r  REG  8,1      2147483648     0 2883613 /var/log/read.log
# lsof +L1 /var/log | awk '{print $1,$2,$4,$7,$9,$10,$11}'
COMMAND PID FD SIZE/OFF NODE NAME
rsyslogd 1120 7w 13314398617 131 /var/log/messages (deleted)
rsyslogd 1120 8w 131 /var/log/other (deleted)
`
	all, _ := read.Files(t.Context(), read.Options{}, read.FSFile(fstest.MapFS{"lsof.txt": {Data: []byte(text)}}, "lsof.txt"))
	var got []string
	for _, d := range all[0].MountUse.Deleted {
		got = append(got, fmt.Sprintf("%d %d %s %d %v", d.PID, d.FD, d.Path, d.SizeBytes, d.Written))
	}
	if want := []string{"31002 10 /var/log/gone.log 118489120768 true", "31004 12 /var/log/read.log 2147483648 false", "1120 7 /var/log/messages 13314398617 true"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if len(all[0].MountUse.Unseen) == 0 {
		t.Error("what lsof did not list counts as not there")
	}
}

// TestStacksInLargeLog finds the stack of a hung task in a log that nobody has pasted.
func TestStacksInLargeLog(t *testing.T) {
	noise := strings.Repeat("Apr 03 22:41:18 n1 kernel: IPv6: ADDRCONF(NETDEV_CHANGE): cali09a: link becomes ready\n", 20_000)
	text := noise + kernelLines("Apr 03 22:41:19 n1 kernel: ", "INFO: task df:812 blocked for more than 120 seconds.\ntask:df state:D stack:0 pid:812 ppid:1 flags:0x0\n"+trace)
	f := read.FSFile(fstest.MapFS{"kern.log": {Data: []byte(text), ModTime: time.Date(2026, 4, 4, 0, 0, 0, 0, time.UTC)}}, "kern.log")
	all, _ := read.Files(t.Context(), read.Options{}, f)
	if got := shown(&all[0]); len(got) != 1 || got[0] != "task 812 df D server nfs 120 s" {
		t.Errorf("got %q", got)
	}
}
