package frame

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testpacked"
)

func TestPacked(t *testing.T) {
	testpacked.Check(t, "common.json.gz", common, "style.css", "script.js", "parts.html")
}
