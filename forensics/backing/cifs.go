package backing

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// CIFSState is what the SMB client knows of one share.
type CIFSState struct {
	Share string `json:"share"` // "\\server\share"
	// Dialect is the version of the protocol ("3.1.1"); empty where the kernel does not tell it.
	Dialect string `json:"dialect,omitempty"`
	// Connected is false where the client has lost its connection or has to set it up again.
	Connected bool `json:"connected"`
	// Outstanding are requests that the server has not answered, of all shares on the same connection.
	Outstanding int `json:"outstanding"`
}

// cifs finds the state of a mount by its source, "//server/share/directory", and its dialect: the same share may be mounted
// in several, over a connection each. Nothing is known where connections that differ remain (mounts of several users).
func (b *backings) cifs(m *mounts.Mount) *CIFSState {
	source, dialect := strings.ToLower(strings.ReplaceAll(m.Source, "/", `\`)), option(m, "vers")
	var found *CIFSState
	shares := b.shares()
	for i, s := range shares {
		share := strings.ToLower(s.Share)
		if source != share && !strings.HasPrefix(source, share+`\`) || s.Dialect != "" && dialect != "" && s.Dialect != dialect {
			continue
		}
		if found != nil && *found != s {
			return nil
		}
		found = &shares[i]
	}
	return found
}

var (
	cifsShare = pattern.New(`^\d+\) (\\\\.+?) Mounts: \d+`)
	cifsValue = pattern.New(`(TCP status|Req On Wire|Dialect):? (\w+)`)
)

// cifsDialects are the numbers of [MS-SMB2] 2.2.4 (fs/smb/common/smb2pdu.h) and the names that the option vers has for
// them. SMB 1.0 has none.
var cifsDialects = map[string]string{"0x0": "1.0", "0x202": "2.0", "0x210": "2.1", "0x300": "3.0", "0x302": "3.02", "0x311": "3.1.1"}

// cifsGood is CifsGood of enum statusEnum in fs/smb/client/cifsglob.h.
const cifsGood = 1

// parseCIFS reads /proc/fs/cifs/DebugData (cifs_debug_data_proc_show in fs/smb/client/cifs_debug.c). Each server begins with
// a number at the start of a line ("1) ConnectionId: 0x1 Hostname: fs1", before 5.3 "1) Name: 10.0.0.9"), and has its
// connection, its sessions and, further in, its shares. IPC$ is no share that is mounted ("0) IPC: ...").
func parseCIFS(text []byte) []CIFSState {
	var list []CIFSState
	var first int // share of the server
	var now CIFSState
	for raw := range bytes.Lines(text) {
		line := string(bytes.TrimSpace(raw))
		share := cifsShare.FindStringSubmatch(line)
		switch {
		case share != nil:
			one := now
			one.Share = share[1]
			list = append(list, one)
		case raw[0] >= '0' && raw[0] <= '9' && strings.Contains(line, ") "):
			first, now = len(list), CIFSState{Connected: true}
		}
		if strings.Contains(line, "DISCONNECTED") && len(list) > first {
			list[len(list)-1].Connected = false
		}
		for _, value := range cifsValue.FindAllStringSubmatch(line, -1) {
			n, err := strconv.Atoi(value[2])
			switch {
			case value[1] == "Dialect":
				now.Dialect = cifsDialects[value[2]]
			case err != nil:
			case value[1] == "TCP status":
				now.Connected = now.Connected && n == cifsGood
			default:
				now.Outstanding = n
			}
		}
	}
	return list
}
