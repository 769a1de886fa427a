package testfuse

import (
	"crypto/rand"
	"fmt"
)

// NewUID is the UID of a pod that no other test has, whatever runs beside it: a mount is also found by that.
func NewUID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
