//go:build unix

package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeKubectl is a command that answers as kubectl does, for a cluster whose nodes have a pod of the DaemonSet each; cases of a shell
// decide what an examination in the pod nf-NODE prints. "$D" is its directory, "$P" the pod; calls are in "$D/calls".
func fakeKubectl(t testing.TB, nodes []string, examination string) (name, dir string) {
	t.Helper()
	dir = t.TempDir()
	var pods, list []any
	for _, node := range nodes {
		list = append(list, map[string]any{"kind": "Node", "metadata": map[string]any{"name": node, "labels": map[string]any{"topology.kubernetes.io/zone": "a"}}})
		pods = append(pods, map[string]any{
			"metadata": map[string]any{"name": "nf-" + node, "namespace": "nodeforensics"},
			"spec":     map[string]any{"nodeName": node, "hostPID": true, "containers": []any{map[string]any{"name": "main", "securityContext": map[string]any{"privileged": true}}}},
			"status":   map[string]any{"phase": "Running", "containerStatuses": []any{map[string]any{"name": "main", "state": map[string]any{"running": map[string]any{}}}}},
		})
	}
	for name, items := range map[string][]any{"nodes": list, "pods": pods} {
		text, err := json.Marshal(map[string]any{"kind": "List", "items": items})
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".json"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	pack(t, "../../report/testdata/hung-mount.json", filepath.Join(dir, "report.gz"))
	script := "#!/bin/sh\nD=" + dir + `
echo "$*" >> $D/calls
case "$*" in
*"get nodes"*) cat $D/nodes.json; exit;;
*"get pods --namespace=nodeforensics"*) cat $D/pods.json; exit;;
*" -- /nodeforensics version") exit;;
*" -- /nodeforensics "*) P=$(echo "$*" | sed 's/.* nf-\([^ ]*\) -- .*/\1/');;
esac
case "$P" in
` + examination + `
esac
echo "error: unknown call: $*" >&2
exit 1
`
	name = filepath.Join(dir, "kubectl")
	if err := os.WriteFile(name, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return name, dir
}

// pack compresses a file.
func pack(t testing.TB, from, to string) {
	t.Helper()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	w := gzip.NewWriter(out)
	if _, err := io.WriteString(w, readFile(t, from)); err != nil || w.Close() != nil || out.Close() != nil {
		t.Fatal(err)
	}
}

const sends = `*) cat $D/report.gz; exit;;`

// TestNode wants what "render" shows of the same report, and the files.
func TestNode(t *testing.T) {
	t.Parallel()
	kubectl, _ := fakeKubectl(t, []string{"worker-7"}, sends)
	want := finish(t, command(t, "render", "-o", "text", abs(t, "../../report/testdata/hung-mount.json")))
	o := examine(t, exitFinding, "node", "worker-7", "--kubectl", kubectl, "--fail-on", "critical")
	before, _, _ := strings.Cut(want.stdout, "\nReport")
	if !strings.Contains(o.stdout, strings.TrimSpace(before)) || !strings.Contains(o.stderr, "examined by way of: DaemonSet, pod nodeforensics/nf-worker-7") {
		t.Errorf("%s%s", o.stdout, o.stderr)
	}
	if files, _ := filepath.Glob(filepath.Join(o.dir, "nodeforensics-*")); len(files) != 2 {
		t.Errorf("files: %q", files)
	}
}

// Ssh is proposed only where it was not given.
func TestNodeProposesSSHOnce(t *testing.T) {
	t.Parallel()
	kubectl, _ := fakeKubectl(t, []string{"worker-7"}, `nf-worker-7) exit 1;;`)
	for ssh, want := range map[string]bool{"": true, "false {node}": false} {
		o := examine(t, exitFailed, "node", "worker-7", "--no-debug", "--kubectl", kubectl, "--ssh", ssh)
		if strings.Contains(o.stderr, "--ssh 'ssh {node} sudo'") != want {
			t.Errorf("--ssh %q: it says\n%s", ssh, o.stderr)
		}
	}
}

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNodePlugin runs the program under the name that kubectl looks for.
func TestNodePlugin(t *testing.T) {
	t.Parallel()
	kubectl, _ := fakeKubectl(t, []string{"node-1"}, sends)
	plugin := filepath.Join(t.TempDir(), pluginName)
	if err := os.Symlink(program(t, programName), plugin); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"node-1", "--kubectl", kubectl, "-o", "markdown"}, exitDone, "CephFS"},
		{[]string{"--kubectl", kubectl, "-q", "node-1", "-o", "text"}, exitDone, "CephFS"},
		{[]string{"version"}, exitDone, "nodeforensics "},
		{[]string{"--version"}, exitDone, "nodeforensics "},
		{[]string{"checks", "mount-hung"}, exitDone, "mount-hung"},
		{[]string{"--help"}, exitDone, "--via"},
		{nil, exitUsage, "want one, or --all"},
	} {
		cmd := command(t, tt.args...)
		cmd.Path, cmd.Args[0] = plugin, plugin
		if o := finish(t, cmd); o.status != tt.status || !strings.Contains(o.stdout+o.stderr, tt.want) {
			t.Errorf("%q: exit status %d\n%s%s", tt.args, o.status, o.stdout, o.stderr)
		}
	}
}

// TestNodeSendsItself has the program sent through a shell of "the node", which is this machine, and examines it.
func TestNodeSendsItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ssh := filepath.Join(dir, "ssh")
	if err := os.WriteFile(ssh, []byte("#!/bin/sh\n[ \"$1\" = node-1 ] || exit 255\nshift\necho \"$*\" >> "+dir+"/calls\nexec sh -c \"$*\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := finish(t, command(t, "node", "node-1", "--kubectl", "no-such-kubectl", "--ssh", ssh+" {node}", "-o", "json", "--", "--no-logs", "--no-probe"))
	var r struct {
		Schema string `json:"schema"`
		Tool   struct {
			Command []string `json:"command"`
		} `json:"tool"`
	}
	if err := json.Unmarshal([]byte(o.stdout), &r); o.status != exitDone || err != nil || !slices.Contains(r.Tool.Command, "--no-logs") {
		t.Fatalf("exit status %d: %v %.300s %s", o.status, err, o.stdout, o.stderr)
	}
	calls := readFile(t, filepath.Join(dir, "calls"))
	_, place, _ := strings.Cut(calls, "t=")
	place, _, _ = strings.Cut(place[strings.Index(place, "t=/"):], ";")
	place = strings.TrimPrefix(place, "t=")
	if _, err := os.Lstat(place); !strings.Contains(place, "/nodeforensics-") || !os.IsNotExist(err) {
		t.Errorf("%q: %v\n%s", place, err, calls)
	}
}

// TestNodeHostile: what a node sends costs only that node.
func TestNodeHostile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ sends, want string }{
		"no JSON":         {`*) echo "<html>hello` + "\x1b[31m" + `"; exit;;`, "not compressed JSON"},
		"broken JSON":     {`*) echo '{"schema": "nodeforensics.report/v2", "findings": [' | gzip -c; exit;;`, "EOF"},
		"another schema":  {`*) echo '{"schema": "nodeforensics.report/v9"}' | gzip -c; exit;;`, "nodeforensics.report/v9"},
		"cut":             {`*) head -c 1000 $D/report.gz; exit;;`, "EOF"},
		"endless":         {`*) cat /dev/zero; exit;;`, "too much output"},
		"a bomb":          {`*) (printf '{"schema":"'; head -c 100000000 /dev/zero | tr '\0' x) | gzip -1 -c; exit;;`, "too large"},
		"no output":       {`*) exit;;`, "there was no output"},
		"killed":          {`*) echo "nodeforensics: evil` + "\x1b[31m" + `" >&2; echo "command terminated with exit code 137" >&2; exit 137;;`, "evil"},
		"a long message":  {`*) head -c 3000000 /dev/zero | tr '\0' y >&2; exit 1;;`, "yyyy"},
		"another version": {`*) echo "nodeforensics: unknown flag: --gzip" >&2; echo "See: nodeforensics --help" >&2; exit 2;;`, "unknown flag"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kubectl, _ := fakeKubectl(t, []string{"node-1"}, tt.sends)
			o := finish(t, command(t, "node", "node-1", "--kubectl", kubectl, "--no-debug", "--timeout", "1m"))
			if o.status != exitFailed || !strings.Contains(o.stderr, tt.want) || len(o.stderr) > 20_000 {
				t.Errorf("exit status %d: %.1000s%.2000s", o.status, o.stdout, o.stderr)
			}
			checkTerminal(t, o.stderr)
		})
	}
}

// TestNodeNames: no command is started for what cannot be a node.
func TestNodeNames(t *testing.T) {
	t.Parallel()
	kubectl, dir := fakeKubectl(t, []string{"node-1"}, sends)
	for _, args := range [][]string{
		{"node-1; reboot"},
		{"$(reboot)"},
		{"--", "-x"},
		{"node-1", "--via", "a;b/c"},
		{"node-1", "--ssh", "ssh host"},
		{"node-1", "--ssh", "ssh '{node}"},
		{"node-1", "--kubectl", ""},
		{"node-1", "--", "$(reboot)"},
		{"node-1", "--timeout", "1s"},
		{"node-1", "--all"},
		{"--all", "--via", "a/b"},
		{"--selector", "--kubeconfig=/x"},
	} {
		if o := finish(t, command(t, append([]string{"node", "--kubectl", kubectl}, args...)...)); o.status != exitUsage {
			t.Errorf("%q: exit status %d: %s", args, o.status, o.stderr)
		}
	}
	if calls, err := os.ReadFile(filepath.Join(dir, "calls")); err == nil {
		t.Errorf("called: %s", calls)
	}
}

// TestNodeInterrupted ends while an examination hangs, with all that it has started.
func TestNodeInterrupted(t *testing.T) {
	t.Parallel()
	kubectl, dir := fakeKubectl(t, []string{"node-1"}, `*) echo $$ > $D/pid; sleep 600; exit;;`)
	cmd := command(t, "node", "node-1", "--kubectl", kubectl)
	wait := start(t, cmd)
	pid := waitForPID(t, filepath.Join(dir, "pid"))
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if o := wait(); o.status != exitFailed || !strings.Contains(o.stderr, "interrupted") || o.took > 30*time.Second {
		t.Errorf("exit status %d after %v: %s", o.status, o.took, o.stderr)
	}
	for range 100 {
		if syscall.Kill(-pid, 0) != nil {
			return
		}
		time.Sleep(100 * time.Millisecond) // process 1 reaps it
	}
	t.Errorf("process group %d is left behind", pid)
}

func waitForPID(t *testing.T, name string) (pid int) {
	t.Helper()
	for range 300 {
		if text, err := os.ReadFile(name); err == nil {
			if _, err := fmt.Sscan(string(text), &pid); err == nil {
				return pid
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s has not been written", name)
	return 0
}

// TestAllNodes examines 60 nodes, more than at a time, of which some hang, some refuse and one sends nonsense; then those that failed once more.
func TestAllNodes(t *testing.T) {
	t.Parallel()
	var nodes []string
	for i := range 60 {
		nodes = append(nodes, fmt.Sprintf("node-%d", i))
	}
	kubectl, dir := fakeKubectl(t, nodes, `node-7|node-27|node-57) [ -e $D/healed ] || sleep 600; cat $D/report.gz; exit;;
node-42) [ -e $D/healed ] || { echo "Error from server (Forbidden): pods is forbidden" >&2; exit 1; }; cat $D/report.gz; exit;;
node-49) [ -e $D/healed ] || { echo garbage; exit; }; cat $D/report.gz; exit;;
node-5) [ -e $D/once ] && cat $D/report.gz; touch $D/once; exit;;
`+sends)
	out := filepath.Join(dir, "out")
	args := []string{"node", "--all", "--kubectl", kubectl, "--output-dir", out, "--timeout", "5s", "--parallel", "16"}
	o := finish(t, command(t, args...))
	if o.status != exitFailed || !strings.Contains(o.stderr, "55 of 60 nodes examined") {
		t.Fatalf("exit status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	var list missing
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(out, notExaminedName))), &list); err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{"node-57": "timed out", "node-42": "Forbidden", "node-7": "timed out", "node-27": "timed out", "node-49": "not compressed JSON"}
	for _, n := range list.NotExamined {
		if want := reasons[n.Node]; want == "" || !strings.Contains(n.Reason, want) || !strings.Contains(o.stdout, n.Node) {
			t.Errorf("%s: %q, want %q", n.Node, n.Reason, want)
		}
		delete(reasons, n.Node)
	}
	if len(reasons) > 0 {
		t.Errorf("not listed: %v", reasons)
	}
	if o.took > 2*time.Minute {
		t.Errorf("it took %v", o.took)
	}
	for _, f := range []string{"node-5.json", "node-5.html", "node-59.json"} {
		if len(readFile(t, filepath.Join(out, f))) == 0 {
			t.Errorf("%s is empty", f)
		}
	}
	if text := readFile(t, filepath.Join(out, "node-5.json")); !strings.Contains(text[:4000], `"name": "node-5"`) {
		t.Errorf("the report has another name: %s", text[:4000])
	}
	if page, _ := filepath.Glob(filepath.Join(out, "nodeforensics-fleet-*.html")); len(page) != 1 || !strings.Contains(readFile(t, page[0]), "node-57") {
		t.Errorf("summaries: %q", page)
	}
	for _, f := range []string{"calls", "once", "healed"} {
		_ = os.WriteFile(filepath.Join(dir, f), nil, 0o600)
	}
	again := finish(t, command(t, args...))
	if again.status != exitDone || !strings.Contains(again.stderr, "60 of 60 nodes examined") || !strings.Contains(again.stderr, "55 of 60 nodes already in") {
		t.Errorf("exit status %d\n%s%s", again.status, again.stdout, again.stderr)
	}
	if n := strings.Count(readFile(t, filepath.Join(dir, "calls")), "--gzip"); n != 5 {
		t.Errorf("%d examinations the second time", n)
	}
}

// BenchmarkAllNodes examines 5,000 nodes by way of a kubectl that answers at once; the peak is that of the largest process.
func BenchmarkAllNodes(b *testing.B) {
	const count = 5000
	nodes := make([]string, count)
	for i := range nodes {
		nodes[i] = fmt.Sprintf("node-%d", i)
	}
	kubectl, dir := fakeKubectl(b, nodes, sends)
	for b.Loop() {
		cmd := exec.Command(program(b, programName), "node", "--all", "--kubectl", kubectl, "--output-dir", filepath.Join(dir, "out"))
		if o := finish(b, cmd); o.status != exitDone || !strings.Contains(o.stderr, "5000 of 5000 nodes examined") {
			b.Fatalf("exit status %d\n%.2000s", o.status, o.stderr)
		}
		b.ReportMetric(float64(peakMemory(cmd.ProcessState))/(1<<20), "MiB-peak")
		b.ReportMetric((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), "cpu-s")
	}
}

// TestNodesOfAFile takes names from standard input, and a node that is no node of the cluster.
func TestNodesOfAFile(t *testing.T) {
	t.Parallel()
	kubectl, dir := fakeKubectl(t, []string{"node-1", "node-2"}, sends)
	cmd := command(t, "node", "--nodes", "-", "--kubectl", kubectl, "--output-dir", filepath.Join(dir, "out"))
	cmd.Stdin = strings.NewReader("# those of one rack\nnode-1\nnode/node-1\n\nnode-3\n")
	o := finish(t, cmd)
	if o.status != exitFailed || !strings.Contains(o.stderr, "1 of 2 nodes examined") || !strings.Contains(o.stdout, "node-3: DaemonSet: no pod of nodeforensics runs") {
		t.Errorf("exit status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
}

func TestWordsOfACommand(t *testing.T) {
	for command, want := range map[string]string{
		"ssh {node} sudo":               `["ssh" "{node}" "sudo"]`,
		`ssh -o "ProxyCommand=x y" 'a'`: `["ssh" "-o" "ProxyCommand=x y" "a"]`,
		"  ":                            `[]`,
		`'' x`:                          `["" "x"]`,
		"a$b;c|d":                       `["a$b;c|d"]`,
	} {
		if got, err := words(command); err != nil || fmt.Sprintf("%q", got) != want {
			t.Errorf("%q: %q %v, want %s", command, got, err, want)
		}
	}
	if _, err := words("a 'b"); err == nil {
		t.Error("a quote that is not closed is taken")
	}
}
