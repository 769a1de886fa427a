package kubelet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestServiceCommandLine(t *testing.T) {
	for name, tc := range map[string]struct {
		files []string // the unit, then its drop-ins
		want  []string
	}{
		"plain": {[]string{"[Service]\nExecStart=/usr/bin/kubelet --config=/c\n"}, []string{"/usr/bin/kubelet", "--config=/c"}},
		"kubeadm": {
			[]string{
				"[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\n",
				"[Service]\nEnvironment=\"KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml\" A=1\nExecStart=\nExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_EXTRA_ARGS --x=${A}\n",
			},
			[]string{"/usr/bin/kubelet", "--config=/var/lib/kubelet/config.yaml", "--x=1"},
		},
		"k3s, continued and quoted": {
			[]string{"[Service]\nExecStart=/usr/local/bin/k3s \\\n    server \\\n\t'--kubelet-arg=root-dir=/data/kubelet' \\\n\n"},
			[]string{"/usr/local/bin/k3s", "server", "--kubelet-arg=root-dir=/data/kubelet"},
		},
		"prefix":              {[]string{"ExecStart=-/usr/bin/kubelet\n"}, []string{"/usr/bin/kubelet"}},
		"several words":       {[]string{"Environment='ARGS=--v=2 --port 1'\nExecStart=kubelet $ARGS\n"}, []string{"kubelet", "--v=2", "--port", "1"}},
		"variable in a word":  {[]string{"Environment=R=/x\nExecStart=kubelet --root-dir=$R/y --z=${R}z\n"}, []string{"kubelet", "--root-dir=/x/y", "--z=/xz"}},
		"unknown variable":    {[]string{"ExecStart=kubelet $NONE --a=${NONE}\n"}, []string{"kubelet", "--a="}},
		"no command":          {[]string{"[Service]\nType=notify\n"}, nil},
		"open brace, lone $":  {[]string{"ExecStart=kubelet ${A $ $$ a$\n"}, []string{"kubelet", "", "", "a"}},
		"blanks around equal": {[]string{" ExecStart = kubelet \n"}, []string{"kubelet"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := service{env: map[string]string{}}
			for _, text := range tc.files {
				s.parse(text)
			}
			if diff := cmp.Diff(tc.want, s.commandLine()); diff != "" {
				t.Errorf("command line (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzService(f *testing.F) {
	f.Add("[Service]\nEnvironment=A=1\nExecStart=kubelet $A ${A} '$A' \\\n x\n")
	f.Fuzz(func(t *testing.T, text string) {
		s := service{env: map[string]string{}}
		s.parse(text)
		for _, word := range s.commandLine() {
			if len(word) > len(text)*len(text)+1 {
				t.Errorf("a word of %d bytes from %d", len(word), len(text))
			}
		}
	})
}
