package hearsay

import "testing"

func TestHanging(t *testing.T) {
	for line, want := range map[string]string{
		"On one node `df -h` just hangs, ctrl-c does not help":                          "df",
		"到 node 上执行 `df -Th`、`ls /data` 命令直接卡死没有返回，Ctrl+C 也退不出来。":                       "df",
		"执行了下 docker ps,卡住了。":                                                           "docker ps",
		"`ls /mnt/share` never returns":                                                 "ls /mnt/share",
		"docker stop 4f2a never comes back, any idea?":                                  "docker stop",
		"I tried to remove it but crictl rm hangs":                                      "crictl rm",
		"`df` on the node hangs too":                                                    "df",
		"Symptoms: df hangs":                                                            "df",
		"df hängt auf dem Knoten":                                                       "df",
		"df -h shows 97 %, and pods hang in Terminating":                                "", // what hangs is something else
		"If df hangs, look at the NFS server":                                           "",
		"df would hang on a dead mount":                                                 "",
		"df no longer hangs":                                                            "",
		"df does not hang":                                                              "",
		"This is the dump when the hang happens":                                        "",
		"crio status hangs":                                                             "",
		"lsblk: /dev/sdf: not a block device":                                           "",
		"root@node1:~# df -h hangs":                                                     "", // a command, and not a sentence
		"Nov 20 10:00:00 n app[1]: df hangs":                                            "", // which a program has written
		"[ 5000.000000] INFO: task umount:400 blocked for more than 120 s":              "",
		"docker inspect 4f2a hangs":                                                     "", // of one container, not of all
		"kubectl exec web-0 -- ls hangs":                                                "", // in a pod
		"The nightly job ran df. After that the node was rebooted and it hangs no more": "",
	} {
		c, ok := Hanging(line)
		if ok != (want != "") || ok && c.String() != want {
			t.Errorf("%q: %q, want %q", line, c, want)
		}
	}
}

func TestKindsOfText(t *testing.T) {
	for _, c := range []struct {
		name, text            string
		document, more, prose bool
	}{
		{"prose", "One node is sick.\nIts pods stay in Terminating.\n", false, false, true},
		{"a command and its output", "It is sick:\n# df\nnothing\n", false, false, false},
		{"a log", "It is sick:\nNov 20 10:00:00 n kubelet[1]: x\n", false, false, false},
		{"a stack", "It is sick:\n[<0>] rpc_wait_bit_killable+0x1e/0xa0\n", false, true, false},
		{"a runbook", "# Runbook\nIf df hangs, look at the server.\n", true, true, false},
		{"how it ended", "df was stuck. Solved by a reboot.\n", true, true, false},
		{"code", "See this:\n```go\nx := 1\n```\n", true, true, false},
		{"a form of an issue", "**Is this a BUG REPORT or FEATURE REQUEST?**:\ndf hangs\n", false, false, true},
	} {
		text := []byte(c.text)
		if got := IsDocument(text); got != c.document {
			t.Errorf("%s: document %v", c.name, got)
		}
		if got := ShowsMore(text); got != c.more {
			t.Errorf("%s: shows more %v", c.name, got)
		}
		if got := IsProse(text); got != c.prose {
			t.Errorf("%s: prose %v", c.name, got)
		}
	}
}
