package checks

import (
	"fmt"
	"strings"
	"testing"
)

// A threshold of image garbage collection below half of the disk is named as the cause, and one that may be meant is not.
func TestImageGCThresholdThatIsAbsurd(t *testing.T) {
	const log = `I0711 03:12:01.551231    4201 image_gc_manager.go:310] "Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold" usage=61 highThreshold=%d amountToFree=15533211648 lowThreshold=20
E0711 03:12:02.551231    4201 kubelet.go:1372] "Image garbage collection failed multiple times in a row" err="failed to garbage collect required amount of images. Wanted to free 15533211648 bytes, but freed 402113 bytes"
`
	for high, absurd := range map[int]bool{1: true, 49: true, 50: false, 85: false} {
		a := analyzePasted(t, fmt.Sprintf(log, high))
		named := len(a.Diagnoses) > 0 && strings.Contains(a.Diagnoses[0].Title, fmt.Sprint(high))
		if rootOf(a) != "image-gc-failing" || named != absurd {
			t.Errorf("%d: %s, named: %v: %+v", high, rootOf(a), named, a.Diagnoses)
		}
	}
}
