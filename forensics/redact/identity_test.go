package redact_test

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/redact"
)

func TestIdentities(t *testing.T) {
	learn := func(key string) *redact.Identities {
		names := redact.New([]byte(key)).Identities("ceph")
		names.Learn(redact.Host, "worker-7.dc1.example")
		names.Learn(redact.Namespace, "shop")
		names.Learn(redact.Namespace, "ceph")
		names.Learn(redact.Pod, "mysql-0")
		names.Learn(redact.Pod, "mysql-01")
		names.Learn(redact.Pod, "osd-0")
		return names
	}
	for name, tt := range map[string]struct {
		in   string
		gone []string
		stay []string
	}{
		"IPv4":                       {"dial tcp 10.1.2.3:10250: i/o timeout", []string{"10.1.2.3"}, []string{":10250: i/o timeout"}},
		"IPv4 at the end of words":   {"from 10.1.2.3.", []string{"10.1.2.3"}, []string{"from ip-"}},
		"IPv4 behind an equals sign": {"addr=10.1.2.3,vers=4.2", []string{"10.1.2.3"}, []string{"vers=4.2"}},
		"IPv6":                       {"https://[fd00:1::17]:10250/healthz", []string{"fd00:1::17"}, []string{"https://[ip-", "]:10250/healthz"}},
		"IPv6 alone":                 {"addr fd00:1::17 is down", []string{"fd00:1::17"}, []string{" is down"}},
		"IPv4 in IPv6":               {"::ffff:10.1.2.3", []string{"10.1.2.3"}, nil},
		"an escaped line before":     {`x\n10.1.2.3\nshop`, []string{"10.1.2.3", "shop"}, nil},
		"an escaped slash before":    {`q=%2Fshop%2Fmysql-0`, []string{"shop", "mysql"}, []string{"%2F"}},
		"an address in a host name":  {"ip-10-1-2-3 is ready", []string{"10-1-2-3"}, []string{"is ready"}},
		"a field of Go":              {"{HostIP:10.1.2.3 PodIPs:[10.1.2.4]} map[ip:10.1.2.5]", []string{"10.1.2.3", "10.1.2.4", "10.1.2.5"}, []string{"{HostIP:ip-", "map[ip:ip-"}},
		"a file name":                {"file-10.1.2.3.log eth0_10.1.2.3", []string{"10.1.2.3"}, []string{"file-", ".log", "eth0_"}},
		"a host of its address":      {"host-10-1-2-3 node-10-1-2-3 10-1-2-3.x.pod web.10-1-2-3", []string{"10-1-2-3 ", "10-1-2-3."}, []string{".x.pod"}},
		"a service":                  {"web.store.svc:443", []string{"store"}, []string{":443"}},
		"a host name":                {"node worker-7.dc1.example and worker-7", []string{"worker-7", "dc1"}, nil},
		"upper case":                 {"WORKER-7", []string{"WORKER"}, nil},
		"a host name by its shape":   {"connect to api.prod.corp.com:6443", []string{"api.prod", "corp"}, []string{":6443"}},
		"a registry":                 {"registry.prod.corp.net/app@sha256:0123456789abcdef", []string{"prod", "corp"}, []string{"/app@sha256:0123456789abcdef"}},
		"a volume of a StatefulSet":  {"data-mysql-0", []string{"mysql"}, []string{"data-pod-"}},
		"the longer name":            {"mysql-01", []string{"mysql"}, nil},
		"a path of logs":             {"/var/log/pods/shop_mysql-0_5c94cb01-1d2e-4f6b-9b5e-2a7a4c1de201/", []string{"shop", "mysql"}, []string{"_5c94cb01-1d2e-4f6b-9b5e-2a7a4c1de201/"}},
		"a unit of systemd":          {`run-mysql\x2d0.mount`, []string{"mysql"}, []string{".mount"}},
		"an ambiguous namespace":     {"ceph/osd-0 on ceph", []string{"ceph/", "osd"}, []string{" on ceph"}},

		"loopback":          {"http://127.0.0.1:10248 http://[::1]:10248 0.0.0.0:80 [::]:80", nil, []string{"127.0.0.1", "::1", "0.0.0.0", "[::]:80"}},
		"a version":         {"Linux 6.18.5 v1.34.4 libc.so.6 20.10.7", nil, []string{"6.18.5", "v1.34.4", "libc.so.6", "20.10.7"}},
		"a time":            {"10:46:12 2026-11-20T10:46:12Z", nil, []string{"10:46:12 2026-11-20T10:46:12Z"}},
		"a date and time":   {"2026-11-21-10 backup-2026-11-21 1-2-3 1-2-3-4-5 127-0-0-1", nil, []string{"2026-11-21-10", "1-2-3"}},
		"a package":         {"bash-5.2.15-2 linux-5.10.0.28.1 kernel-3.10.0-1160", nil, []string{"bash-5.2.15-2"}},
		"a device":          {"0:46 259:1 00:1f.2", nil, []string{"0:46 259:1 00:1f.2"}},
		"a UID":             {"5c94cb01-1d2e-4f6b-9b5e-2a7a4c1de201", nil, []string{"5c94cb01-1d2e-4f6b-9b5e-2a7a4c1de201"}},
		"a driver":          {"nfs.csi.k8s.io rook-ceph.rbd.csi.ceph.com", nil, []string{"nfs.csi.k8s.io rook-ceph.rbd.csi.ceph.com"}},
		"a module":          {"k8s.io/kubernetes/pkg/kubelet kubernetes.io~csi", nil, []string{"k8s.io/kubernetes/pkg/kubelet kubernetes.io~csi"}},
		"a part of a word":  {"workshop bishop shopping", nil, []string{"workshop bishop shopping"}},
		"a container id":    {"cri-containerd-0123456789abcdef.scope", nil, []string{"cri-containerd-0123456789abcdef.scope"}},
		"a namespace of C":  {"std::face::x", nil, []string{"std::face::x"}},
		"nothing":           {"", nil, nil},
		"only a backslash":  {`\`, nil, []string{`\`}},
		"only a percent":    {`100%`, nil, []string{`100%`}},
		"an end in an atom": {`a-`, nil, []string{`a-`}},
	} {
		t.Run(name, func(t *testing.T) {
			names := learn("key")
			got := names.Text("test", tt.in)
			for _, s := range tt.gone {
				if strings.Contains(got, s) {
					t.Errorf("%q is left of %q: %q", s, tt.in, got)
				}
			}
			for _, s := range tt.stay {
				if !strings.Contains(got, s) {
					t.Errorf("%q is gone from %q: %q", s, tt.in, got)
				}
			}
			if len(tt.gone) == 0 && got != tt.in {
				t.Errorf("%q became %q", tt.in, got)
			}
			if again := names.Text("test", got); again != got {
				t.Errorf("a second time: %q, %q", got, again)
			}
			if len(tt.gone) > 0 && learn("other").Text("test", tt.in) == got {
				t.Error("another key gives the same placeholder")
			}
		})
	}
}

func TestIdentitiesAreConsistent(t *testing.T) {
	r := redact.New([]byte("key"))
	names := r.Identities("kubelet")
	names.Learn(redact.Namespace, "shop")
	names.Learn(redact.Pod, "mysql-0")
	ns, pod := names.Name("pods", redact.Namespace, "shop"), names.Name("pods", redact.Pod, "mysql-0")
	if got, want := names.Text("logs", "pod shop/mysql-0: mysql-0 10.1.2.3 10.1.2.3 10.1.2.4"), "pod "+ns+"/"+pod+": "+pod+" "; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q…", got, want)
	}
	a, b := names.Text("logs", "10.1.2.3"), names.Text("logs", "10.1.2.4")
	if a == b || !strings.HasPrefix(a, "ip-") {
		t.Errorf("addresses: %q, %q", a, b)
	}
	if got := names.Name("pods", redact.Pod, "kubelet"); !strings.HasPrefix(got, "pod-") {
		t.Errorf("a pod called like a word that is kept: %q", got)
	}
	if got := names.Name("pods", redact.Namespace, "kube-system"); got != "kube-system" {
		t.Errorf("a namespace that all have: %q", got)
	}
	count := 0
	for _, e := range r.Ledger() {
		count += e.Count
	}
	if count != 11 {
		t.Errorf("the ledger counts %d: %v", count, r.Ledger())
	}
}

func TestIdentitiesRead(t *testing.T) {
	for text, want := range map[string]string{
		`E0102 kubelet_volumes.go:263] "orphaned" pod="zebra/quagga-0"`:                    "zebra quagga-0",
		`SyncLoop (DELETE, "api"): "quagga-0_zebra(5c94cb01-1d2e-4f6b-9b5e-2a7a4c1de201)"`: "zebra quagga-0",
		`{"msg":"x","pod":{"name":"n","namespace":"zebra"}}`:                               "zebra",
		`"pods=["zebra/quagga-0","b/c"]`:                                                   "zebra quagga-0",
		`/var/log/containers/quagga-0_zebra_main-0123.log`:                                 "zebra quagga-0",
		`k8s_main_quagga-0_zebra_5c94cb01-1d2e-4f6b-9b5e-2a7a4c1de201_0`:                   "zebra quagga-0",
		`Get "https://quagga:6443/api/v1/namespaces/zebra/pods/okapi-1"`:                   "quagga zebra okapi-1",
		`lookup quagga on 10.0.0.1:53: no such host`:                                       "quagga",
		`User "system:node:quagga" cannot get`:                                             "quagga",
		`system:serviceaccount:zebra:default`:                                              "zebra",
		`nfs: server quagga not responding`:                                                "quagga",
		`sshfs bob@quagga:/home`:                                                           "quagga",
		`--hostname-override=quagga`:                                                       "quagga",
	} {
		names := redact.New(nil).Identities()
		names.Read(text)
		got := names.Text("test", text)
		for _, word := range strings.Fields(want) {
			if strings.Contains(got, word) {
				t.Errorf("%q is left: %s", word, got)
			}
		}
	}
	for source, want := range map[string]string{
		"quagga:/export": "quagga", "//quagga/share": "quagga", "zebra:6789,quagga:6789:/vol": "zebra quagga",
		"bob@quagga:/home": "quagga", "http://quagga/x": "quagga",
	} {
		names := redact.New(nil).Identities()
		names.ReadSource(source)
		for _, word := range strings.Fields(want) {
			if got := names.Text("test", source); strings.Contains(got, word) {
				t.Errorf("%q is left: %s", word, got)
			}
		}
	}
	names := redact.New(nil).Identities()
	names.ReadOptions(`rw,addr=quagga,unc=\\zebra\share,mon_addr=okapi/10.0.0.1`)
	if got := names.Text("test", "quagga zebra okapi rw"); strings.ContainsAny(got, "qzk") && strings.Contains(got, "a r") {
		t.Errorf("got %q", got)
	}
}

func FuzzIdentities(f *testing.F) {
	for _, s := range []string{"10.1.2.3", "[fd00::1]:80", `\x2d\u002`, "%2", "a-b_c.d", "ip-10-1-2-3", "a..com.b.c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		names := redact.New([]byte("key")).Identities("ceph")
		names.Learn(redact.Pod, s)
		names.Read(s)
		names.ReadSource(s)
		names.ReadOptions(s)
		once := names.Text("test", s)
		if again := names.Text("test", once); again != once {
			t.Errorf("%q, then %q", once, again)
		}
	})
}
