package mounts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// CephState is what the kernel's CephFS client knows of one file system.
type CephState struct {
	// Client is its directory below /sys/kernel/debug/ceph, "<fsid>.client<number>".
	Client string `json:"client"`
	// Blocklisted says that the cluster has thrown this client out; absent where the kernel does not tell (before 5.9).
	Blocklisted *bool `json:"blocklisted,omitempty"`
	// Sessions are those with metadata servers.
	Sessions []CephSession `json:"sessions"`
	// Requests that have not been answered, by whom; Homeless are those of OSDRequests for which no daemon is up.
	MDSRequests     int `json:"mds_requests"`
	OSDRequests     int `json:"osd_requests"`
	Homeless        int `json:"homeless_osd_requests"`
	MonitorRequests int `json:"monitor_requests"`
	// Oldest is the first request to a metadata server, as the kernel prints it.
	Oldest string `json:"oldest_mds_request,omitempty"`
}

// A CephSession is one with a metadata server. The states are those of ceph_session_state_name in fs/ceph/mds_client.c:
// "open" is well, "hung" and "closed" are not, "opening" and "reconnecting" wait for the server.
type CephSession struct {
	MDS   int    `json:"mds"`
	State string `json:"state"`
}

const (
	cephDebug   = "/sys/kernel/debug/ceph"
	maxCeph     = 1 << 20
	maxClients  = 256
	maxSessions = 64
)

// ceph finds the client of a mount: the only one, or the one of the cluster that the mount's source names (Linux 5.17,
// "user@fsid.name=/path"). It is nil where that is not certain.
func (b *backings) ceph(m *Mount) *CephState {
	if !b.cephRead {
		b.cephRead = true
		b.readCeph()
	}
	if len(b.clients) == 1 {
		return &b.clients[0]
	}
	var found *CephState
	for i, c := range b.clients {
		fsid, _, _ := strings.Cut(c.Client, ".")
		if strings.Contains(m.Source, "@"+fsid+".") || option(m, "fsid") == fsid {
			if found != nil {
				return nil
			}
			found = &b.clients[i]
		}
	}
	return found
}

func (b *backings) readCeph() {
	entries, err := b.fsys.ReadDir(cephDebug, maxClients)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.errs = append(b.errs, fmt.Errorf("ceph: %w", err))
	}
	for _, e := range entries {
		if !strings.Contains(e.Name, ".client") {
			continue // meta, for snapshots and statistics of all
		}
		c := CephState{Client: e.Name, Sessions: []CephSession{}}
		for _, file := range []struct {
			name  string
			parse func([]byte)
		}{{"mdsc", c.mdsc}, {"osdc", c.osdc}, {"monc", c.monc}, {"mds_sessions", c.sessions}, {"status", c.status}} {
			text, err := b.fsys.ReadFile(cephDebug+"/"+e.Name+"/"+file.name, maxCeph)
			if err == nil {
				file.parse(text)
			} else if !errors.Is(err, fs.ErrNotExist) {
				b.errs = append(b.errs, fmt.Errorf("ceph: %w", err))
			}
		}
		b.clients = append(b.clients, c)
	}
}

// mdsc reads requests to metadata servers, one a line (mdsc_show in fs/ceph/debugfs.c): "73	mds0	getattr	 #10000000000".
func (c *CephState) mdsc(text []byte) {
	for line := range bytes.Lines(text) {
		if _, err := strconv.ParseUint(string(firstWord(line)), 10, 64); err != nil {
			continue
		}
		if c.MDSRequests++; c.MDSRequests == 1 {
			c.Oldest = string(bytes.Join(bytes.Fields(line), []byte{' '}))
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
			heading, counting = true, false
			c.OSDRequests = int(field(words, 1))
			if len(words) > 3 && string(words[2]) == "homeless" {
				c.Homeless = int(field(words, 3))
			}
		case string(words[0]) == "LINGER" || string(words[0]) == "BACKOFFS":
			counting = false
		case counting && !heading && words[0][0] >= '0' && words[0][0] <= '9':
			c.OSDRequests++
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
func (c *CephState) sessions(text []byte) {
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line)
		if len(words) != 2 || len(c.Sessions) >= maxSessions {
			continue
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

func (c *CephState) fault() (Fault, string) {
	if c.Blocklisted != nil && *c.Blocklisted {
		return FaultBlocklisted, "the cluster has blocklisted this client: it must be unmounted and mounted anew, unless recover_session=clean is set"
	}
	for _, s := range c.Sessions {
		switch s.State {
		case "hung", "closed", "rejected", "closing":
			return FaultRejected, fmt.Sprintf("the session with mds.%d is %s", s.MDS, s.State)
		}
	}
	switch {
	case c.Homeless > 0:
		return FaultSilent, fmt.Sprintf("%d requests have no storage daemon (OSD) that is up", c.Homeless)
	case c.MDSRequests > 0 && c.OSDRequests == 0:
		return FaultSilent, "metadata servers (MDS) do not answer, storage daemons owe nothing: " + c.Oldest
	case c.OSDRequests > 0 && c.MDSRequests == 0:
		return FaultSilent, "storage daemons (OSD) do not answer, metadata servers owe nothing"
	case c.MDSRequests+c.OSDRequests > 0:
		return FaultSilent, "neither metadata servers nor storage daemons answer"
	case c.MonitorRequests > 0:
		return FaultSilent, "monitors do not answer, others owe nothing"
	}
	return FaultNone, ""
}

func firstWord(line []byte) []byte {
	words := bytes.Fields(line)
	if len(words) == 0 {
		return nil
	}
	return words[0]
}
