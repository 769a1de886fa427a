package report

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testpacked"
)

func TestPacked(t *testing.T) {
	testpacked.Check(t, "assets.json.gz", assets, "assets/*.html")
}
