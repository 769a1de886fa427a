package redact

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// domainEnds are the last labels of names that are taken for host names wherever they stand. Those that are also the ends
// of file names (sh, py, so, rs, md, go) are none of them.
var domainEnds = strings.Fields(`com net org io dev local internal lan corp home arpa cloud intern int example test invalid
	edu gov mil info biz intra private domain svc k8s xyz tech systems online hosting
	ac ae ar at au be bg br ca ch cl cn co cz de dk ee es eu fi fr gr hk hr hu ie il in is it jp kr lt lu lv mx my nl no nz
	pt ro ru se sg si sk th tr tw ua uk us za`)

// publicDomains are names of projects and not of machines: modules, API groups, CSI drivers, public registries.
var publicDomains = strings.Fields(`k8s.io kubernetes.io x-k8s.io github.com golang.org gopkg.in docker.io docker.com quay.io
	gcr.io ghcr.io pkg.dev mcr.microsoft.com containerd.io cncf.io etcd.io freedesktop.org opencontainers.org`)

// isPublic says whether a host name tells nothing about who runs the node.
func isPublic(name string) bool {
	for _, d := range publicDomains {
		if name == d || strings.HasSuffix(name, "."+d) {
			return true
		}
	}
	return slices.Contains(strings.Split(name, "."), "csi") // drivers are named like hosts
}

// hostShape returns how many atoms a full host name takes: labels joined by dots, three at least, and a last one that
// ends domains.
func hostShape(s string, list []atom) int {
	dots, last := 0, 0
	for n, a := range list {
		if n > 0 && a.before == '_' {
			break
		}
		if n > 0 && a.before == '.' {
			dots++
		}
		last = n + 1
	}
	if dots < 2 {
		return 0
	}
	name := joined(s, list[:last])
	if !slices.Contains(domainEnds, name[strings.LastIndexByte(name, '.')+1:]) || isPublic(name) {
		return 0
	}
	return last
}

const (
	labelPattern = `[A-Za-z0-9][A-Za-z0-9-]*`
	dnsPattern   = labelPattern + `(?:\.` + labelPattern + `)*`
)

// A saying is a way in which texts say what a word names.
type saying struct {
	// hint is in every text that pattern matches.
	hint    string
	pattern *pattern.Pattern
	kinds   []IdentityKind // of the groups
}

var sayings = []saying{
	{"://", pattern.New(`[a-z0-9+.]://(?:[^\s/"'@]*@)?(` + dnsPattern + `)`), []IdentityKind{Host}},
	{"://", pattern.New(`\b(?:nfs|smb|cifs|sftp)://(` + dnsPattern + `)`), []IdentityKind{Host}},
	{"lookup ", pattern.New(`\blookup (` + dnsPattern + `)`), []IdentityKind{Host}},
	{"@", pattern.New(`[A-Za-z0-9_.-]+@(` + dnsPattern + `):`), []IdentityKind{Host}},
	{"host", pattern.New(`(?i)\bhost[ _-]?name(?:-override)?\\?"?\s*[=:]\s*\\*"?(` + dnsPattern + `)`), []IdentityKind{Host}},
	{"node", pattern.New(`(?i)\bnode(?:[ _-]?name)?\\?"?[=:]\s*\\*"(` + dnsPattern + `)`), []IdentityKind{Host}},
	{"node", pattern.New(`\b(?:system:node:|node \\*")(` + dnsPattern + `)`), []IdentityKind{Host}},
	{"server ", pattern.New(`\b(?:nfs|NFS|CIFS|ceph|afs)[^\n]{0,20}\bserver (` + dnsPattern + `)`), []IdentityKind{Host}},

	{"pod", pattern.New(`(?i)pod(?:s|name|ref|full)?\\?"?\s*[=:]\s*[\[{]?\\*"(` + labelPattern + `)/(` + dnsPattern + `)`), []IdentityKind{Namespace, Pod}},
	{"pod", pattern.New(`(?i)\bpods? \\*"?(` + labelPattern + `)/(` + dnsPattern + `)`), []IdentityKind{Namespace, Pod}},
	{"(", pattern.New(`(` + dnsPattern + `)_(` + labelPattern + `)\((?:` + poduid.Pattern + `)\)`), []IdentityKind{Pod, Namespace}},
	{"/pods/", pattern.New(`/pods/(` + labelPattern + `)_(` + dnsPattern + `)_(?:` + poduid.Pattern + `)`), []IdentityKind{Namespace, Pod}},
	{"/log/containers/", pattern.New(`/log/containers/(` + dnsPattern + `)_(` + labelPattern + `)_`), []IdentityKind{Pod, Namespace}},
	{"k8s_", pattern.New(`\bk8s_[^_\s]+_(` + dnsPattern + `)_(` + labelPattern + `)_(?:` + poduid.Pattern + `)`), []IdentityKind{Pod, Namespace}},
	{"pod", pattern.New(`io\.kubernetes\.pod\.name\\?"?\s*[=:]\s*\\*"?(` + dnsPattern + `)`), []IdentityKind{Pod}},
	{"pod", pattern.New(`\bpod_?[nN]ame\\?"?\s*[=:]\s*\\*"?(` + dnsPattern + `)`), []IdentityKind{Pod}},
	{"namespace", pattern.New(`(?i)namespace\\?"?\s*[=:]\s*\\*"?(` + labelPattern + `)`), []IdentityKind{Namespace}},
	{"namespace ", pattern.New(`(?i)namespace \\*"(` + labelPattern + `)\\*"`), []IdentityKind{Namespace}},
	{"--namespace ", pattern.New(`--namespace (` + labelPattern + `)`), []IdentityKind{Namespace}},
	{"serviceaccount:", pattern.New(`system:serviceaccount:(` + labelPattern + `):`), []IdentityKind{Namespace}},
	{"/namespaces/", pattern.New(`/namespaces/(` + labelPattern + `)(?:/pods/(` + dnsPattern + `))?`), []IdentityKind{Namespace, Pod}},
}

// proseAfter are words that follow such names in sentences.
var proseAfter = strings.Fields(`the and for not was has that with from this name named null true false none mount mounts host hosts
	pod pods node nodes kubelet container containers volume volumes namespace namespaces inode file path server system user of in is are to on
	id uid pid net ipc uts mnt holds held which where does did`)

// Read learns the names that a text says are names.
func (i *Identities) Read(s string) {
	if len(s) < 8 {
		return
	}
	lower := strings.ToLower(s)
	for _, say := range sayings {
		if !strings.Contains(lower, say.hint) {
			continue
		}
		for _, m := range say.pattern.FindAllStringSubmatch(s, -1) {
			for n, kind := range say.kinds {
				if name := m[n+1]; name != "" && !contains(proseAfter, name) {
					i.Learn(kind, name)
				}
			}
		}
	}
}

// ReadSource learns the servers that the source of a mount names: "server:/export", "//server/share", "a:6789,b:6789:/x",
// "user@host:path".
func (i *Identities) ReadSource(source string) {
	if strings.Contains(source, "://") {
		i.Read(source)
		return
	}
	if share, ok := strings.CutPrefix(strings.ReplaceAll(source, `\`, "/"), "//"); ok {
		server, _, _ := strings.Cut(share, "/")
		i.learnHost(server)
		return
	}
	servers, _, ok := strings.Cut(source, ":")
	if slash := strings.Index(source, ":/"); slash >= 0 {
		servers = source[:slash]
	}
	if !ok || strings.HasPrefix(source, "/") {
		return
	}
	for server := range strings.SplitSeq(servers, ",") {
		i.learnHost(server)
	}
}

// ReadOptions learns the servers that mount options name.
func (i *Identities) ReadOptions(options string) {
	for option := range strings.SplitSeq(options, ",") {
		name, value, _ := strings.Cut(option, "=")
		switch strings.ToLower(name) {
		case "addr", "mountaddr", "clientaddr", "ip", "server", "host", "mon_addr", "mon_host", "servername", "netbiosname":
			for server := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == '/' || r == ';' }) {
				i.learnHost(server)
			}
		case "unc":
			i.ReadSource(value)
		}
	}
}

func (i *Identities) learnHost(server string) {
	server = server[strings.LastIndexByte(server, '@')+1:]
	server, _, _ = strings.Cut(server, ":")
	i.Learn(Host, server)
}
