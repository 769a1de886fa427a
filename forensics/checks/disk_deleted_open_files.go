package checks

import (
	"cmp"
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/mountuse"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// The sizes from which deleted files are reported.
const (
	deletedInfo    = 256 << 20
	deletedWarning = 2 << 30
)

// deletedOpenFiles finds space that deleted files take.
var deletedOpenFiles = forensics.Check{
	ID:    "disk-deleted-open-files",
	Title: "Deleted files that are still open use disk space",
	Doc: `A process has deleted files open. df counts their space, du does not find it, and image garbage collection and eviction
cannot free it. Sizes are read only on local file systems that respond. A container's files that are open for writing count on the
file system that its overlay writes to. Files on network and FUSE mounts are not counted. Information from 256 MiB on one file
system, a warning from 2 GiB.`,
	Severity: forensics.Warning,
	Needs:    mountuse.Needs,
	Run: func(p *forensics.Pass) {
		byDevice, order := map[string][]holders.DeletedFile{}, []string{}
		for _, f := range mountuse.Of(p).Deleted {
			device := forensics.DiskOf(p.Model, f.Device)
			if byDevice[device] == nil {
				order = append(order, device)
			}
			byDevice[device] = append(byDevice[device], f)
		}
		for _, device := range order {
			var sum int64
			for _, f := range byDevice[device] {
				sum += f.AllocatedBytes
			}
			if sum >= deletedInfo {
				p.Report(deletedFinding(p, device, sum, byDevice[device]))
			}
		}
	},
}

func deletedFinding(p *forensics.Pass, device string, sum int64, list []holders.DeletedFile) forensics.Finding {
	const most = 5
	sorting.Stable(list, func(a, b holders.DeletedFile) int { return cmp.Compare(b.AllocatedBytes, a.AllocatedBytes) })
	where := "file system " + device
	if m := p.Model.MountsOf(device); len(m) > 0 {
		where = m[0].MountPoint
	}
	f := forensics.Finding{
		Severity: forensics.Info, Subject: forensics.Entity{Kind: forensics.KindDisk, ID: device}, Confidence: forensics.Certain,
		Title:         fmt.Sprintf("Deleted files that are still open use %s on %s; largest file in %s", text.Bytes(sum), where, findings.ProcessTitle(p, list[0].PID)),
		ConfidenceWhy: "the sizes were read from the open files",
	}
	if sum >= deletedWarning {
		f.Severity = forensics.Warning
	}
	for _, file := range list[:min(len(list), most)] {
		f.Because = append(f.Because, findings.ProcessEntity(file.PID))
		f.Refs = append(f.Refs, forensics.Ref{
			Source:  fmt.Sprintf("%s:%d", forensics.SourceHolders, file.PID),
			Excerpt: fmt.Sprintf("%s descriptor %d: %q, %s", findings.ProcessName(p, file.PID), file.FD, file.Path, text.Bytes(file.AllocatedBytes)),
		})
	}
	f.Detail = fmt.Sprintf("%s. The largest is %q (%s), open in %s.",
		text.Plural(len(list), "deleted file"), list[0].Path, text.Bytes(list[0].AllocatedBytes), findings.ProcessName(p, list[0].PID))
	f.Remedies = []forensics.Remedy{remedy.StopProcess(p, list[0].PID,
		"the space is freed when the file is closed; a program that reopens its logs on a signal need not be restarted")}
	return f
}
