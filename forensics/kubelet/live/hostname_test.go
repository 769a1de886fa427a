package live

import "testing"

// hostsHead is what the kubelet writes before the pod's own addresses (managedHostsFileContent).
const hostsHead = "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
	"fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n"

func TestParseHostName(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"one address":         {hostsHead + "10.244.1.7\tapp-002d\n", "app-002d"},
		"two addresses":       {hostsHead + "10.244.1.7\tapp-0\nfd00::7\tapp-0\n", "app-0"},
		"subdomain":           {hostsHead + "10.244.1.7\tdb-0.db.ns.svc.cluster.local\tdb-0\n", "db-0"},
		"host aliases":        {hostsHead + "10.244.1.7\tapp-0\n\n# Entries added by HostAliases.\n1.2.3.4\tfoo\tbar\n", "app-0"},
		"before the pod's IP": {hostsHead, ""},
		"host network":        {"# Kubernetes-managed hosts file (host network).\n10.0.0.1\tnode\n", ""},
		"host network, alias": {"# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n\n# Entries added by HostAliases.\n1.2.3.4\tfoo\n", ""},
		"written by a person": {"127.0.0.1\tlocalhost\n10.0.0.1\tnode\n", ""},
		"lab's short form":    {"# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n10.244.1.7\tapp-002d\n", "app-002d"},
		"name without a tab":  {hostsHead + "10.244.1.7 app\n", "app"},
		"address alone":       {hostsHead + "10.244.1.7\n", ""},
		"no newline at end":   {hostsHead + "10.244.1.7\tapp", "app"},
		"empty":               {"", ""},
		"only the heading":    {"# Kubernetes-managed hosts file.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parseHostName(tc.text); got != tc.want {
				t.Errorf("host name = %q; want %q", got, tc.want)
			}
		})
	}
}
