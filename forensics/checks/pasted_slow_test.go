package checks

import (
	"strings"
	"testing"
)

// TestSlowInText judges what time(1), strace(1), /proc/PID/status and records of the journal without times show.
func TestSlowInText(t *testing.T) {
	const at = "/var/lib/kubelet/pods/1f8d9f6e-3c0b-4ad0-8a3c-1f3d1b7f60aa/volumes/kubernetes.io~nfs/v"
	const record = `{"PRIORITY":"3","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"INFO: task etcd:20714 blocked for more than 122 seconds."}` + "\n"
	const stack = "# cat /proc/71/stack\n[<0>] jbd2_log_wait_commit+0xb0/0x130\n[<0>] ext4_sync_file+0xe0/0x370\n"
	for _, tt := range []struct{ name, text, id, says string }{
		{"ls takes long", "$ time ls " + at + "\na b\n\nreal\t0m41.377s\nuser\t0m0.0s\nsys\t0m0.0s\n", "mount-slow", "after 41 s"},
		{"ls does not", "$ time ls " + at + "\na b\n\nreal\t0m0.377s\nuser\t0m0.0s\nsys\t0m0.0s\n", "", ""},
		{"a call that has not returned", `statfs("` + at + "\",\n^C\n", "mount-hung", "statfs has not returned"},
		{"a call that has", `statfs("` + at + `", {f_type=0x6969}) = 0` + "\n^C\n", "", ""},
		{"a pending SIGKILL", "# cat /proc/71/status\nName:\tmysqld\nState:\tD (disk sleep)\nShdPnd:\t0000000000000100\n" + stack, "thread-blocked", "mysqld (pid 71)"},
		{"no SIGKILL", "# cat /proc/71/status\nName:\tmysqld\nState:\tD (disk sleep)\nShdPnd:\t0000000000000000\n" + stack, "", ""},
		{"a record of the journal", record, "kernel-hung-task", "etcd"},
		{"a container's record", strings.Replace(record, "kernel", "app", 1), "", ""},
	} {
		all := judgePasted(t, tt.text).Findings
		if tt.id == "" && len(all) > 0 || tt.id != "" && (len(all) == 0 || all[0].ID != tt.id || !strings.Contains(all[0].Title, tt.says)) {
			t.Errorf("%s: %+v", tt.name, all)
		}
	}
}
