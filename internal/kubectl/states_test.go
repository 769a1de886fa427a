package kubectl

import "testing"

// TestStates has what shows that a trouble is over, and what looks like it.
func TestStates(t *testing.T) {
	const status = "● kubelet.service - kubelet: The Kubernetes Node Agent\n     Loaded: loaded (/lib/systemd/system/kubelet.service; enabled)\n"
	const shown, loop = "# systemctl show kubelet -p NRestarts,ActiveState,SubState\n", "NRestarts=611\nActiveState=activating\nSubState=auto-restart\n"
	for _, c := range []struct{ name, text, want string }{
		{"a kubelet that ends again and again", shown + loop, kubeletRestarts},
		{"a thin pool", "# lvs -a\n  thinpool         vg   twi-aot-D- 60.00g             **100.00** 0.17\n", thinPoolFull},
		{"a thin pool of another", "  pool vg twi-aotz-- 60.00g 99.71 4.10\n", thinPoolFull},
		{"a thin pool with space", "  pool vg twi-aotz-- 60.00g 95.10 4.10\n", ""},
		{"a thick volume", "  lv vg -wi-ao---- 60.00g 100.00\n", ""},
		{"a pool of docker", " Data Space Total: 64.42GB\n **Data Space Available: 0B**\n", thinPoolFull},
		{"a pool of docker with space", " Data Space Available: 0.2GB\n", ""},
		{"it has failed", "$ sudo systemctl --no-pager show kubelet.service\nNRestarts=5\nResult=start-limit-hit\nActiveState=failed\nSubState=failed\n", kubeletRestarts},
		{"named by its properties", "Id=k3s-agent.service\n" + loop, kubeletRestarts},
		{"it runs now", shown + "NRestarts=611\nActiveState=active\nSubState=running\n", ""},
		{"it never was", shown + "NRestarts=0\nActiveState=activating\nSubState=auto-restart\n", ""},
		{"another unit does", "# systemctl show containerd\n" + loop, ""},
		{"no unit is named", loop, ""},
		{"of another block", shown + "NRestarts=611\n\nSubState=auto-restart\n", ""},
		{"active", status + "     Active: active (running) since Sun 2022-02-06 10:14:11 UTC; 21min ago\n", kubeletRuns},
		{"for a day", status + "     Active: active (running) since Sun 2022-02-06 10:14:11 UTC; 1 day 2h ago\n", kubeletRuns},
		{"for weeks", status + "   Active: active (running) since Sun 2022-02-06 10:14:11 CET; 2 weeks 3 days ago\n", kubeletRuns},
		{"of k3s", "● k3s-agent.service - Lightweight Kubernetes\n   Active: active (running) since Sun 2022-02-06 10:14:11 CET; 1min 30s ago\n", kubeletRuns},
		{"between two starts of a loop", status + "     Active: active (running) since Sun 2022-02-06 10:14:11 UTC; 8s ago\n", ""},
		{"a start that goes on", status + "     Active: activating (auto-restart) (Result: exit-code) since Sun 2022-02-06 10:14:11 UTC; 2min ago\n", ""},
		{"of the runtime", status + "\n● containerd.service - containerd container runtime\n     Active: active (running) since Sun 2022-02-06 10:14:11 UTC; 21min ago\n", ""},
		{"of no unit", "     Active: active (running) since Sun 2022-02-06 10:14:11 UTC; 21min ago\n", ""},
		{"no mount is left, counted", "# grep -c nfs /proc/mounts\n0\n", noMount},
		{"no mount is left, listed", "root@n1:~# mount | grep nfs4\nroot@n1:~# uptime\n", noMount},
		{"of findmnt", "$ findmnt -t nfs,nfs4\n$ \n", noMount},
		{"mounts are left", "# grep -c nfs /proc/mounts\n3\n", ""},
		{"a list", "# mount | grep nfs\n10.0.0.5:/x on /mnt type nfs (rw)\n# \n", ""},
		{"an answer that was not copied", "# mount | grep nfs\n\nthis hangs\n", ""},
		{"a command that was not answered", "# mount | grep nfs\n", ""},
		{"a runtime that does not answer", "sh-5.1# timeout 30 ctr -n k8s.io task ls; echo rc=$?\nrc=124\n", runtimeSilent},
		{"a client that was killed", "# timeout -s KILL 60 docker info\nKilled\n", runtimeSilent},
		{"what a probe of a pod said", "E1124 10:00:00.000000    1200 prober.go:107] \"Probe failed\" output=<\n\t$ timeout 30 crictl ps\n\t124\n >\n", ""},
		{"a runtime that answers", "# timeout 10 crictl ps; echo $?\n0\n", ""},
		{"a client that follows a log", "# timeout 30 docker logs -f shop; echo $?\n124\n", ""},
		{"a client with no patience", "# timeout 2 crictl ps; echo $?\n124\n", ""},
		{"what is left out of a list", "# mount | grep -v nfs\n# \n", ""},
	} {
		reason := ""
		for _, e := range events(t, c.text) {
			reason = e.Reason
		}
		if reason != c.want {
			t.Errorf("%s: %q, want %q", c.name, reason, c.want)
		}
	}
}
