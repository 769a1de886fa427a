package pasted

import (
	"strings"
	"testing"
)

// BenchmarkClean has a text that is as long as one that is put right at most, and in which each line needs a look at others.
func BenchmarkClean(b *testing.B) {
	for name, line := range map[string]string{
		"cut headers":   "12] Abc def ghi\n",
		"numbered":      "41:Jul 08 17:20:51 m1 kubelet[11027]: E0708 17:20:51.401738   11027 reflector.go:126] x\n",
		"rows of tasks": "[208114.551302] [ 4981]     0  4981    76292      371      58        0             0 tuned\n",
		"Talos":         " user: warning: [2025-11-02T19:12:41.830Z]: [talos] controller failed {\"error\": \"stat /etc/x- \n kubelet: input/output error\"}   \n",
		"sentences":     "The node is not ready, and `docker ps` works.\n",
	} {
		text := []byte(strings.Repeat(line, MaxSize/len(line)))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Clean(text)
			}
		})
	}
}
