package diskview

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// UnusedImages are the images that no container was made from: what garbage collection and eviction may delete. Pinned
// ones are spared (1.23 and later). known is false where the runtime's files were not read.
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

// ImageSizes adds up what the runtime tells the kubelet of images, and counts those of which it is not known.
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
