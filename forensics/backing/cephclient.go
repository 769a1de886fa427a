package backing

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// A cephClient is a CephState with what tells whose it is.
type cephClient struct {
	CephState
	name     string   // the user of Ceph
	monitors []string // their addresses
	files    bool     // a client of CephFS, not of RBD
}

func (b *backings) readCeph() (clients []cephClient) {
	entries, err := b.fsys.ReadDir(cephDebug, maxClients)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.errs = append(b.errs, fmt.Errorf("ceph: %w", err))
	}
	for _, e := range entries {
		if !strings.Contains(e.Name, ".client") {
			continue // meta, for snapshots and statistics of all
		}
		c := cephClient{CephState: CephState{Client: e.Name, Sessions: []CephSession{}}}
		for _, file := range []struct {
			name  string
			parse func([]byte)
		}{
			{"mdsc", c.mdsc},
			{"osdc", c.osdc},
			{"monc", c.monc},
			{"mds_sessions", c.sessions},
			{"status", c.status},
			{"monmap", c.monmap},
			{"mdsmap", c.addresses},
			{"osdmap", c.addresses},
		} {
			if file.name == "mdsmap" && len(c.Owing) == 0 || file.name == "osdmap" && c.OSDRequests == 0 {
				continue // large, and of no use
			}
			text, err := b.fsys.ReadFile(cephDebug+"/"+e.Name+"/"+file.name, maxCeph)
			if err == nil {
				file.parse(text)
			} else if !errors.Is(err, fs.ErrNotExist) {
				b.errs = append(b.errs, fmt.Errorf("ceph: %w", err))
			}
		}
		clients = append(clients, c)
	}
	return clients
}

// owes notes a daemon that has not answered.
func (c *CephState) owes(name string) {
	if len(c.Owing) < maxSessions && !slices.ContainsFunc(c.Owing, func(d CephDaemon) bool { return d.Name == name }) {
		c.Owing = append(c.Owing, CephDaemon{Name: name})
	}
}

// addresses reads those of daemons from mdsmap and osdmap ("	mds0	(1)10.0.0.5:6809	(up:active)", "osd3	(1)10.0.0.5:6801	100%").
func (c *CephState) addresses(text []byte) {
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line)
		if len(words) < 2 {
			continue
		}
		for i := range c.Owing {
			if c.Owing[i].Name == string(words[0]) {
				c.Owing[i].Address = cephAddress(words[1])
			}
		}
	}
}

// monmap reads "	mon0	(1)10.0.0.5:6789".
func (c *cephClient) monmap(text []byte) {
	for line := range bytes.Lines(text) {
		if words := bytes.Fields(line); len(words) == 2 && bytes.HasPrefix(words[0], []byte("mon")) && len(c.monitors) < maxSessions {
			c.monitors = append(c.monitors, cephAddress(words[1]))
		}
	}
}

// cephAddress is "(1)10.0.0.5:6789" without the type in front (ceph_pr_addr in net/ceph/messenger.c).
func cephAddress(text []byte) string {
	_, address, ok := bytes.Cut(text, []byte{')'})
	if !ok {
		address = text
	}
	return string(address)
}

// mdsc reads requests to metadata servers, one a line (mdsc_show in fs/ceph/debugfs.c): "73	mds0	getattr	 #10000000000".
func (c *cephClient) mdsc(text []byte) {
	c.files = true
	for line := range bytes.Lines(text) {
		if _, err := strconv.ParseUint(string(firstWord(line)), 10, 64); err != nil {
			continue
		}
		if c.MDSRequests++; c.MDSRequests == 1 {
			c.Oldest = string(bytes.Join(bytes.Fields(line), []byte{' '}))
		}
		words := bytes.Fields(line)
		switch {
		case slices.ContainsFunc(words, func(w []byte) bool { return string(w) == "(unsafe)" }):
			c.Unsafe++
		case len(words) > 1 && bytes.HasPrefix(words[1], []byte("mds")):
			c.owes(string(words[1]))
		}
	}
}

// osdc reads requests to storage daemons (osdc_show in net/ceph/debugfs.c): "REQUESTS 3 homeless 1", and a line each.
// Before 4.7 there was no heading.
func (c *CephState) osdc(text []byte) {
	heading, counting := false, true
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line)
		switch {
		case len(words) == 0:
		case string(words[0]) == "REQUESTS":
			heading, counting = true, true
			c.OSDRequests = int(field(words, 1))
			if len(words) > 3 && string(words[2]) == "homeless" {
				c.Homeless = int(field(words, 3))
			}
		case string(words[0]) == "LINGER" || string(words[0]) == "BACKOFFS":
			counting = false
		case counting && words[0][0] >= '0' && words[0][0] <= '9':
			if !heading {
				c.OSDRequests++
			}
			if len(words) > 1 && bytes.HasPrefix(words[1], []byte("osd")) && string(words[1]) != "osd-1" {
				c.owes(string(words[1]))
			}
		}
	}
}

// monc reads requests to monitors (monc_show): "have osdmap 12", and "7 statfs" for each.
func (c *CephState) monc(text []byte) {
	for line := range bytes.Lines(text) {
		if word := firstWord(line); len(word) > 0 && word[0] >= '0' && word[0] <= '9' {
			c.MonitorRequests++
		}
	}
}

// sessions reads "mds.0 open" (mds_sessions_show, Linux 3.18).
func (c *cephClient) sessions(text []byte) {
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line)
		if len(words) != 2 || len(c.Sessions) >= maxSessions {
			continue
		}
		if string(words[0]) == "name" {
			c.name = strings.Trim(string(words[1]), `"`)
		}
		number, ok := bytes.CutPrefix(words[0], []byte("mds."))
		if mds, err := strconv.Atoi(string(number)); ok && err == nil {
			c.Sessions = append(c.Sessions, CephSession{MDS: mds, State: string(words[1])})
		}
	}
}

// status reads "blocklisted: false" (status_show, Linux 5.9; "blacklisted" until 5.10).
func (c *CephState) status(text []byte) {
	for line := range bytes.Lines(text) {
		key, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		if string(key) == "blocklisted" || string(key) == "blacklisted" {
			listed := string(value) == "true"
			c.Blocklisted = &listed
		}
	}
}

func firstWord(line []byte) []byte {
	words := bytes.Fields(line)
	if len(words) == 0 {
		return nil
	}
	return words[0]
}

// may says whether a client can be that of a mount: by the cluster, which the source names from Linux 5.17 on
// ("user@fsid.name=/path"), by the monitors, which it names before, and by the user.
func (c *cephClient) may(m *mounts.Mount) bool {
	fsid, _, _ := strings.Cut(c.Client, ".")
	user, rest, _ := strings.Cut(m.Source, "@")
	named, _, _ := strings.Cut(rest, ".")
	if named = cmp.Or(named, option(m, "fsid")); named != "" && named != fsid {
		return false
	}
	if rest == "" {
		user = option(m, "name")
	}
	if user != "" && c.name != "" && user != c.name {
		return false
	}
	addresses, _, _ := strings.Cut(m.Source, ":/")
	known := strings.Split(addresses, ",")
	if rest != "" || len(c.monitors) == 0 || len(known) == 0 {
		return true
	}
	return slices.ContainsFunc(known, func(at string) bool {
		return slices.ContainsFunc(c.monitors, func(monitor string) bool { return monitor == at || strings.HasPrefix(monitor, at+":") })
	})
}
