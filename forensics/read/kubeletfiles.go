package read

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// maxKubeletFile bounds what the kubelet serves about its configuration and its disks, in bytes: a node with 500 pods has 3 MB.
const maxKubeletFile = 32_000_000

var (
	// served is how /configz and /stats/summary begin.
	served = pattern.New(`^\{\s*(?:"kubeletconfig"\s*:|"node"\s*:\s*\{\s*"nodeName"\s*:)`)
	// configKey is a line of a configuration file in YAML, with what belongs to the line above it.
	configKey  = pattern.New(`^(?:[a-zA-Z]\w*:(?:\s|$)|\s+\S|- )`)
	configLine = pattern.New(`(?m)^(?:apiVersion: kubelet\.config\.k8s\.io/|kind: KubeletConfiguration\s*$)`)
	// thresholdsOnly are the thresholds that grep or yq prints of such a file.
	thresholdsOnly = pattern.New(`(?m)(?:^[ \t]*evictionHard:|[#$>] .*\byq\b.*\bevictionHard\b.*)[ \t]*\n((?:[ \t]*(?:nodefs|imagefs|memory|pid|containerfs|allocatableMemory)\.\w+:[ \t]*\S+[ \t]*(?:\n|$))+)`)
	imageGCOnly    = pattern.New(`(?m)^[ \t]*(imageGC(?:High|Low)ThresholdPercent):[ \t]*(\d+)[ \t]*$`)
	otherKind      = pattern.New(`(?m)^kind:`)
	metricsOf      = pattern.New(`(?m)^kubelet_\w+[{ ]`)
)

// isKubeletFile says whether a file is a configuration of the kubelet, or its answer to /configz or /stats/summary.
func isKubeletFile(b beginning) bool {
	text := b.text()
	return b.kind == "KubeletConfiguration" || served.Match(text) ||
		!b.isJSON() && configLine.Match(text[:min(len(text), 4096)]) && configKey.Match(text)
}

// isMetrics says whether a file is in the format of Prometheus, and the kubelet's.
func isMetrics(b beginning) bool {
	return bytes.HasPrefix(b.text(), []byte("# HELP ")) && metricsOf.Match(b.head)
}

// metrics says what cannot be had from metrics: they count since the kubelet's start, and no check is about that.
func (r *reader) metrics(context.Context, document) (used bool, err error) {
	return false, errors.New("metrics of the kubelet, skipped: no check uses them")
}

// kubeletFile takes a configuration of the kubelet, or its answer to /configz or /stats/summary.
func (r *reader) kubeletFile(_ context.Context, d document) (used bool, err error) {
	whole, err := io.ReadAll(io.LimitReader(d.text, maxKubeletFile))
	if err != nil {
		return false, err
	}
	x := &systemText{}
	node, err := x.addKubelet(d.name, whole)
	if err != nil {
		return false, err
	}
	if node == "" {
		node = r.node
	}
	return r.addSystem(d.name, node, x), nil
}

// addKubelet takes what the kubelet serves or reads, and returns the node that it names.
func (x *systemText) addKubelet(name string, text []byte) (node string, err error) {
	var summary struct {
		Node struct {
			NodeName string    `json:"nodeName"`
			FS       *statsFS  `json:"fs"`
			Runtime  statsDisk `json:"runtime"`
		} `json:"node"`
	}
	if json.Unmarshal(text, &summary) == nil && summary.Node.NodeName != "" {
		n := summary.Node
		if n.FS == nil || !n.FS.known() {
			return "", errors.New("statistics of the kubelet, skipped: no figures of its disk are in them")
		}
		x.stats = &kubeletDisks{*n.FS, n.Runtime.ImageFS}
		x.saw(forensics.SourceDisks, name)
		return n.NodeName, nil
	}
	c := &kubelet.Config{}
	if err := c.Apply(text); err != nil {
		return "", fmt.Errorf("configuration of the kubelet: %w", err)
	}
	x.config = c
	x.effective = bytes.HasPrefix(bytes.TrimLeft(text, blanks), []byte("{")) && served.Match(bytes.TrimLeft(text, blanks))
	x.saw(forensics.SourceDisks, name)
	return "", nil
}

// A statsDisk has what the runtime keeps; statsFS the figures of one file system (k8s.io/kubelet/pkg/apis/stats/v1alpha1).
type statsDisk struct {
	ImageFS *statsFS `json:"imageFs"`
}

type statsFS struct {
	Available  *uint64 `json:"availableBytes"`
	Capacity   *uint64 `json:"capacityBytes"`
	Inodes     uint64  `json:"inodes"`
	InodesFree uint64  `json:"inodesFree"`
}

func (s *statsFS) known() bool { return s.Available != nil && s.Capacity != nil && *s.Capacity > 0 }

// fileSystem has as free what is available: the statistics do not tell what is reserved for root.
func (s *statsFS) fileSystem(role string) eviction.FileSystem {
	return eviction.FileSystem{
		Device: role, CapacityBytes: *s.Capacity, FreeBytes: *s.Available, AvailableBytes: *s.Available, Inodes: s.Inodes, InodesFree: s.InodesFree,
	}
}

// kubeletDisks are the disks of /stats/summary.
type kubeletDisks struct {
	node  statsFS
	image *statsFS
}

// addTo adds the disks to a state. Where both have one size, they are one.
func (d *kubeletDisks) addTo(s *eviction.State) {
	const why = "by the kubelet's statistics"
	s.FileSystems = append(s.FileSystems, d.node.fileSystem(eviction.RoleNode))
	s.Places = append(s.Places, eviction.Place{Role: eviction.RoleNode, Path: "/var/lib/kubelet", Device: eviction.RoleNode, Why: why})
	if d.image == nil || !d.image.known() {
		return
	}
	image := eviction.Place{Role: eviction.RoleImage, Device: eviction.RoleNode, Why: why}
	if *d.image.Capacity != *d.node.Capacity || d.image.Inodes != d.node.Inodes {
		image.Device = eviction.RoleImage
		s.FileSystems = append(s.FileSystems, d.image.fileSystem(eviction.RoleImage))
	}
	s.Places = append(s.Places, image)
}

var startOfKubelet = pattern.New(`(?m)^[ \t]*\{\s*"(?:kubeletconfig"\s*:|node"\s*:\s*\{\s*"nodeName"\s*:|(?:apiVersion|kind)"\s*:\s*"(?:kubelet\.config|KubeletConfiguration))`)

// partOfConfigz is what jq takes out of the answer to /configz.
var partOfConfigz = pattern.New(`(?m)^[ \t]*\{\s*"(?:evictionHard|evictionSoft|imageGC(?:High|Low)ThresholdPercent)"\s*:`)

// kubeletIn takes what the kubelet serves or reads from a text with other lines.
func (x *systemText) kubeletIn(name string, text []byte) {
	if at := startOfKubelet.FindIndex(text); at != nil {
		var value json.RawMessage
		if json.NewDecoder(bytes.NewReader(text[at[0]:])).Decode(&value) == nil {
			_, _ = x.addKubelet(name, value)
		}
	} else if at := partOfConfigz.FindIndex(text); at != nil {
		var value json.RawMessage
		if json.NewDecoder(bytes.NewReader(text[at[0]:])).Decode(&value) == nil && bytes.Contains(value, []byte(`"evictionHard"`)) {
			_, _ = x.addKubelet(name, fmt.Appendf(nil, `{"kubeletconfig":%s}`, value))
		}
	}
	at := configLine.FindIndex(text)
	if at == nil {
		// Less than nodefs may be a part of them, and what has a kind is of something else.
		if m := thresholdsOnly.FindSubmatch(text); m != nil && bytes.Contains(m[1], []byte("nodefs.available:")) && !otherKind.Match(text) {
			block := bytes.ReplaceAll(bytes.TrimSpace(bytes.ReplaceAll(m[1], []byte(" "), nil)), []byte("\n"), []byte("\n  "))
			config := append([]byte("kind: KubeletConfiguration\nevictionHard:\n  "), bytes.ReplaceAll(block, []byte(":"), []byte(": "))...)
			for _, gc := range imageGCOnly.FindAllStringSubmatch(string(text), -1) {
				config = fmt.Appendf(config, "\n%s: %s", gc[1], gc[2])
			}
			_, _ = x.addKubelet(name, config)
		}
		return
	}
	if before := bytes.TrimRight(text[:at[0]], "\n"); len(before) == at[0]-1 { // kubectl prints the keys in their order
		if i := bytes.LastIndexByte(before, '\n') + 1; configKey.Match(before[i:]) {
			at[0] = i
		}
	}
	end := at[0]
	for line := range bytes.Lines(text[at[0]:]) {
		if !configKey.Match(line) {
			break
		}
		end += len(line)
	}
	_, _ = x.addKubelet(name, text[at[0]:end])
}
