package fleet

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testpacked"
)

func TestPacked(t *testing.T) {
	testpacked.Check(t, "page.json.gz", assets, "page.html", "page.css")
}
