package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
)

// IdentityKind is what a name names.
type IdentityKind string

// The kinds of names that [Identities] masks.
const (
	address   IdentityKind = "ip"
	Host      IdentityKind = "host"
	Namespace IdentityKind = "ns"
	Pod       IdentityKind = "pod"
)

// Identities masks IP addresses, host names, namespaces and pod names. Addresses and full host names are recognized by
// their form. Other names look like any word and must be learned first: with [Identities.Learn] where it is known what a
// name is, with [Identities.Read] from texts that say so. It is not safe for concurrent use.
//
// A placeholder, "pod-1a2b3c4d", can stand wherever the name could: in a URL, a path, a pair namespace/name. The same
// name gives the same one, so that what was joined by name still is.
type Identities struct {
	redactor *Redactor
	known    map[string]IdentityKind
	// longest says how many atoms the longest name has that begins with an atom.
	longest map[string]int
	kept    map[string]bool
	// weak are namespaces that are called like a kept word: they are masked in pairs with a pod only.
	weak map[string]bool
}

// Identities returns a masker with the key and the ledger of r. Words that are kept are no names, even if a name is equal
// to one of them: masking them would spoil what a text says.
func (r *Redactor) Identities(keep ...string) *Identities {
	i := &Identities{redactor: r, known: map[string]IdentityKind{}, longest: map[string]int{}, kept: map[string]bool{}, weak: map[string]bool{}}
	for _, word := range keep {
		i.kept[strings.ToLower(word)] = true
	}
	return i
}

// wellKnown are namespaces that every cluster has, and hosts that every machine has.
var wellKnown = map[string]bool{
	"default": true, "kube-system": true, "kube-public": true, "kube-node-lease": true, "localhost": true,
	"localhost.localdomain": true, "none": true, "unknown": true, "kubernetes": true,
}

// Learn makes a name known; hosts first, since the names of static pods end in theirs. What is no name, is well known, a placeholder or an address is not taken.
func (i *Identities) Learn(kind IdentityKind, name string) {
	name = strings.ToLower(strings.Trim(name, "."))
	if isUnmasked(name) || all(name, isDigit) || !all(name, isNameChar) {
		return
	}
	if len(name) < 3 || i.kept[name] {
		i.weak[name] = i.weak[name] || kind == Namespace
		return
	}
	if _, ok := i.known[name]; ok || isAddress(name) {
		return
	}
	if kind == Host && isPublic(name) {
		return
	}
	if stem, _ := i.staticName(name); kind == Pod && stem != "" {
		i.Learn(kind, stem)
		return
	}
	i.known[name] = kind
	list := atoms(name, 0)
	first := list[0].text(name)
	i.longest[first] = max(i.longest[first], len(list))
	if short, _, ok := strings.Cut(name, "."); ok && kind == Host {
		i.Learn(kind, short)
	}
}

// isUnmasked says whether a name stays in any case.
func isUnmasked(name string) bool { return name == "" || wellKnown[name] || isIdentity(name) }

// Name masks a whole string that is a name, whatever else it may mean. An address is masked as one.
func (i *Identities) Name(where string, kind IdentityKind, name string) string {
	switch known, ok := i.known[strings.ToLower(name)]; {
	case isUnmasked(strings.ToLower(name)):
		return name
	case ok:
		kind = known
	case isAddress(name):
		return i.Text(where, name)
	}
	if stem, node := i.staticName(name); kind == Pod && stem != "" {
		return i.Name(where, kind, stem) + "-" + i.Name(where, Host, node)
	}
	return i.mask(where, kind, name)
}

// staticName takes a name apart that ends in a dash and a host, as those of static pods do (kubelet
// pkg/kubelet/config/common.go): their manifests name the first part alone. Others have no stem.
func (i *Identities) staticName(name string) (stem, node string) {
	for n, c := range []byte(name) {
		if c == '-' && i.known[strings.ToLower(name[n+1:])] == Host {
			return name[:n], name[n+1:]
		}
	}
	return "", ""
}

// Text masks what is known in a text; where is for the ledger.
func (i *Identities) Text(where, s string) string {
	var b strings.Builder
	end := 0
	put := func(kind IdentityKind, from, to int) {
		b.WriteString(s[end:from])
		b.WriteString(i.mask(where, kind, s[from:to]))
		end = to
	}
	for at := 0; at < len(s); {
		if to, ok := addressAt(s, at); to > at {
			if ok {
				put(address, at, to)
			}
			at = to
			continue
		}
		if !isAlnum(s[at]) {
			at += escape(s, at)
			continue
		}
		list := atoms(s, at)
		i.segment(s, list, put)
		at = list[len(list)-1].to
	}
	if end == 0 {
		return s
	}
	b.WriteString(s[end:])
	return b.String()
}

// segment masks within words that are held together by dots, dashes and underscores.
func (i *Identities) segment(s string, list []atom, put func(IdentityKind, int, int)) {
	for at := 0; at < len(list); {
		n, kind := i.match(s, list[at:])
		if n == 0 {
			at++
			continue
		}
		put(kind, list[at].from, list[at+n-1].to)
		at += n
	}
}

// match returns how many atoms the longest name has that list begins with.
func (i *Identities) match(s string, list []atom) (int, IdentityKind) {
	known, kind := i.learned(s, list)
	if n := hostShape(s, list); n > known && !i.staticPod(s, list, known) {
		if i.kept[joined(s, list[:n])] {
			return 0, "" // a driver that is named like a host
		}
		return n, Host
	}
	if n := dashedAddress(s, list); n > known {
		return n, Host
	}
	if list[0].before != 0 && list[0].before != '.' && known == 0 { // eth0-10.0.0.5
		if n := addressAtoms(s, list, '.'); n > 0 && dottedAddress(s, list[0].from) > 0 {
			return n, address
		}
	}
	if known > 0 {
		return known, kind
	}
	if word := list[0].text(s); i.weak[word] && i.beforePod(s, list[0].to) {
		return 1, Namespace
	}
	return 0, ""
}

// learned returns how many atoms the longest learned name has that list begins with.
func (i *Identities) learned(s string, list []atom) (int, IdentityKind) {
	for n := min(i.longest[list[0].text(s)], len(list)); n > 0; n-- {
		if kind, ok := i.known[joined(s, list[:n])]; ok {
			return n, kind
		}
	}
	return 0, ""
}

// staticPod says whether the first n atoms are a name to which a dash adds a host that is known, too.
func (i *Identities) staticPod(s string, list []atom, n int) bool {
	if n == 0 || n == len(list) || list[n].before != '-' {
		return false
	}
	_, kind := i.learned(s, list[n:])
	return kind == Host
}

// beforePod says whether a pair goes on with the name of a pod, or of what is named after one: "ceph/osd-0",
// "ceph_osd-0", "ceph/data-osd-0".
func (i *Identities) beforePod(s string, to int) bool {
	if c := at(s, to); c != '/' && c != '_' || !isAlnum(at(s, to+1)) {
		return false
	}
	next := atoms(s, to+1)
	for n := range next {
		if _, kind := i.learned(s, next[n:]); kind == Pod {
			return true
		}
	}
	return false
}

func (i *Identities) mask(where string, kind IdentityKind, name string) string {
	r := i.redactor
	r.mu.Lock()
	r.ledger[entry{where, identityRules[kind]}]++
	r.mu.Unlock()
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(joined(name, atoms(name, 0))))
	if kind == address {
		mac.Write([]byte(name))
	}
	return string(kind) + "-" + hex.EncodeToString(mac.Sum(nil)[:4])
}

var identityRules = map[IdentityKind]string{address: "address", Host: "host-name", Namespace: "namespace", Pod: "pod-name"}

// isIdentity says whether a name is a placeholder.
func isIdentity(s string) bool {
	kind, digest, _ := strings.Cut(s, "-")
	_, ok := identityRules[IdentityKind(kind)]
	return ok && len(digest) == 8 && all(digest, isLowerHex)
}

// An atom is a run of letters and digits; before is what holds it to the one before, "-" also where it is written \x2d.
type atom struct {
	from, to int
	before   byte
}

func (a atom) text(s string) string { return strings.ToLower(s[a.from:a.to]) }

// atoms splits the word that begins at i.
func atoms(s string, i int) []atom {
	var list []atom
	for before := byte(0); ; {
		end := span(s, i, isAlnum)
		list = append(list, atom{i, end, before})
		next := end
		switch c := at(s, end); {
		case strings.HasPrefix(s[end:], `\x2d`):
			before, next = '-', end+4
		case c == '-' || c == '.' || c == '_':
			before, next = c, span(s, end, func(x byte) bool { return x == c })
		}
		if next == end || !isAlnum(at(s, next)) {
			return list
		}
		i = next
	}
}

func joined(s string, list []atom) string {
	var b strings.Builder
	for n, a := range list {
		if n > 0 {
			b.WriteByte(a.before)
		}
		b.WriteString(a.text(s))
	}
	return b.String()
}

// escape is how many bytes the character at i takes: escapes of JSON and URLs end in letters that are no part of the
// word which follows.
func escape(s string, i int) int {
	switch s[i] {
	case '%':
		if _, ok := number(s, i+1, 2); ok {
			return 3
		}
	case '\\':
		switch next := at(s, i+1); {
		case next == 'u' && i+6 <= len(s):
			return 6
		case next == 'x' && i+4 <= len(s):
			return 4
		case strings.IndexByte(`nrtbf"\/`, next) >= 0 && next != 0:
			return 2
		}
	}
	return 1
}

// addressAt looks for an IP address. It returns where what looks like one ends, and whether it is one that is to mask:
// loopback, unspecified and multicast addresses and masks say nothing of a site.
func addressAt(s string, i int) (end int, ok bool) {
	before := at(s, i-1)
	if s[i] == ':' && isAlnum(before) {
		return i, false
	}
	if before == ':' && i > 1 && dottedAddress(s, i) < 0 { // hostIP:10.0.0.5 of a structure of Go, but not a part of IPv6
		return i, false
	}
	end = span(s, i, func(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' || c == ':' || c == '.' })
	for end > i && s[end-1] == '.' {
		end--
	}
	if isAlnum(at(s, end)) {
		end = i + max(0, strings.LastIndexByte(s[i:end], ':'))
	}
	for to := end; to > i; to = i + max(0, strings.LastIndexByte(s[i:to], ':')) { // with a port, it is none
		if strings.Count(s[i:to], ":")+strings.Count(s[i:to], ".") < 2 {
			break
		}
		if a, err := netip.ParseAddr(s[i:to]); err == nil {
			return to, !a.IsLoopback() && !a.IsUnspecified() && !a.IsMulticast() && !isNetmask(a)
		}
	}
	return i, false
}

func isNetmask(a netip.Addr) bool {
	b := a.Unmap().AsSlice()
	return len(b) == 4 && b[0] == 255
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// dottedAddress returns where an IPv4 address ends that is to mask, or -1.
func dottedAddress(s string, i int) int {
	end := span(s, i, func(c byte) bool { return isDigit(c) || c == '.' })
	end = i + len(strings.TrimRight(s[i:end], "."))
	a, err := netip.ParseAddr(s[i:end])
	if err != nil || !a.Is4() || a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() || isNetmask(a) {
		return -1
	}
	return end
}

// dashedAddress is for host names that are made of an address: "ip-10-0-0-5", "node-10-0-0-5", "10-0-0-5.shop.pod".
func dashedAddress(s string, list []atom) int {
	if list[0].before != '.' && addressAtoms(s, list, '-') > 0 {
		return 4
	}
	if all(list[0].text(s), isDigit) || len(list) < 5 || list[1].before != '-' {
		return 0
	}
	if addressAtoms(s, list[1:], '-') > 0 {
		return 5
	}
	return 0
}

// addressAtoms returns 4 if a list begins with the four numbers of an IPv4 address, and no number stands before or behind
// them. It is none of loopback.
func addressAtoms(s string, list []atom, sign byte) int {
	if len(list) < 4 || len(list) > 4 && list[4].before == sign && all(list[4].text(s), isDigit) || list[0].text(s) == "127" {
		return 0
	}
	if list[0].before == sign {
		end := list[0].from - 1
		if from := spanBack(s, end, isAlnum); from < end && all(s[from:end], isDigit) {
			return 0
		}
	}
	for n, a := range list[:4] {
		text := a.text(s)
		v, err := strconv.ParseUint(text, 10, 8)
		if err != nil || n > 0 && a.before != sign || len(text) > 1 && text[0] == '0' || n == 0 && v == 0 {
			return 0
		}
	}
	return 4
}
