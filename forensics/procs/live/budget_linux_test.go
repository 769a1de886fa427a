package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestManyLongCommandLines lets a pod's processes be many that have long command lines, in words that are long or short: what
// is kept of them is bounded, that they were cut is said, and the kubelet, which has a higher pid, keeps its flags.
func TestManyLongCommandLines(t *testing.T) {
	const number, kubelet = 250, 1000
	flags := []string{"kubelet", "--root-dir=" + strings.Repeat("/deep", 1000), "--v=2"}
	for name, word := range map[string]string{"long words": strings.Repeat("key=", 8000), "short words": "k"} {
		t.Run(name, func(t *testing.T) {
			tr := machineFiles().add(kubelet, kubelet, running("0::/system.slice/kubelet.service\n", flags))
			words := slices.Repeat([]string{word}, limitCommand/(len(word)+1)+1)
			for pid := 20; pid < 20+number; pid++ {
				tr.add(pid, pid, running("0::/kubepods.slice/kubepods-pod9cda187a_7fb3_11ea_80b3_246e968d4b38.slice\n", words))
			}
			fsys, _ := tr.open(t)
			snap := collect(t, fsys, Options{})
			kept := 0
			for _, p := range snap.Processes[:number] {
				for _, w := range p.Command {
					kept += len(w) + wordCost
				}
			}
			if last := snap.Processes[number-1]; kept > middleKept+2*wordCost*limitCommand || last.CommandError == "" {
				t.Errorf("%d bytes of command lines were kept, the last error is %q", kept, last.CommandError)
			}
			if len(snap.Problems) != 1 || !strings.Contains(fmt.Sprint(snap.Problems), "command lines") {
				t.Errorf("problems %v, want that command lines were cut", snap.Problems)
			}
			if got := snap.Processes[number]; !slices.Equal(got.Command, flags) || got.CommandError != "" {
				t.Errorf("the kubelet has %d words, %s", len(got.Command), got.CommandError)
			}
		})
	}
}

// TestACutCommandLineEndsWithAWord leaves no half of a word.
func TestACutCommandLineEndsWithAWord(t *testing.T) {
	words := []string{"a", strings.Repeat("b", limitCommand), "c"}
	fsys, _ := machineFiles().add(20, 20, running("0::/x\n", words)).open(t)
	if got := collect(t, fsys, Options{}).Processes[0]; !slices.Equal(got.Command, words[:1]) || got.CommandError == "" {
		t.Errorf("%d words, error %q; want one, and that there are more", len(got.Command), got.CommandError)
	}
}

// running are the files of a process that waits for nothing.
func running(cgroup string, words []string) tree {
	return tree{
		"stat": stat(20, "x", "S", 0, 1, 5), "status": counts, "wchan": "ep_poll", "cgroup": cgroup,
		"cmdline": strings.Join(words, "\x00") + "\x00",
	}
}
