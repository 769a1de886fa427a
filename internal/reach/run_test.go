package reach

import "testing"

func TestBrief(t *testing.T) {
	for words, want := range map[string]string{
		`error: Internal error occurred: error sending request: Post "https://10.99.0.14:10250/exec/nodeforensics/nodeforensics-2fgmb/nodeforensics?command=x&error=1": dial tcp 10.99.0.14:10250: connect: connection refused`: "no answer from the kubelet at 10.99.0.14:10250: connection refused",
		`Error from server: error dialing backend: dial tcp 10.99.0.14:10250: i/o timeout`:                                       "no answer from the kubelet at 10.99.0.14:10250: i/o timeout",
		`Error from server: error dialing backend: remote error: tls: internal error`:                                            "no answer from the kubelet: remote error: tls: internal error",
		`error: Internal error occurred: error sending request: Post "https://node-4:10250/exec/a/b/c": EOF`:                     "no answer from the kubelet at node-4:10250: EOF",
		`Error from server (Forbidden): pods "x" is forbidden: User "eve" cannot create resource "pods/exec" in API group ""`:    `Error from server (Forbidden): pods "x" is forbidden: User "eve" cannot create resource "pods/exec" in API group ""`,
		`an error sending request: Post "https://10.99.0.14:10250/exec": dial tcp 10.99.0.14:10250: connect: connection refused`: `an error sending request: Post "https://10.99.0.14:10250/exec": dial tcp 10.99.0.14:10250: connect: connection refused`,
	} {
		if got := (&failure{status: 1, words: words}).Error(); got != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
}
