package reach

import (
	"strings"
	"testing"
)

func TestDebug(t *testing.T) {
	ready := rule{Words: []string{"get node node-1"}, Stdout: `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`}
	made := rule{Words: []string{"debug node/node-1", "--profile=sysadmin --image=busybox:1"}, Stderr: "Creating debugging pod node-debugger-node-1-x7z2q with container main on node node-1.\n"}
	started := rule{Words: []string{"wait pod/node-debugger-node-1-x7z2q"}}
	deleted := rule{Words: []string{"delete pod node-debugger-node-1-x7z2q"}, Stdout: "pod \"node-debugger-node-1-x7z2q\" deleted\n"}
	get := rule{Words: []string{"get pod node-debugger-node-1-x7z2q"}, Stdout: asJSON(t, pod("default", "node-debugger-node-1-x7z2q", nil))}
	for name, tt := range map[string]struct {
		rules []rule
		want  string
		left  bool
	}{
		"works":        {rules: []rule{ready, made, started, get, deleted, onNode}},
		"does not run": {rules: []rule{ready, made, {Words: []string{"wait pod/"}, Stderr: "error: timed out waiting for the condition on pods/x\n", Status: 1}, deleted}, want: "did not start"},
		"forbidden":    {rules: []rule{ready, {Words: []string{"debug"}, Stderr: "Creating debugging pod node-debugger-node-1-x7z2q with container main on node node-1.\nError from server (Forbidden): violates PodSecurity\n", Status: 1}}, want: "PodSecurity"},
		"no node":      {rules: []rule{{Words: []string{"get node"}, Stderr: "Error from server (NotFound): nodes \"node-1\" not found\n", Status: 1}}, want: "not found"},
		"not deleted":  {rules: []rule{ready, made, {Words: []string{"wait pod/"}, Status: 1}, {Words: []string{"delete"}, Status: 1}}, want: "did not start", left: true},
	} {
		t.Run(name, func(t *testing.T) {
			o, log := cluster(t, append([]rule{none, forbidden}, tt.rules...)...)
			o.DebugImage = "busybox:1"
			out, result, err := examine(t, o)
			if tt.want == "" && (err != nil || out != examined || !strings.HasPrefix(result.Way, "debug pod")) || tt.want != "" && !strings.Contains(why(result, "kubectl debug")+why(result, "debug pod"), tt.want) {
				t.Errorf("%q %+v %v\n%s", out, result, err, log())
			}
			if strings.Contains(strings.Join(result.Left, " "), "kubectl delete pod") != tt.left || strings.Contains(strings.Join(result.Left, " "), "is being deleted") != (tt.want == "did not start") || strings.Contains(log(), `"debug"`) && tt.want != "PodSecurity" && !strings.Contains(log(), `"delete"`) {
				t.Errorf("left %q\n%s", result.Left, log())
			}
		})
	}
}
