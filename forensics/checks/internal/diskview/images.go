package diskview

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// LowImageGC is the headline of a threshold of image garbage collection that is set so low that the kubelet collects images where it would
// not by default; "" where it is not.
func LowImageGC(p *forensics.Pass) string {
	const byDefault = 85
	d := State(p)
	image, ok := d.Of(eviction.RoleImage)
	if gc := d.ImageGC; ok && d.Assumed == "" && gc.Disabled == "" && gc.HighPercent > 0 && gc.HighPercent < byDefault && image.UsagePercent() < byDefault {
		return fmt.Sprintf("Image garbage collection starts at %d %% disk usage (imageGCHighThresholdPercent: %d)", gc.HighPercent, gc.HighPercent)
	}
	return ""
}

// UnusedImages are the images that no container was made from: garbage collection and eviction may delete them. Pinned images are
// kept (1.23 and later). known is false where the runtime's files were not read.
func UnusedImages(p *forensics.Pass) (unused, pinned []runtimes.Image, known bool) {
	if ok, _ := p.Evidence.Saw(forensics.SourceRuntime); !ok {
		return nil, nil, false
	}
	for _, image := range p.Evidence.Images {
		switch {
		case len(image.Containers) > 0:
		case image.Pinned:
			pinned = append(pinned, image)
		default:
			unused = append(unused, image)
		}
	}
	return unused, pinned, true
}

// ImageSizes adds up the sizes that the runtime reports to the kubelet, and counts the images without a known size.
func ImageSizes(images []runtimes.Image) (sum int64, unknown int) {
	for _, image := range images {
		if image.SizeBytes == nil {
			unknown++
			continue
		}
		sum += *image.SizeBytes
	}
	return sum, unknown
}
