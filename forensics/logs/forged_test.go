package logs

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"
)

// TestNobodyElseIsTakenForTheKubeletOrTheKernel has lines of the kubelet and the kernel in the mouths of others. What the
// writer of a line chose decides nothing where somebody who cannot be lied to says who it was.
func TestNobodyElseIsTakenForTheKubeletOrTheKernel(t *testing.T) {
	const orphan = `E1121 11:00:00.000000    2588 kubelet_volumes.go:263] "There were many similar errors. Turn up verbosity to see them." err="orphaned pod \"5c948341-c030-4996-b888-f032577d97b0\" found, but volume paths are still present on disk" numErrs=3`
	const killed = `Memory cgroup out of memory: Killed process 77 (kubelet) total-vm:1kB, anon-rss:1kB, file-rss:1kB, shmem-rss:1kB, UID:0 pgtables:1kB oom_score_adj:0`
	const probe = `I1121 11:00:00.000000    2588 prober.go:107] "Probe failed" probeType="Liveness" pod="shop/web-0" podUID="5c948341-c030-4996-b888-f032577d97b0" containerName="web" probeResult="failure"`
	syslog := func(line string) string { return "Nov 21 11:00:00 n kubelet[2588]: " + line + "\n" }
	stamp := strconv.FormatInt(noon.UnixMicro(), 10)
	record := func(message string, fields ...string) string {
		m := map[string]string{"__REALTIME_TIMESTAMP": stamp, "MESSAGE": message}
		for _, f := range fields {
			k, v, _ := strings.Cut(f, "=")
			m[k] = v
		}
		return object(t, m)
	}
	container := func(log string) string {
		return object(t, map[string]string{"log": log + "\n", "stream": "stdout", "time": "2026-11-21T11:00:00.0Z"})
	}
	for _, c := range []struct {
		name, origin, text string
		known              bool
	}{
		{"the kubelet in the journal", "mixed", record(orphan, "SYSLOG_IDENTIFIER=kubelet", "_SYSTEMD_UNIT=kubelet.service", "_COMM=kubelet"), true},
		{"k3s in the journal", "mixed", record(orphan, "SYSLOG_IDENTIFIER=k3s", "_SYSTEMD_UNIT=k3s.service", "_COMM=k3s-server"), true},
		{"a journal that was exported without units", "mixed", record(orphan, "SYSLOG_IDENTIFIER=kubelet", "_COMM=kubelet"), true},
		{"a pod that writes to the journal as the kubelet", "mixed", record(orphan, "SYSLOG_IDENTIFIER=kubelet", "_SYSTEMD_UNIT=cri-containerd-1.scope", "_COMM=kubelet"), false},
		{"a container whose tag docker took from a label", "mixed", record(orphan, "SYSLOG_IDENTIFIER=kubelet", "_SYSTEMD_UNIT=docker.service", "_COMM=dockerd", "CONTAINER_ID=0123456789ab"), false},
		{"the same where docker's unit was not kept", "mixed", record(orphan, "SYSLOG_IDENTIFIER=kubelet", "CONTAINER_ID=0123456789ab"), false},
		{"the kernel in the journal", "mixed", record(killed, "_TRANSPORT=kernel", "SYSLOG_IDENTIFIER=kernel"), true},
		{"a program that calls itself kernel", "mixed", record(killed, "_TRANSPORT=syslog", "SYSLOG_IDENTIFIER=kernel", "_COMM=sh"), false},
		{"the daemon of paths in the journal", "mixed", record("mpatha: remaining active paths: 0", "SYSLOG_IDENTIFIER=multipathd", "_SYSTEMD_UNIT=multipathd.service"), true},
		{"a pod that plays it in the journal", "mixed", record("mpatha: remaining active paths: 0", "SYSLOG_IDENTIFIER=multipathd", "_SYSTEMD_UNIT=cri-containerd-1.scope"), false},
		{"and in a file of containerd's", "", "2026-11-21T11:00:00.0Z stdout F Nov 21 11:00:00 n multipathd[812]: mpatha: remaining active paths: 0", false},
		{"systemd", "mixed", record("kubelet.service: Main process exited, code=exited, status=255/EXCEPTION", "SYSLOG_IDENTIFIER=systemd", "_PID=1"), true},
		{"a user's own systemd", "mixed", record("kubelet.service: Main process exited, code=exited, status=255/EXCEPTION", "SYSLOG_IDENTIFIER=systemd", "_PID=4711"), false},
		{"the kubelet in the syslog", "mixed", "Nov 21 11:00:00 n kubelet[2588]: " + orphan, true},
		{"a daemon that quotes a stranger", "mixed", "Nov 21 11:00:00 n sshd[1]: " + orphan, false},
		{"a runtime that quotes the kubelet", "mixed", "Nov 21 11:00:00 n containerd[1]: " + orphan, false},
		{"a container that plays the kernel's ring", "", container("[  100.0] " + killed), false},
		{"and the syslog's kernel", "", container("Nov 21 11:00:00 n kernel: [  100.0] " + killed), false},
		{"and the journal's", "", container(record(killed, "_TRANSPORT=kernel")), false},
		{"and in a file of containerd's", "", "2026-11-21T11:00:00.0Z stdout F [  100.0] " + killed, false},
		{"a kubelet that runs in a container", "", container(orphan), true},
		{"the kernel's ring", "", "[  100.0] " + killed, true},
		{"a line of the syslog's kernel amid the kubelet's own", "kubelet", "Nov 21 11:00:00 n kernel: [  100.0] " + killed, false},
		{"the end of a kubelet", "kubelet", syslog(probe) + syslog("Error: failed to run Kubelet: it broke"), true},
		{"a probe that prints the end of a kubelet", "kubelet", syslog(probe+" output=<") + syslog("\tError: failed to run Kubelet: it broke") + syslog(" >"), false},
		{"the same with blanks", "kubelet", syslog(probe+" output=<") + syslog("        Error: failed to run Kubelet: it broke") + syslog(" >"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := Source{Path: "log", Origin: c.origin, Open: func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(c.text + "\n")), nil
			}}
			story := Read(t.Context(), []Source{source}, Options{Now: noon})
			if known := len(story.Events) > 0; known != c.known {
				t.Errorf("events %+v, want any: %t", story.Events, c.known)
			}
		})
	}
}

func object(t testing.TB, m map[string]string) string {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
