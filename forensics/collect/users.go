package collect

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// passwd is the list of the users, of which maxPasswd bytes are read.
const (
	passwd    = "/etc/passwd"
	maxPasswd = 4 << 20
)

// userNames finds the names of those that holders run as in the host's /etc/passwd (passwd(5)). Names of other databases
// (LDAP, systemd-userdbd) are not looked for: asking those may block. Inside a container a number may have another name.
func userNames(ctx context.Context, fsys *hostfs.FS, group *probe.Group, e *forensics.Evidence, holders []holders.Holder) []forensics.User {
	uids, wanted := map[int]int{}, map[int]bool{}
	for _, p := range e.Processes {
		uids[p.PID] = p.UID
	}
	for _, h := range holders {
		if uid, ok := uids[h.PID]; ok && uid >= 0 {
			wanted[uid] = true
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	text, err := probe.Do(ctx, group, passwd, func() ([]byte, error) { return fsys.ReadFile(passwd, maxPasswd) })
	if err != nil {
		return []forensics.User{}
	}
	return parsePasswd(text, wanted)
}

// parsePasswd reads "name:password:UID:…". Of several names of one user the first counts, as for getpwuid(3).
func parsePasswd(text []byte, wanted map[int]bool) []forensics.User {
	users := []forensics.User{}
	for line := range bytes.Lines(text) {
		fields := bytes.SplitN(bytes.TrimRight(line, "\n"), []byte{':'}, 4)
		if len(fields) < 4 || len(fields[0]) == 0 {
			continue
		}
		if uid, err := strconv.Atoi(string(fields[2])); err == nil && wanted[uid] {
			wanted[uid] = false
			users = append(users, forensics.User{UID: uid, Name: string(fields[0])})
		}
	}
	return users
}
